"""Causes: which record took a broker or a partition down, by the rules of docs/causes.md.

A broker's record and the partition changes that it causes are in the same batch. The changes follow
a registration, a controlled shutdown or an unregistration, but precede a fencing. So each batch is
examined as a whole.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from records.base import Record
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord
from replay.image.cluster import Broker
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, NONE, READ_ONLY, READ_WRITE, Partition
from replay.incidents.fencing_reasons import (
    NO_HEARTBEAT_OR_STOPPED,
    STOPPED,
    FencingReasons,
    first_reason,
)
from replay.incidents.moved_leads import MovedLeads, PartitionKey
from replay.incidents.replay_state import ReplayState

BROKER_RECORDS: frozenset[type[Record]] = frozenset(
    {
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        FenceBrokerRecord,
        UnfenceBrokerRecord,
        BrokerRegistrationChangeRecord,
    }
)

TOO_FAR_BEHIND = "too far behind"
SHUTDOWN = "began a controlled shutdown"
_RESTARTED = "restarted: it registered again without having been fenced"


class Cause(msgspec.Struct, frozen=True, gc=False):
    """The record that caused an outage or a change, with a description.

    `registered`: where the broker that it took away had registered, its epoch; -1 if it took none.
    """

    offset: int
    text: str
    registered: int = -1


OWN = Cause(-1, "")
"""Stands for "the record is its own cause"; `own_cause` returns the actual cause when needed."""


def own_cause(offset: int, before: Partition | None, after: Partition) -> Cause:
    """Return a partition's record as its own cause, for a change that no broker's record caused."""
    return Cause(offset, _own_text(before, after, lost_brokers(before, after)))


def broker_of(record: Record) -> int:
    """Return the broker id in a record of a type in BROKER_RECORDS."""
    if isinstance(record, FenceBrokerRecord | UnfenceBrokerRecord):
        return record.id
    assert isinstance(
        record, RegisterBrokerRecord | UnregisterBrokerRecord | BrokerRegistrationChangeRecord
    )
    return record.broker_id


class Causes:
    """Follows a log batch by batch and finds the causes of its outages."""

    def __init__(
        self,
        state: ReplayState,
        seen: Collection[PartitionKey] | None = None,
        reasons: FencingReasons | None = None,
    ) -> None:
        """Start from a state.

        Args:
            seen: The partitions of which all records will be replayed; None means all partitions.
            reasons: Decides why brokers were fenced; None: that is left open.
        """
        self._state = state
        self._seen, self._reasons = seen, reasons
        # What took each broker down that is down now; None: that was before the kept history.
        self._down: dict[int, Cause | None] = {
            broker.broker_id: None for broker in state.brokers() if not is_up(broker)
        }
        # Those of them that the batch unregistered. Later none of them is down: it is not in the
        # state, from which a range starts, and its partitions left it in the same batch.
        self._unregistered: set[int] = set()
        # Records of the batch about each broker.
        self._batch: dict[int, list[Envelope]] = {}
        # Brokers that lose a lead in the batch.
        self._leading: set[int] = set()
        # What may be leads that were lost in it.
        self._unseen: MovedLeads | None = None
        # By offset: the fencings of brokers of which it is unseen whether they led a partition.
        self._undecided: dict[int, tuple[Envelope, int, MovedLeads]] = {}

    def enter(self, rows: Sequence[Envelope]) -> None:
        """Start the next batch: examine its rows before they are replayed."""
        for broker_id in tuple(self._unregistered):
            self._forget(broker_id)
        if BROKER_RECORDS.isdisjoint([type(row.payload) for row in rows]):
            if self._batch:
                self._batch, self._leading = {}, set()
            return
        self._batch = {}
        for row in rows:
            if type(row.payload) in BROKER_RECORDS:
                self._batch.setdefault(broker_of(row.payload), []).append(row)
        self._leading = set(self._losing_a_lead(rows))
        if self._seen is not None:
            moved = MovedLeads.of(rows)
            unseen = [each for each in moved.leaders if each[0] not in self._seen]
            self._unseen = MovedLeads(moved.at, unseen)

    @property
    def is_calm(self) -> bool:
        """True if no broker is down and the current batch has no broker records."""
        return not self._batch and not self._down

    def _losing_a_lead(self, rows: Sequence[Envelope]) -> Iterator[int]:
        """Yield the brokers that lose the leadership of a partition in the batch."""
        for row in rows:
            record = row.payload
            # Below NO_LEADER: the leader stays.
            if isinstance(record, PartitionChangeRecord) and record.leader >= NO_LEADER:
                key = record.topic_id, record.partition_id
                before = self._state.partition(*key) if self._sees(key) else None
                if before is not None and record.leader != before.leader:
                    yield before.leader

    def _sees(self, key: PartitionKey) -> bool:
        return self._seen is None or key in self._seen

    def down_by(self, row: Envelope, before: Broker | None) -> Cause | None:
        """Return the cause if a record of the batch takes its broker down, else None.

        A registration takes a broker down even if it was up, because the process restarted.

        Args:
            before: The broker's registration before the record.
        """
        broker_id = broker_of(row.payload)
        text = _down_text(row, before, lambda: self._reason(row, broker_id))
        if text is None:
            return None
        registered = -1 if before is None else before.broker_epoch
        return Cause(row.offset, f"broker {broker_id} {text}", registered)

    def _reason(self, row: Envelope, broker_id: int) -> str:
        """Return why a broker was fenced that was up."""
        led = broker_id in self._leading
        if self._unseen is not None and not led:
            self._undecided[row.offset] = row, broker_id, self._unseen
        return self._reason_of(row, broker_id, led=led)

    def _reason_of(self, row: Envelope, broker_id: int, *, led: bool) -> str:
        if self._reasons is None:
            return first_reason(led=led)
        brokers = list(self._state.brokers())
        return self._reasons.of(row, broker_id, lambda: brokers, led=led)

    def broker_changed(self, row: Envelope, before: Broker | None) -> None:
        """Update which brokers are down, after a broker's record was applied."""
        broker_id = broker_of(row.payload)
        cause = self.down_by(row, before)
        now = self._state.broker(broker_id)
        if before is None:
            self._forget(broker_id)
        elif now is None:
            self._unregistered.add(broker_id)
        if cause is not None:
            # The first one counts: a broker that shut down is fenced because of that.
            self._down.setdefault(broker_id, cause)
        elif is_up(now):
            self._down.pop(broker_id, None)

    def _forget(self, broker_id: int) -> None:
        """Forget the cause of a broker's outage, because the broker's registration has ended."""
        self._down.pop(broker_id, None)
        self._unregistered.discard(broker_id)

    def take_over(
        self, past: "Causes", asked: Iterable[Cause], load: Callable[[int], MetadataImage]
    ) -> dict[int, Cause]:
        """Take over from `past` the causes of the brokers that are down.

        Args:
            past: An object that has followed the same log up to this point, but only the records of
                some partitions.
            asked: Further causes from `past` whose final form the caller needs.
            load: Returns the image as of an offset; called with ascending offsets.

        Returns:
            The final form, by offset, of each cause whose description depends on partitions that
            `past` did not follow.
        """
        asked = chain(asked, filter(None, past._down.values())) if past._undecided else ()
        known = {each.offset: each for each in asked}
        decided = {}
        for offset in sorted(known.keys() & past._undecided.keys()):
            row, broker_id, unseen = past._undecided[offset]
            led = bool(unseen.leaders) and unseen.had_lead(
                broker_id, unseen.leaders_in(load(unseen.at))
            )
            text = fenced_text(past._reason_of(row, broker_id, led=led))
            registered = known[offset].registered
            decided[offset] = Cause(offset, f"broker {broker_id} {text}", registered)
        self._down = {
            broker_id: cause and decided.get(cause.offset, cause)
            for broker_id, cause in past._down.items()
        }
        self._unregistered = past._unregistered
        return decided

    def of_broker(self, broker_id: int) -> Cause | None:
        """Return why a broker is down; None if the cause is older than the kept history."""
        return self._down.get(broker_id)

    def of_brokers(self, row: Envelope, before: Partition | None, after: Partition) -> Cause | None:
        """Return the cause of a record that takes a partition's leader away or shrinks its ISR.

        Returns:
            OWN if no broker's record caused the change; None if the partition's brokers went down
            before the kept history.
        """
        if not self._batch and not (self._down and _may_lose(self._down, before, after)):
            return OWN
        lost = lost_brokers(before, after)
        if not self._batch and self._down.keys().isdisjoint(lost):
            return OWN
        # What is coming is later than what has taken brokers down.
        causes = [self._coming(row, broker_id) for broker_id in lost] if self._batch else []
        causes += [self._down[broker_id] for broker_id in lost if broker_id in self._down]
        known = [cause for cause in causes if cause is not None]
        if known:
            return max(known, key=lambda cause: cause.offset)
        if any(broker_id in self._down for broker_id in lost):
            return None
        return OWN

    def _coming(self, row: Envelope, broker_id: int) -> Cause | None:
        """Return the cause by which a later record of the batch takes a broker down.

        Returns:
            None if no later record does, or if the broker is already down.
        """
        if broker_id in self._down:
            return None
        broker = self._state.broker(broker_id)
        ahead = (each for each in self._batch.get(broker_id, ()) if each.offset > row.offset)
        return next(filter(None, (self.down_by(each, broker) for each in ahead)), None)


def is_up(broker: Broker | None) -> bool:
    """True if a broker is registered, not fenced, and not shutting down."""
    return broker is not None and not broker.fenced and not broker.in_controlled_shutdown


def fenced_text(reason: str) -> str:
    """Return the description of the fencing of a broker that was up."""
    return f"was fenced ({reason})"


_FENCING = "brokers fence"
"""The command with which a person fences a broker."""


def is_by_silence(cause: Cause) -> bool:
    """True if a broker was fenced because it missed its heartbeats, not because it stopped."""
    is_fencing = " was fenced (" in cause.text
    return is_fencing and NO_HEARTBEAT_OR_STOPPED not in cause.text and not is_inferred_stop(cause)


def is_inferred_stop(cause: Cause) -> bool:
    """True if a broker was fenced because it stopped in order, as follows from other records."""
    return cause.text.endswith(fenced_text(STOPPED))


def is_of_lost_broker(cause: Cause) -> bool:
    """True if a broker was found gone: it may have been gone before, unlike after a shutdown."""
    is_fencing = " was fenced (" in cause.text and not is_inferred_stop(cause)
    return is_fencing or _RESTARTED in cause.text


def _down_text(row: Envelope, before: Broker | None, why: Callable[[], str]) -> str | None:
    command, reason = (
        (None, None) if row.origin is None else (row.origin.command, row.origin.reason)
    )
    match row.payload:
        case UnregisterBrokerRecord():
            return "was unregistered"
        case BrokerRegistrationChangeRecord(in_controlled_shutdown=1):
            return SHUTDOWN
        case FenceBrokerRecord() | BrokerRegistrationChangeRecord(fenced=1):
            if before is not None and before.in_controlled_shutdown:
                return "was fenced at the end of its controlled shutdown"
            if command == _FENCING:
                return f"was fenced by a command{'' if reason is None else f' ({reason})'}"
            return fenced_text(reason or why())
        case RegisterBrokerRecord(fenced=True):
            if before is None:
                return "registered, still fenced"
            if before.fenced:
                return "registered again"
            return _RESTARTED
    return None


def lost_brokers(before: Partition | None, after: Partition) -> list[int]:
    """Return the brokers that a partition lost by a record: ISR members and the former leader.

    A former leader that remained in the ISR comes first. For a new partition, returns the replicas
    outside the ISR, or all replicas if there is no leader.
    """
    if before is None:
        lost = [broker_id for broker_id in after.replicas if broker_id not in after.isr]
        return [*after.isr, *lost] if after.leader == NO_LEADER else lost
    lost = [broker_id for broker_id in before.isr if broker_id not in after.isr]
    leader = before.leader
    if leader not in (after.leader, NO_LEADER) and leader not in lost:
        lost.insert(0, leader)
    return lost


def _may_lose(brokers: Iterable[int], before: Partition | None, after: Partition) -> bool:
    """True if `lost_brokers` may return one of these brokers; cheaper than `lost_brokers`."""
    if before is None:
        return True
    old, new, leader = before.isr, after.isr, before.leader
    for broker_id in brokers:
        if broker_id in old and broker_id not in new:
            return True
    return leader != after.leader


_MODE_TEXTS = {
    READ_WRITE: "reads and writes are allowed again",
    READ_ONLY: "the partition is to be removed: writes are no longer allowed",
    NONE: "the partition is to be removed: neither reads nor writes are allowed",
}
"""Description of a mode change, by the partition's new mode."""


def _own_text(before: Partition | None, after: Partition, lost: Sequence[int]) -> str:
    """Return the description of a partition's record that no broker's record caused."""
    if before is None:
        return f"created with ISR {list(after.isr)} of replicas {list(after.replicas)}"
    if before.replicas != after.replicas or before.adding_replicas != after.adding_replicas:
        return f"replicas changed from {list(before.replicas)} to {list(after.replicas)}"
    if before.mode != after.mode:
        return _MODE_TEXTS.get(after.mode, f"its mode became {after.mode}, which is not known here")
    left = [broker_id for broker_id in lost if broker_id not in after.isr]
    if left and after.leader != NO_LEADER:
        names = ", ".join(map(str, left))
        return f"leader {after.leader} took {names} out of the ISR: {TOO_FAR_BEHIND}"
    if after.leader == NO_LEADER:
        return f"broker {before.leader} lost the lead, and none took it"
    return f"ISR {list(after.isr)} of replicas {list(after.replicas)}"
