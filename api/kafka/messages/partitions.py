"""Messages that change partitions: creation, leader election, reassignment.

Source: KIP-195 (CreatePartitions), KIP-460 (ElectLeaders), KIP-455 (reassignments), KIP-860
(AllowReplicationFactorChange).
"""

from typing import Annotated

from api.kafka.fields import Int8, Int16, Int32, Message, Request, Response, since

PREFERRED, UNCLEAN = 0, 1
"""Types of elections."""


class NewPartition(Message, frozen=True, kw_only=True):
    """The replicas of a new partition."""

    broker_ids: tuple[Int32, ...]


class GrownTopic(Message, frozen=True, kw_only=True):
    """A topic and its new number of partitions.

    `assignments` has the replicas of each new partition; if null, the controller chooses them.
    """

    name: str
    count: Int32
    assignments: tuple[NewPartition, ...] | None


class CreatePartitionsRequest(Request, frozen=True, kw_only=True):
    """Add partitions to topics."""

    topics: tuple[GrownTopic, ...]
    timeout_ms: Int32
    validate_only: bool


class GrownTopicResult(Message, frozen=True, kw_only=True):
    """Result of adding partitions to one topic."""

    name: str
    error_code: Int16 = 0
    error_message: str | None = None


class CreatePartitionsResponse(Response, frozen=True, kw_only=True):
    """The results of CreatePartitions, one for each topic."""

    throttle_time_ms: Int32 = 0
    results: tuple[GrownTopicResult, ...] = ()


class ElectedTopic(Message, frozen=True, kw_only=True):
    """Partitions of a topic for which to elect leaders."""

    topic: str
    partitions: tuple[Int32, ...]


class ElectLeadersRequest(Request, frozen=True, kw_only=True):
    """Elect the leaders of the given partitions; null means of all partitions."""

    election_type: Annotated[Int8, since(1)] = PREFERRED
    topic_partitions: tuple[ElectedTopic, ...] | None
    timeout_ms: Int32 = 60_000


class ElectedPartition(Message, frozen=True, kw_only=True):
    """Result of electing one partition's leader."""

    partition_id: Int32
    error_code: Int16 = 0
    error_message: str | None = None


class ElectedTopicResult(Message, frozen=True, kw_only=True):
    """The results of ElectLeaders for the partitions of one topic."""

    topic: str
    partition_result: tuple[ElectedPartition, ...]


class ElectLeadersResponse(Response, frozen=True, kw_only=True):
    """The results of ElectLeaders for all topics, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(1)] = 0
    replica_election_results: tuple[ElectedTopicResult, ...] = ()


class MovedPartition(Message, frozen=True, kw_only=True):
    """A partition and its new replicas; null instead of replicas cancels the reassignment."""

    partition_index: Int32
    replicas: tuple[Int32, ...] | None


class MovedTopic(Message, frozen=True, kw_only=True):
    """Partitions of a topic to reassign."""

    name: str
    partitions: tuple[MovedPartition, ...]


class AlterPartitionReassignmentsRequest(Request, frozen=True, kw_only=True):
    """Start or cancel reassignments of partitions."""

    timeout_ms: Int32 = 60_000
    allow_replication_factor_change: Annotated[bool, since(1)] = True
    topics: tuple[MovedTopic, ...]


class MovedPartitionResult(Message, frozen=True, kw_only=True):
    """Result of starting or cancelling one partition's reassignment."""

    partition_index: Int32
    error_code: Int16 = 0
    error_message: str | None = None


class MovedTopicResult(Message, frozen=True, kw_only=True):
    """The results of AlterPartitionReassignments for the partitions of one topic."""

    name: str
    partitions: tuple[MovedPartitionResult, ...]


class AlterPartitionReassignmentsResponse(Response, frozen=True, kw_only=True):
    """The results of AlterPartitionReassignments for all topics, or an error."""

    throttle_time_ms: Int32 = 0
    allow_replication_factor_change: Annotated[bool, since(1)] = True
    error_code: Int16 = 0
    error_message: str | None = None
    responses: tuple[MovedTopicResult, ...] = ()


class ListedTopic(Message, frozen=True, kw_only=True):
    """Partitions of a topic whose reassignments are requested."""

    name: str
    partition_indexes: tuple[Int32, ...]


class ListPartitionReassignmentsRequest(Request, frozen=True, kw_only=True):
    """List the ongoing reassignments of the given partitions; null means of all partitions."""

    timeout_ms: Int32 = 60_000
    topics: tuple[ListedTopic, ...] | None = None


class MovingPartition(Message, frozen=True, kw_only=True):
    """A partition with an ongoing reassignment."""

    partition_index: Int32
    replicas: tuple[Int32, ...]
    adding_replicas: tuple[Int32, ...]
    removing_replicas: tuple[Int32, ...]


class MovingTopic(Message, frozen=True, kw_only=True):
    """Partitions of a topic with ongoing reassignments."""

    name: str
    partitions: tuple[MovingPartition, ...]


class ListPartitionReassignmentsResponse(Response, frozen=True, kw_only=True):
    """The ongoing reassignments, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    topics: tuple[MovingTopic, ...] = ()
