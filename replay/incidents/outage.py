"""An outage: an interval in which a partition or broker was not fully available.

    leaderless          the partition has no leader
    under_replicated    not all replicas, except those being added, are in the ISR
    under_min_isr       the ISR is smaller than the topic's min.insync.replicas
    fenced              the broker is registered and fenced
    shutting_down       the broker is in a controlled shutdown

The interval begins with the record that brings about one of these conditions. It ends with the
record that ends the condition, or that removes the partition or broker.
"""

from collections.abc import Iterable, Sequence

import msgspec

from records.base import Uuid
from replay.image.cluster import Broker
from replay.image.partitions import NO_LEADER, Partition
from replay.image.provenance import Provenance
from replay.incidents.causes import OWN, Cause, own_cause

LEADERLESS = "leaderless"
UNDER_REPLICATED = "under_replicated"
UNDER_MIN_ISR = "under_min_isr"
FENCED = "fenced"
SHUTTING_DOWN = "shutting_down"

KINDS = (LEADERLESS, UNDER_REPLICATED, UNDER_MIN_ISR, FENCED, SHUTTING_DOWN)


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
        others: Further brokers that the partition waited for only after later records.
        to_offset: Offset of the record that ended the outage; None if it has not ended.
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
    to_offset: int | None = None
    to_time: int | None = None
    duration_ms: int = 0

    @property
    def object(self) -> str:
        """The object's name at the beginning, such as `partition:orders/0` or `broker:2`."""
        if self.after is None:
            return self.label
        return f"partition:{self.label}/{self.after.partition_id}"

    @property
    def cause(self) -> Cause | None:
        """The cause of the outage; None if it is not in the kept history."""
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

    def wait_for(self, partition: Partition) -> None:
        """Add the brokers that the partition waits for after a later record."""
        assert self.after is not None, "it is an outage of a partition"
        missing = brokers_missing(self.kind, partition)
        known = {*brokers_missing(self.kind, self.after), *self.others}
        self.others += tuple(each for each in missing if each not in known)

    @property
    def topic_id(self) -> Uuid | None:
        """The partition's topic id; None for a broker."""
        return None if self.after is None else self.after.topic_id


class Outages(msgspec.Struct, frozen=True, kw_only=True):
    """The outages in a range of a log, longest first, and the position of the range's end.

    `known_topics` and `unknown_topics` count the topics that had partitions in the range. A topic
    is known if its min.insync.replicas is in the log.
    """

    intervals: list[Outage]
    known_topics: int
    unknown_topics: int
    provenance: Provenance


def partition_kinds(partition: Partition, min_isr: int) -> Sequence[str]:
    """Return the kinds of outages that a partition is in."""
    in_sync = len(partition.isr)
    if partition.leader != NO_LEADER and min_isr <= in_sync:
        if in_sync >= len(partition.replicas):
            return ()
        if not partition.adding_replicas:
            return _ONLY_UNDER_REPLICATED
    kinds = []
    if partition.leader == NO_LEADER:
        kinds.append(LEADERLESS)
    if in_sync < len(_assigned(partition)):
        kinds.append(UNDER_REPLICATED)
    if in_sync < min_isr:
        kinds.append(UNDER_MIN_ISR)
    return kinds


_ONLY_UNDER_REPLICATED = (UNDER_REPLICATED,)


def broker_kinds(broker: Broker | None) -> tuple[str, ...]:
    """Return the kinds of outages that a broker is in; none if it is not registered."""
    if broker is None:
        return ()
    held = {FENCED: broker.fenced, SHUTTING_DOWN: broker.in_controlled_shutdown}
    return tuple([kind for kind, holds in held.items() if holds])


def brokers_missing(kind: str, partition: Partition) -> Iterable[int]:
    """Return the brokers that a partition waits for in an outage of a kind."""
    if kind == LEADERLESS:
        return (
            partition.isr
            or partition.eligible_leader_replicas
            or partition.last_known_elr
            or partition.replicas
        )
    return [broker_id for broker_id in _assigned(partition) if broker_id not in partition.isr]


def _assigned(partition: Partition) -> Sequence[int]:
    """Return a partition's replicas without those being added."""
    if not partition.adding_replicas:
        return partition.replicas
    return [each for each in partition.replicas if each not in partition.adding_replicas]
