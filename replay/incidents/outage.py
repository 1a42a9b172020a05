"""An outage: an interval in which a partition or broker was not fully available.

    leaderless          the partition has no leader
    under_replicated    not all replicas, except those being added, are in the ISR
    under_min_isr       the ISR is smaller than the topic's min.insync.replicas
    fenced              the broker is registered and fenced
    shutting_down       the broker is in a controlled shutdown

The interval begins with the record that brings about one of these conditions. It ends with the
record that ends the condition, that removes the partition or broker, or that takes the partition
offline to be removed: a planned removal is no outage.
"""

from itertools import groupby
from operator import attrgetter

import msgspec

from records.base import Uuid
from replay.image.partitions import NO_LEADER, Partition
from replay.image.provenance import Provenance
from replay.incidents.causes import OWN, Cause, own_cause
from replay.incidents.health import brokers_missing


class Outage(msgspec.Struct, gc=False):
    """One outage of a partition or broker.

    There may be as many outages as records, so names and causes are formatted on demand.

    Attributes:
        label: Name at the beginning of the outage: `broker:2`, or the name of the partition's
            topic.
        from_offset: Offset of the record that began the outage; None if it began before the kept
            history.
        from_time, to_time: Append times of the records that began and ended the outage, in ms since
        1970.
        known_cause: OWN if the record that began the outage is itself the cause.
        before, after: The partition before and after the record that began the outage; None for a
        broker.
        others: Brokers that the partition waited for only after later records.
        led: Brokers that led the partition only after later records.
        to_offset: Offset of the record that ended the outage; None if it has not ended.
        silence_ms: How long no record was written before the controller's term in which the broker
            was found gone that the outage began with; 0 if that says nothing about its beginning.
        gone_ms, seen_ms: How much earlier it had begun at least, and at most, as the controller in
            the broker's process shows; None if that is not known.
        duration_ms: Counted from the start of the kept history if the outage began earlier, and up
            to the last record if it has not ended. Never negative, even if times in the log step
            back.
    """

    label: str
    kind: str
    from_offset: int | None
    from_time: int | None
    known_cause: Cause | None
    before: Partition | None
    after: Partition | None
    others: tuple[int, ...] = ()
    led: tuple[int, ...] = ()
    to_offset: int | None = None
    to_time: int | None = None
    silence_ms: int = 0
    gone_ms: int = 0
    seen_ms: int | None = None
    duration_ms: int = 0

    @property
    def is_at_least(self) -> bool:
        """True if the outage may have begun earlier than `duration_ms` counts."""
        return self.from_time is None or self.silence_ms > 0

    @property
    def object(self) -> str:
        """The object's name at the beginning, such as `partition:orders/0` or `broker:2`."""
        if self.after is None:
            return self.label
        return f"partition:{self.label}/{self.after.partition_id}"

    @property
    def cause(self) -> Cause | None:
        """The cause of the outage; None if the cause is older than the kept history."""
        if self.known_cause is not OWN:
            return self.known_cause
        assert self.from_offset is not None, "what was so before the history has no cause"
        assert self.after is not None, "only a partition's record is its own cause"
        return own_cause(self.from_offset, self.before, self.after)

    @property
    def brokers(self) -> tuple[int, ...]:
        """The brokers that the object waited for, ascending.

        For a partition without a leader, the brokers that could have led it; for other outages of a
        partition, the replicas outside its ISR. For a broker, the broker itself.
        """
        if self.after is None:
            return (int(self.label.removeprefix("broker:")),)
        return tuple(sorted({*brokers_missing(self.kind, self.after), *self.others}))

    @property
    def leaders(self) -> tuple[int, ...]:
        """The brokers that led the partition during the outage, or until it began, ascending."""
        known = {each.leader for each in (self.before, self.after) if each is not None}
        return tuple(sorted({*known, *self.led} - {NO_LEADER}))

    def follow(self, partition: Partition) -> None:
        """Add the leader of a later state, and the brokers that the partition waits for there."""
        assert self.after is not None, "it is an outage of a partition"
        missing = brokers_missing(self.kind, partition)
        known = {*brokers_missing(self.kind, self.after), *self.others}
        self.others += tuple(each for each in missing if each not in known)
        leader = partition.leader
        if leader not in (NO_LEADER, self.after.leader) and leader not in self.leaders:
            self.led += (leader,)

    @property
    def topic_id(self) -> Uuid | None:
        """The partition's topic id; None for a broker."""
        return None if self.after is None else self.after.topic_id


class Outages(msgspec.Struct, frozen=True, kw_only=True):
    """The outages in a range of a log, longest first, and the position of the range's end.

    `known` and `unknown` are the ids of the topics that had partitions in the range. A topic is
    known if its min.insync.replicas is in the log.
    """

    intervals: list[Outage]
    known: frozenset[Uuid]
    unknown: frozenset[Uuid]
    provenance: Provenance


def longest_first(outages: list[Outage]) -> list[Outage]:
    """Return outages sorted by duration, then by beginning, then by the object's name."""
    outages.sort(key=_beginning)
    found: list[Outage] = []
    for _, together in groupby(outages, _beginning):
        some = list(together)
        found += some if len(some) == 1 else sorted(some, key=attrgetter("object"))
    found.sort(key=attrgetter("duration_ms"), reverse=True)
    return found


def _beginning(outage: Outage) -> int:
    return outage.from_offset or 0
