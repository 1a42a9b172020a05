"""The states of a partition and the legal transitions; derived from the image alone.

A partition is online while it has a leader. A partition that never had a leader is new; Kafka's
controller does not create such partitions, but a log may contain them.

Source: Kafka's PartitionStateMachine; docs/kafka_rules.md, section 11.
"""

from controller.decisions.partitions.state_machine import StateMachine
from replay.image.partitions import NO_LEADER, Partition

NEW = 0
ONLINE = 1
OFFLINE = 2
NON_EXISTENT = 3

PARTITIONS = StateMachine(
    subject="a partition",
    names={
        NEW: "NewPartition",
        ONLINE: "OnlinePartition",
        OFFLINE: "OfflinePartition",
        NON_EXISTENT: "NonExistentPartition",
    },
    valid_previous={
        NEW: frozenset({NON_EXISTENT}),
        ONLINE: frozenset({NEW, ONLINE, OFFLINE}),
        OFFLINE: frozenset({NEW, ONLINE, OFFLINE}),
        NON_EXISTENT: frozenset({OFFLINE}),
    },
    absent=NON_EXISTENT,
)


def partition_state(partition: Partition | None) -> int:
    """Return the state of a partition; None means that it is not in the image."""
    if partition is None:
        return NON_EXISTENT
    if partition.leader != NO_LEADER:
        return ONLINE
    return NEW if is_new(partition) else OFFLINE


def is_new(partition: Partition) -> bool:
    """True if a partition never had a leader."""
    return partition.leader == NO_LEADER and partition.leader_epoch <= 0
