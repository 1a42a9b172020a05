"""Messages about the committed offsets of groups: commit, fetch, delete.

Source: KIP-211, KIP-447 (stable offsets), KIP-709 (many groups), KIP-496 (OffsetDelete).
"""

from typing import Annotated

from api.kafka.fields import Int16, Int32, Int64, Message, Request, Response, since, until
from records.base import ZERO_UUID, Uuid


class CommittedPartition(Message, frozen=True, kw_only=True):
    """The offset to commit for one partition."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Annotated[Int32, since(6)] = -1
    committed_metadata: str | None


class CommittedTopic(Message, frozen=True, kw_only=True):
    """The offsets to commit for one topic."""

    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = ZERO_UUID
    partitions: tuple[CommittedPartition, ...]


class OffsetCommitRequest(Request, frozen=True, kw_only=True):
    """Commit offsets for a group."""

    group_id: str
    generation_id_or_member_epoch: Int32 = -1
    member_id: str
    group_instance_id: Annotated[str | None, since(7)] = None
    retention_time_ms: Annotated[Int64, until(4)] = -1
    topics: tuple[CommittedTopic, ...]


class CommittedPartitionResult(Message, frozen=True, kw_only=True):
    """Result of committing one partition's offset."""

    partition_index: Int32
    error_code: Int16 = 0


class CommittedTopicResult(Message, frozen=True, kw_only=True):
    """The results of OffsetCommit for the partitions of one topic."""

    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = ZERO_UUID
    partitions: tuple[CommittedPartitionResult, ...]


class OffsetCommitResponse(Response, frozen=True, kw_only=True):
    """The results of OffsetCommit for all topics."""

    throttle_time_ms: Annotated[Int32, since(3)] = 0
    topics: tuple[CommittedTopicResult, ...] = ()


class FetchedOffsetsTopic(Message, frozen=True, kw_only=True):
    """The partitions of a topic whose offsets are requested; used up to version 7."""

    name: str
    partition_indexes: tuple[Int32, ...]


class GroupOffsetsTopic(Message, frozen=True, kw_only=True):
    """The partitions of a topic whose offsets are requested for one group; since version 8."""

    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = ZERO_UUID
    partition_indexes: tuple[Int32, ...]


class FetchedOffsetsGroup(Message, frozen=True, kw_only=True):
    """A group and the topics whose offsets are requested; null means all topics."""

    group_id: str
    member_id: Annotated[str | None, since(9)] = None
    member_epoch: Annotated[Int32, since(9)] = -1
    topics: tuple[GroupOffsetsTopic, ...] | None


class OffsetFetchRequest(Request, frozen=True, kw_only=True):
    """Request the committed offsets of groups; if `topics` is null, of all topics."""

    group_id: Annotated[str, until(7)] = ""
    topics: Annotated[tuple[FetchedOffsetsTopic, ...] | None, until(7)] = None
    groups: Annotated[tuple[FetchedOffsetsGroup, ...], since(8)] = ()
    require_stable: Annotated[bool, since(7)] = False


class OffsetResult(Message, frozen=True, kw_only=True):
    """The committed offset of one partition, or an error."""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Annotated[Int32, since(5)] = -1
    metadata: str | None
    error_code: Int16 = 0


class OffsetsTopicResult(Message, frozen=True, kw_only=True):
    """The committed offsets of one topic; used up to version 7."""

    name: str
    partitions: tuple[OffsetResult, ...]


class GroupOffsetsTopicResult(Message, frozen=True, kw_only=True):
    """The committed offsets of one group for one topic; since version 8."""

    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = ZERO_UUID
    partitions: tuple[OffsetResult, ...]


class GroupOffsetsResult(Message, frozen=True, kw_only=True):
    """The committed offsets of one group, or an error; since version 8."""

    group_id: str
    topics: tuple[GroupOffsetsTopicResult, ...]
    error_code: Int16 = 0


class OffsetFetchResponse(Response, frozen=True, kw_only=True):
    """The committed offsets: up to version 7 of one group, later of each requested group."""

    throttle_time_ms: Annotated[Int32, since(3)] = 0
    topics: Annotated[tuple[OffsetsTopicResult, ...], until(7)] = ()
    error_code: Annotated[Int16, since(2, 7)] = 0
    groups: Annotated[tuple[GroupOffsetsResult, ...], since(8)] = ()


class ForgottenOffset(Message, frozen=True, kw_only=True):
    """A partition whose committed offset is to be deleted."""

    partition_index: Int32


class ForgottenOffsetsTopic(Message, frozen=True, kw_only=True):
    """A topic's partitions whose committed offsets are to be deleted."""

    name: str
    partitions: tuple[ForgottenOffset, ...]


class OffsetDeleteRequest(Request, frozen=True, kw_only=True):
    """Delete committed offsets of a group."""

    group_id: str
    topics: tuple[ForgottenOffsetsTopic, ...]


class ForgottenOffsetResult(Message, frozen=True, kw_only=True):
    """Result of deleting one partition's committed offset."""

    partition_index: Int32
    error_code: Int16 = 0


class ForgottenOffsetsTopicResult(Message, frozen=True, kw_only=True):
    """The results of OffsetDelete for the partitions of one topic."""

    name: str
    partitions: tuple[ForgottenOffsetResult, ...]


class OffsetDeleteResponse(Response, frozen=True, kw_only=True):
    """The results of OffsetDelete for all topics, or an error."""

    error_code: Int16 = 0
    throttle_time_ms: Int32 = 0
    topics: tuple[ForgottenOffsetsTopicResult, ...] = ()
