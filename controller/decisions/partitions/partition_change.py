"""Builds the record of one partition change.

The steps run in the order of Kafka's controller, because each depends on the ones before it: finish
the reassignment, eligible replicas, election, epoch bumps, ISR, last known leader, assignment,
recovery state, mode. If nothing changes there is no record.

Source: KIP-631, KIP-704 (recovery state), KIP-858 (directories), KIP-966 (eligible leader
replicas); docs/kafka_rules.md, section 4.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from controller.decisions.levels import (
    DIRECTORIES_LEVEL,
    LEADER_RECOVERY_LEVEL,
    NO_EPOCH_BUMP_ON_SHRINK_LEVEL,
)
from controller.decisions.partitions.directories import MIGRATING
from controller.decisions.partitions.leader_election import Candidates, Election, elect
from records.base import Uuid
from records.partitions import PartitionChangeRecord
from replay.image.partitions import NO_LEADER, NONE, Partition

RECOVERED = 0
RECOVERING = 1
"""Recovery state of a leader after an unclean election; RECOVERED is the normal state."""

LEADER_UNCHANGED = -2
_RECOVERY_STATE_UNCHANGED = -1

Replicas = tuple[int, ...]


class ChangeRules(msgspec.Struct, frozen=True, kw_only=True):
    """Rules for changes of a topic's partitions, from the cluster's features and configs.

    `min_isr` is the topic's min.insync.replicas. `acceptable` takes a replica and its log
    directory, and returns True if it may lead; `default_directory` returns the directory of an
    added replica. `allows_unclean` returns True if the topic allows unclean elections; it is called
    only for a partition that would have no leader otherwise.
    """

    metadata_version: int
    elr_enabled: bool
    min_isr: int
    acceptable: Callable[[int, Uuid], bool]
    default_directory: Callable[[int], Uuid]
    allows_unclean: Callable[[], bool]


class PartitionChange:
    """Builder of a change: set the attributes to change, then call `build`.

    The public attributes start with the partition's values. `unclean_shutdown` are the replicas
    that lost unflushed data and so are no longer eligible to lead. `assigned` are the new log
    directories of replicas, by broker.
    """

    def __init__(self, partition: Partition, rules: ChangeRules) -> None:
        self._partition = partition
        self._rules = rules
        self.isr: Replicas = partition.isr
        self.replicas: Replicas = partition.replicas
        self.removing: Replicas = partition.removing_replicas
        self.adding: Replicas = partition.adding_replicas
        self.recovery_state = partition.leader_recovery_state
        self.mode = partition.mode
        self.election = Election.ONLINE
        self.unclean_shutdown: Replicas = ()
        self.assigned: Mapping[int, Uuid] = {}
        self._eligible: Replicas = partition.eligible_leader_replicas
        # Fields of the record; defaults until a step sets them.
        self._leader = LEADER_UNCHANGED
        self._new_isr: Replicas | None = None
        self._new_recovery_state = _RECOVERY_STATE_UNCHANGED

    def build(self) -> PartitionChangeRecord | None:
        """Return the record, or None if nothing changes. Call it only once."""
        self._maybe_finish_reassignment()
        self._update_eligible()
        self._elect()
        self._bump_epoch_on_lost_replica()
        new_eligible = self._new_eligible()
        self._set_isr()
        self._bump_epoch_on_isr_shrink()
        self._set_recovery_state()
        old = self._partition
        record = PartitionChangeRecord(
            partition_id=old.partition_id,
            topic_id=old.topic_id,
            isr=self._new_isr,
            leader=self._leader,
            replicas=_changed(self.replicas, old.replicas),
            removing_replicas=_changed(self.removing, old.removing_replicas),
            adding_replicas=_changed(self.adding, old.adding_replicas),
            leader_recovery_state=self._new_recovery_state,
            directories=self._new_directories(),
            eligible_leader_replicas=new_eligible,
            last_known_elr=self._new_last_known_leader(),
            mode=None if self.mode == old.mode else self.mode,
        )
        return None if _is_empty(record) else record

    def _maybe_finish_reassignment(self) -> None:
        """Remove the leaving replicas, once all others are in the ISR."""
        if not self.removing and not self.adding:
            return
        isr = _without(self.isr, self.removing)
        replicas = _without(self.replicas, self.removing)
        if isr and set(isr) >= set(replicas):
            self.isr, self.replicas = isr, replicas
            self.removing = self.adding = ()

    def _update_eligible(self) -> None:
        """Update the ELR: add replicas that left an ISR below the minimum without losing data.

        Once the ISR has its minimum size, the ELR is cleared.
        """
        if not self._rules.elr_enabled:
            return
        if len(self.isr) >= min(self._rules.min_isr, len(self.replicas)):
            self._eligible = ()
            return
        once = dict.fromkeys((*self._eligible, *self._partition.isr))
        left = [replica for replica in once if replica in self.replicas]
        self._eligible = _without(left, (*self.isr, *self.unclean_shutdown))

    def _elect(self) -> None:
        """Elect a leader; a partition of mode NONE has no leader."""
        if self.mode == NONE:
            if self._partition.leader != NO_LEADER:
                self._leader = NO_LEADER
            return
        elected = elect(
            self._candidates(), self.election, self._is_acceptable, self._rules.allows_unclean
        )
        if elected.leader == self._partition.leader:
            return
        self._leader = elected.leader
        if elected.leader in self._eligible:
            self.isr = (elected.leader,)
            self._eligible = _without(self._eligible, self.isr)
        if elected.unclean:
            self._start_recovery(elected.leader)

    def _is_acceptable(self, replica: int) -> bool:
        """True if a replica's broker may lead, and its log directory is online."""
        directory = self.assigned.get(replica)
        if directory is None:
            old = self._partition
            known = replica in old.replicas and old.directories
            directory = old.directories[old.replicas.index(replica)] if known else MIGRATING
        return self._rules.acceptable(replica, directory)

    def _candidates(self) -> Candidates:
        last_known = self._partition.last_known_elr
        return Candidates(
            replicas=self.replicas,
            isr=self.isr,
            leader=self._partition.leader,
            eligible=self._eligible,
            # More than one entry is not a leader, but a list written by an older release.
            last_known_leader=last_known[0]
            if self._rules.elr_enabled and len(last_known) == 1
            else None,
        )

    def _start_recovery(self, leader: int) -> None:
        """Make an unclean leader the only ISR member; records that it does not have are lost."""
        self.isr = self._new_isr = (leader,)
        if (
            self._partition.leader_recovery_state != RECOVERING
            and self._rules.metadata_version >= LEADER_RECOVERY_LEVEL
        ):
            self._new_recovery_state = RECOVERING

    def _bump_epoch_on_lost_replica(self) -> None:
        """Bump the leader epoch if a replica is removed, to fence it.

        This is done by writing the same leader again.
        """
        if self._leader == LEADER_UNCHANGED and not set(self.replicas) >= set(
            self._partition.replicas
        ):
            self._leader = self._partition.leader

    def _new_eligible(self) -> Replicas | None:
        """Return the new ELR; None if it is unchanged.

        The ELR is empty after an unclean election, or if it is not tracked.
        """
        if self._new_isr is not None or not self._rules.elr_enabled:
            self._eligible = ()
        return _changed(self._eligible, self._partition.eligible_leader_replicas)

    def _set_isr(self) -> None:
        """Set the new ISR. It may become empty only if eligible replicas are tracked."""
        if self._new_isr is None and (self.isr or self._rules.elr_enabled):
            self._new_isr = _changed(self.isr, self._partition.isr)

    def _bump_epoch_on_isr_shrink(self) -> None:
        """Bump the leader epoch if the ISR shrinks, as brokers before 3.6 need it (KAFKA-15021)."""
        if (
            self._rules.metadata_version < NO_EPOCH_BUMP_ON_SHRINK_LEVEL
            and self._leader == LEADER_UNCHANGED
            and self._new_isr is not None
            and not set(self._new_isr) >= set(self._partition.isr)
        ):
            self._leader = self._partition.leader

    def _new_last_known_leader(self) -> Replicas | None:
        """Return the last leader when the ISR becomes empty, or () once there is a leader again.

        None means unchanged. If there was no leader when the ISR became empty, Kafka 4.0 stores -1.
        We store the last ISR member, which has all records that the leader had.
        """
        if not self._rules.elr_enabled:
            return None
        old = self._partition
        if self._new_isr == ():
            last = old.isr[:1] if old.leader == NO_LEADER else (old.leader,)
            if last and old.last_known_elr != last:
                return last
        leader = old.leader if self._leader == LEADER_UNCHANGED else self._leader
        return () if leader != NO_LEADER and old.last_known_elr else None

    def _new_directories(self) -> tuple[Uuid, ...] | None:
        if self._rules.metadata_version < DIRECTORIES_LEVEL:
            return None
        old = self._partition
        if self.replicas is old.replicas and old.directories and not self.assigned:
            return None
        known = old.directories or (MIGRATING,) * len(old.replicas)
        by_replica = {**dict(zip(old.replicas, known, strict=True)), **self.assigned}
        directories = tuple(
            [
                by_replica[replica]
                if replica in by_replica
                else self._rules.default_directory(replica)
                for replica in self.replicas
            ]
        )
        return None if directories == known else directories

    def _set_recovery_state(self) -> None:
        if self.recovery_state != self._partition.leader_recovery_state:
            self._new_recovery_state = self.recovery_state


def _changed(new: Replicas, old: Replicas) -> Replicas | None:
    return None if new == old else new


def _without(replicas: Iterable[int], leaving: Replicas) -> Replicas:
    return tuple([replica for replica in replicas if replica not in leaving])


def _is_empty(record: PartitionChangeRecord) -> bool:
    return (
        record.isr is None
        and record.leader == LEADER_UNCHANGED
        and record.replicas is None
        and record.removing_replicas is None
        and record.adding_replicas is None
        and record.leader_recovery_state == _RECOVERY_STATE_UNCHANGED
        and record.directories is None
        and record.eligible_leader_replicas is None
        and record.last_known_elr is None
        and record.mode is None
    )
