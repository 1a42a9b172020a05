"""Partitions: replicas, leaders, modes, and removal."""

from records.base import Record, Uuid


class PartitionRecord(Record, frozen=True, kw_only=True):
    """The whole state of one partition, written at its creation and in checkpoints."""

    partition_id: int = -1
    topic_id: Uuid
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: tuple[Uuid, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    mode: int = 0


class PartitionChangeRecord(Record, frozen=True, kw_only=True):
    """Some fields of a partition changed.

    The partition epoch grows by one; the leader epoch too if the record has a leader.
    """

    partition_id: int = -1
    topic_id: Uuid
    isr: tuple[int, ...] | None = None
    leader: int = -2
    replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    leader_recovery_state: int = -1
    directories: tuple[Uuid, ...] | None = None
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    mode: int | None = None


class ClearElrRecord(Record, frozen=True, kw_only=True):
    """The eligible leader replicas of a topic, or of all topics, were cleared."""

    topic_name: str


class DeleteTopicPartitionsRecord(Record, frozen=True, kw_only=True):
    """Partitions of a topic will be removed after a delay."""

    topic_id: Uuid
    partition_ids: tuple[int, ...]
    delay_ms: int
    create_time_ms: int


class CancelDeleteTopicPartitionsRecord(Record, frozen=True, kw_only=True):
    """A pending removal of partitions was cancelled."""

    topic_id: Uuid
    partition_ids: tuple[int, ...]


class RemovePartitionsRecord(Record, frozen=True, kw_only=True):
    """Partitions were removed from a topic."""

    topic_id: Uuid
    partition_ids: tuple[int, ...]


class ReplicaDeletionRecord(Record, frozen=True, kw_only=True):
    """Progress in deleting one replica's files on its broker."""

    topic_id: Uuid
    partition_id: int
    broker_id: int
    state: int
