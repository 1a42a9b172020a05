"""Messages that create and delete topics, delete partitions, and run commands.

Source: KIP-4 (batches), KIP-516 (topic ids), KIP-525 (configs in the response), KIP-694
(DeletePartitions, under a private key).
"""

from typing import Annotated

from api.kafka.fields import (
    ABOUT_TAG,
    CONSISTENT_TAG,
    CURRENT_VERSION_TAG,
    CURSOR_TAG,
    DONE_TO_TAG,
    EXPECTED_VERSION_TAG,
    MIN_OFFSET_TAG,
    OUTCOME_TAG,
    POINT_TAG,
    PRINCIPAL_TAG,
    REQUEST_ID_TAG,
    TRACE_PARENT_TAG,
    VERSION_OBJECT_TAG,
    VERSIONS_TAG,
    WROTE_TAG,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Request,
    Response,
    since,
    tagged,
    until,
)
from records.base import ZERO_UUID, Uuid


class ReplicaAssignment(Message, frozen=True, kw_only=True):
    """A manual assignment of one partition's replicas."""

    partition_index: Int32
    broker_ids: tuple[Int32, ...]


class TopicConfig(Message, frozen=True, kw_only=True):
    """A config of a new topic."""

    name: str
    value: str | None


class CreatableTopic(Message, frozen=True, kw_only=True):
    """A topic to create; counts are -1 for the server's defaults, or if `assignments` is given."""

    name: str
    num_partitions: Int32
    replication_factor: Int16
    assignments: tuple[ReplicaAssignment, ...] = ()
    configs: tuple[TopicConfig, ...] = ()


class CreateTopicsRequest(Request, frozen=True, kw_only=True):
    """Create topics."""

    topics: tuple[CreatableTopic, ...]
    timeout_ms: Int32 = 60_000
    validate_only: Annotated[bool, since(1)] = False


class CreatableTopicConfig(Message, frozen=True, kw_only=True):
    """An effective config of the new topic."""

    name: str
    value: str | None
    read_only: bool
    config_source: Int8
    is_sensitive: bool


class CreatableTopicResult(Message, frozen=True, kw_only=True):
    """The created topic, or an error."""

    name: str
    topic_id: Annotated[Uuid, since(7)] = ZERO_UUID
    error_code: Int16 = 0
    error_message: Annotated[str | None, since(1)] = None
    topic_config_error_code: Annotated[Int16, tagged(0, 5)] = 0
    num_partitions: Annotated[Int32, since(5)] = -1
    replication_factor: Annotated[Int16, since(5)] = -1
    configs: Annotated[tuple[CreatableTopicConfig, ...] | None, since(5)] = None


class CreateTopicsResponse(Response, frozen=True, kw_only=True):
    """The results of CreateTopics, one for each topic."""

    throttle_time_ms: Annotated[Int32, since(2)] = 0
    topics: tuple[CreatableTopicResult, ...] = ()


class DeleteTopicState(Message, frozen=True, kw_only=True):
    """A topic to delete, by name or by id."""

    name: str | None
    topic_id: Uuid = ZERO_UUID


class DeleteTopicsRequest(Request, frozen=True, kw_only=True):
    """Delete topics."""

    topics: Annotated[tuple[DeleteTopicState, ...], since(6)] = ()
    topic_names: Annotated[tuple[str, ...], until(5)] = ()
    timeout_ms: Int32 = 60_000


class DeletableTopicResult(Message, frozen=True, kw_only=True):
    """Result of deleting one topic."""

    name: str | None
    topic_id: Annotated[Uuid, since(6)] = ZERO_UUID
    error_code: Int16 = 0
    error_message: Annotated[str | None, since(5)] = None


class DeleteTopicsResponse(Response, frozen=True, kw_only=True):
    """The results of DeleteTopics, one for each topic."""

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    responses: tuple[DeletableTopicResult, ...] = ()


class ShrinkingTopic(Message, frozen=True, kw_only=True):
    """A topic and its new number of partitions."""

    name: str
    partitions: Int32


class DeletePartitionsRequest(Request, frozen=True, kw_only=True):
    """Delete the last partitions of topics, after a delay of `delete_partitions_delay` ms."""

    timeout_ms: Int32 = 60_000
    delete_partitions_delay: Int64 = 0
    topics: tuple[ShrinkingTopic, ...] = ()


class PartitionStatus(Message, frozen=True, kw_only=True):
    """The new mode of one partition (`status_code`), or an error."""

    partition_index: Int32
    status_code: Int8 = 0
    error_code: Int16 = 0
    error_message: str | None = None


class ShrunkTopic(Message, frozen=True, kw_only=True):
    """The results for one topic's partitions; an error of the whole topic has partition -1."""

    name: str
    partitions: tuple[PartitionStatus, ...] = ()


class DeletePartitionsResponse(Response, frozen=True, kw_only=True):
    """The results of DeletePartitions, one for each topic, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    responses: tuple[ShrunkTopic, ...] = ()


class RunCommandRequest(Request, frozen=True, kw_only=True):
    """Run a command or a read-only query by its name; not in Kafka.

    `payload` is the command's request, encoded by `controller.wire`. A command with a `request_id`
    can be sent repeatedly, but is carried out only once. `principal` is the identity to act as; the
    sender needs the right to act as another principal. A request with a `point` is a query about
    that point in time: `cursor` requests another page of the result, and `min_offset` makes the
    service wait until its log has reached that offset (-1: do not wait). A `consistent` query is
    answered with all that the store of a shared log has committed.
    """

    command: str
    reason: str | None = None
    payload: bytes
    request_id: Annotated[str | None, tagged(REQUEST_ID_TAG)] = None
    trace_parent: Annotated[str | None, tagged(TRACE_PARENT_TAG)] = None
    principal: Annotated[str | None, tagged(PRINCIPAL_TAG)] = None
    point: Annotated[str | None, tagged(POINT_TAG)] = None
    cursor: Annotated[bytes, tagged(CURSOR_TAG)] = b""
    min_offset: Annotated[Int64, tagged(MIN_OFFSET_TAG)] = -1
    consistent: Annotated[bool, tagged(CONSISTENT_TAG)] = False


class RunCommandResponse(Response, frozen=True, kw_only=True):
    """The result of a command and the end offset of its records (exclusive), or an error.

    `wrote`: True if the command wrote records, False if nothing had to change. `outcome` and
    `done_to` belong to the error: `outcome` is empty if the service does not send one, `done_to` is
    -1 if the error has none. The last page of a query has `about`, its encoded position in the log,
    and an empty `cursor`; any other page has the encoded `cursor` of the next page.
    `version_object`, `expected_version` and `current_version` are the texts of a
    VersionMismatchError. `versions` are the packed versions of the objects that a command changed.
    """

    error_code: Int16 = 0
    error_name: str | None = None
    error_message: str | None = None
    end_offset: Int64 = -1
    payload: bytes = b""
    wrote: Annotated[bool, tagged(WROTE_TAG)] = True
    outcome: Annotated[str, tagged(OUTCOME_TAG)] = ""
    done_to: Annotated[Int64, tagged(DONE_TO_TAG)] = -1
    about: Annotated[bytes, tagged(ABOUT_TAG)] = b""
    cursor: Annotated[bytes, tagged(CURSOR_TAG)] = b""
    version_object: Annotated[str, tagged(VERSION_OBJECT_TAG)] = ""
    expected_version: Annotated[str, tagged(EXPECTED_VERSION_TAG)] = ""
    current_version: Annotated[str, tagged(CURRENT_VERSION_TAG)] = ""
    versions: Annotated[bytes, tagged(VERSIONS_TAG)] = b""
