"""JSON form of topics and partitions: described, listed, being removed, being reassigned."""

from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import UNSET, UnsetType

from api.documents.document import Document
from controller.decisions.partitions.replica_states import REPLICAS
from controller.descriptions.partitions import PartitionFound
from controller.descriptions.progress import MissingReplica, OngoingReassignment, OngoingRemoval
from controller.descriptions.state_walk import Transition
from controller.descriptions.topics import (
    ConfigValue,
    PartitionDescription,
    TopicDescription,
    TopicListing,
)
from records.text import uuid_text
from replay.image.fields import copied

if TYPE_CHECKING:
    from controller.descriptions.topics import TopicsDescribed as Answered

_MODES = {0: "READ_WRITE", 1: "READ_ONLY", -1: "NONE"}


class ListedTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in a list."""

    name: str
    topic_id: str
    is_internal: bool
    partitions: int
    replication_factor: int

    @classmethod
    def of(cls, topic: TopicListing) -> Self:
        """Return the JSON form of a listed topic."""
        return copied(
            topic, cls, topic_id=uuid_text(topic.topic_id), partitions=topic.partition_count
        )


class TopicList(msgspec.Struct, frozen=True, kw_only=True):
    """Topics, ordered by name."""

    topics: tuple[ListedTopic, ...]


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition; a lag is None if it is unknown.

    `topic` and `topic_id` are not set if the partition is listed inside its topic.
    """

    topic: str | UnsetType = UNSET
    topic_id: str | UnsetType = UNSET
    partition: int
    version: int | None
    mode: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    lags: tuple[int | None, ...]

    @classmethod
    def of(
        cls,
        described: PartitionDescription,
        topic: str | UnsetType = UNSET,
        topic_id: str | UnsetType = UNSET,
    ) -> Self:
        """Return the JSON form of a partition."""
        partition = described.partition
        return cls(
            topic=topic,
            topic_id=topic_id,
            partition=partition.partition_id,
            version=described.version,
            mode=_MODES[partition.mode],
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            replicas=partition.replicas,
            isr=partition.isr,
            offline_replicas=described.offline_replicas,
            adding_replicas=partition.adding_replicas,
            removing_replicas=partition.removing_replicas,
            lags=described.lags,
        )

    @classmethod
    def listed(cls, found: PartitionFound) -> Self:
        """Return the JSON form of a partition in a list, including its topic's name."""
        return cls.of(found.description, found.topic)

    @classmethod
    def alone(cls, found: PartitionFound) -> Self:
        """Return the JSON form of a single partition, with its topic's name and id."""
        return cls.of(found.description, found.topic, uuid_text(found.topic_id))


class PartitionList(msgspec.Struct, frozen=True, kw_only=True):
    """Partitions, ordered by topic."""

    partitions: tuple[Partition, ...]


class OnePartition(msgspec.Struct, frozen=True, kw_only=True):
    """One partition."""

    partition: Partition


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A config of a topic; `overridden` is true if it is set on the topic itself."""

    name: str
    value: str
    source: str
    overridden: bool

    @classmethod
    def of(cls, config: ConfigValue) -> Self:
        """Return the JSON form of a topic's config."""
        return cls(
            name=config.name,
            value=config.value,
            source=config.source.value,
            overridden=config.is_overridden,
        )


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic with its partitions and configs."""

    name: str
    topic_id: str
    version: int | None
    is_internal: bool
    authorized_operations: tuple[str, ...]
    partitions: tuple[Partition, ...]
    configs: tuple[Config, ...]
    configs_version: int | None

    @classmethod
    def of(cls, topic: TopicDescription, *, all_configs: bool) -> Self:
        """Return the JSON form of a topic; `all_configs`: include configs that it inherits."""
        return copied(
            topic,
            cls,
            topic_id=uuid_text(topic.topic_id),
            authorized_operations=tuple([o.name for o in topic.authorized_operations]),
            partitions=tuple([Partition.of(partition) for partition in topic.partitions]),
            configs=tuple([Config.of(c) for c in topic.configs if all_configs or c.is_overridden]),
        )


class TopicsDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """Topics, and the ids of their cluster and controller."""

    cluster_id: str
    controller_id: int | None
    topics: tuple[Topic, ...]


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """A partition that is being removed; `replicas` has the state of each replica, by broker."""

    topic: str
    partition: int
    mode: str
    due: int
    waited_for: tuple[int, ...]
    replicas: dict[str, str]

    @classmethod
    def of(cls, removal: OngoingRemoval) -> Self:
        """Return the JSON form of an ongoing partition removal."""
        return cls(
            topic=removal.topic,
            partition=removal.partition_id,
            mode=_MODES[removal.mode],
            due=removal.due_ms,
            waited_for=removal.waited_for,
            replicas={str(broker): REPLICAS.name(s) for broker, s in removal.replica_states},
        )


class RemovalList(msgspec.Struct, frozen=True, kw_only=True):
    """A list of the partitions that are being removed."""

    removals: tuple[Removal, ...]


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """A replica that is not in sync, with its broker's state and the start of that state."""

    broker: int
    is_added: bool
    broker_state: str
    since_offset: int | None
    since: int | None

    @classmethod
    def of(cls, replica: MissingReplica) -> Self:
        """Return the JSON form of a replica that is not in sync."""
        return copied(replica, cls, broker=replica.broker_id, since=replica.since_ms)


class Reassignment(msgspec.Struct, frozen=True, kw_only=True):
    """A partition being reassigned, the start of the reassignment, and the brokers it waits for.

    `since_offset`, `since` and `age_ms` are null if the reassignment began before the kept history.
    """

    topic: str
    topic_id: str
    partition: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    waited_for: tuple[int, ...]
    missing: tuple[Missing, ...]
    since_offset: int | None
    since: int | None
    age_ms: int | None

    @classmethod
    def of(cls, moving: OngoingReassignment) -> Self:
        """Return the JSON form of an ongoing reassignment."""
        return copied(
            moving,
            cls,
            topic_id=uuid_text(moving.topic_id),
            partition=moving.partition_id,
            missing=tuple(map(Missing.of, moving.missing)),
            since=moving.since_ms,
        )


class ReassignmentList(msgspec.Struct, frozen=True, kw_only=True):
    """Partitions that are being reassigned."""

    reassignments: tuple[Reassignment, ...]


class StateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A state transition of a partition, or of one of its replicas if `broker` is set."""

    offset: int
    timestamp: int
    topic: str
    topic_id: str
    partition: int
    broker: int | None
    before: str
    after: str
    leader: int

    @classmethod
    def of(cls, step: Transition) -> Self:
        """Return the JSON form of a transition."""
        return copied(
            step,
            cls,
            topic_id=uuid_text(step.topic_id),
            partition=step.partition_id,
            broker=step.broker_id,
        )


def _partitions(request: Any, answer: Any) -> msgspec.Struct:
    if request.topic is not None and request.partition_id is not None:
        (found,) = answer
        return OnePartition(partition=Partition.alone(found))
    return PartitionList(partitions=tuple(map(Partition.listed, answer)))


def topics_described(
    request: Any, answer: "Answered", *, all_configs: bool = False
) -> TopicsDescribed:
    """Return the topics that were found; `all_configs`: include configs that topics inherit."""
    return TopicsDescribed(
        cluster_id=answer.cluster_id,
        controller_id=answer.controller_id,
        topics=tuple(
            [
                Topic.of(topic.description, all_configs=all_configs)
                for topic in answer.topics
                if topic.description is not None
            ]
        ),
    )


TOPICS = Document(
    type=TopicsDescribed, of=topics_described, flags=("all_configs",), list_field="topics"
)
PARTITIONS = Document(type=PartitionList | OnePartition, of=_partitions, list_field="partitions")
STATES = Document(type=StateChange, of=lambda _, step: StateChange.of(step), is_stream=True)
