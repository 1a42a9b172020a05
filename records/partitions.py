"""Partitions: replicas, leaders, modes, and removal."""

from records.base import Record, Uuid


class PartitionRecord(Record, frozen=True, kw_only=True):
    """The whole state of one partition, written at its creation and in checkpoints.

    Attributes:
        partition_id: Number of the partition within its topic, from 0.
        topic_id: The topic's id.
        replicas: Broker ids that hold a replica, the preferred leader first.
        isr: Broker ids in sync with the leader.
        removing_replicas: Replicas that a running reassignment will drop.
        adding_replicas: Replicas that a running reassignment brings in.
        leader: Broker id of the leader; -1 when there is none.
        leader_recovery_state: 0 recovered, 1 recovering after an unclean election.
        leader_epoch: Counts leaderships; grows with every change that names a leader.
        partition_epoch: Counts changes of any kind.
        directories: Log directory id of each replica, in the order of replicas; empty when unknown.
        eligible_leader_replicas: Replicas outside the ISR that may still lead without loss; null
            when there are none.
        last_known_elr: The last members known before the eligible ones ran out; null when there are
            none.
        mode: 0 READ_WRITE, 1 READ_ONLY, -1 NONE.
    """

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

    Attributes:
        partition_id: Number of the partition within its topic.
        topic_id: The topic's id.
        isr: New ISR; null is unchanged.
        leader: New leader; -1 none, -2 unchanged.
        replicas: New replicas; null is unchanged.
        removing_replicas: New removing replicas; null is unchanged.
        adding_replicas: New adding replicas; null is unchanged.
        leader_recovery_state: New recovery state; -1 is unchanged.
        directories: New directories; null is unchanged.
        eligible_leader_replicas: New eligible replicas; null is unchanged.
        last_known_elr: New last known eligible replicas; null is unchanged.
        mode: New mode (0, 1 or -1); null is unchanged.
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
    """The eligible leader replicas of a topic, or of all topics, were cleared.

    Attributes:
        topic_name: The topic; empty is all topics.
    """

    topic_name: str


class DeleteTopicPartitionsRecord(Record, frozen=True, kw_only=True):
    """Partitions of a topic will be removed after a delay.

    Attributes:
        topic_id: The topic's id.
        partition_ids: The partitions to remove.
        delay_ms: How long they stay readable, in ms from create_time_ms.
        create_time_ms: When the removal was asked for, ms since 1970.
    """

    topic_id: Uuid
    partition_ids: tuple[int, ...]
    delay_ms: int
    create_time_ms: int


class CancelDeleteTopicPartitionsRecord(Record, frozen=True, kw_only=True):
    """A pending removal of partitions was cancelled.

    Attributes:
        topic_id: The topic's id.
        partition_ids: Numbers of the partitions that are not removed.
    """

    topic_id: Uuid
    partition_ids: tuple[int, ...]


class RemovePartitionsRecord(Record, frozen=True, kw_only=True):
    """Partitions were removed from a topic.

    Attributes:
        topic_id: The topic's id.
        partition_ids: Numbers of the removed partitions.
    """

    topic_id: Uuid
    partition_ids: tuple[int, ...]


class ReplicaDeletionRecord(Record, frozen=True, kw_only=True):
    """Progress in deleting one replica's files on its broker.

    Attributes:
        topic_id: The topic's id.
        partition_id: Number of the partition.
        broker_id: The broker that holds the replica.
        state: 4 started, 5 successful, 6 ineligible, 7 gone (no longer tracked).
    """

    topic_id: Uuid
    partition_id: int
    broker_id: int
    state: int
