"""A partition's state, and how records change it."""

import msgspec

from records.base import Uuid
from records.partitions import PartitionChangeRecord, PartitionRecord

READ_WRITE = 0
READ_ONLY = 1
NONE = -1
"""Codes of a partition's mode: READ_WRITE, READ_ONLY, and NONE (neither reads nor writes)."""

NO_LEADER = -1

LEADER_UNSET = -2
RECOVERY_STATE_UNSET = -1
"""Values in a change that leaves these fields alone. A leader of -1 already means none."""


class Partition(msgspec.Struct, frozen=True, gc=False):
    """State of one partition.

    `leader` is -1 if there is none. `directories` has one log directory id per replica, or is empty
    if they are unknown.
    """

    topic_id: Uuid
    partition_id: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[Uuid, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    mode: int = READ_WRITE


def created(record: PartitionRecord, topic_id: Uuid) -> Partition:
    """Return the partition that a record creates.

    `topic_id` equals the record's; using the topic's own object saves a copy per partition.
    """
    return Partition(
        topic_id,
        record.partition_id,
        record.replicas,
        record.isr,
        record.removing_replicas,
        record.adding_replicas,
        record.leader,
        record.leader_recovery_state,
        record.leader_epoch,
        record.partition_epoch,
        record.directories,
        record.eligible_leader_replicas or (),
        record.last_known_elr or (),
        record.mode,
    )


def changed(old: Partition, record: PartitionChangeRecord) -> Partition:
    """Return the partition after a change record, which replaces only the fields it sets."""
    replicas = old.replicas if record.replicas is None else record.replicas
    directories = record.directories or old.directories
    if record.replicas is not None and not record.directories and len(directories) != len(replicas):
        directories = ()  # they belonged to other replicas
    # Naming a leader starts a new leader epoch, even if it is the same one.
    leader_set = record.leader != LEADER_UNSET
    recovery_state_set = record.leader_recovery_state != RECOVERY_STATE_UNSET
    elr, last_known_elr = record.eligible_leader_replicas, record.last_known_elr
    return Partition(
        old.topic_id,
        old.partition_id,
        replicas,
        old.isr if record.isr is None else record.isr,
        old.removing_replicas if record.removing_replicas is None else record.removing_replicas,
        old.adding_replicas if record.adding_replicas is None else record.adding_replicas,
        record.leader if leader_set else old.leader,
        record.leader_recovery_state if recovery_state_set else old.leader_recovery_state,
        old.leader_epoch + 1 if leader_set else old.leader_epoch,
        old.partition_epoch + 1,
        directories,
        old.eligible_leader_replicas if elr is None else elr,
        old.last_known_elr if last_known_elr is None else last_known_elr,
        old.mode if record.mode is None else record.mode,
    )


def without_elr(old: Partition) -> Partition:
    """Return the partition with its eligible leader replicas cleared; no epoch changes."""
    if not old.eligible_leader_replicas and not old.last_known_elr:
        return old
    return msgspec.structs.replace(old, eligible_leader_replicas=(), last_known_elr=())


def is_moving(partition: Partition) -> bool:
    """True if a partition is being reassigned. Source: KIP-455."""
    return bool(partition.adding_replicas or partition.removing_replicas)


def settled_replicas(partition: Partition) -> tuple[int, ...]:
    """Return the partition's replicas; while it is being reassigned, its target replicas."""
    removing = partition.removing_replicas
    if not removing:
        return partition.replicas
    return tuple([replica for replica in partition.replicas if replica not in removing])
