"""An outage: an interval in which a partition or broker was not fully available.

    leaderless          the partition has no leader
    under_replicated    not all replicas, except those being added, are in the ISR
    under_min_isr       the ISR is smaller than the topic's min.insync.replicas
    fenced              the broker is registered and fenced
    shutting_down       the broker is in a controlled shutdown

The interval begins with the record that brings about one of these conditions. It ends with the
record that ends the condition, or that removes the partition or broker.
"""

import msgspec

from records.base import Uuid
from replay.image.partitions import Partition
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

    def wait_for(self, partition: Partition) -> None:
        """Add the brokers that the partition waits for in a later state, given as `partition`."""
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

    `known` and `unknown` are the ids of the topics that had partitions in the range. A topic is
    known if its min.insync.replicas is in the log.
    """

    intervals: list[Outage]
    known: frozenset[Uuid]
    unknown: frozenset[Uuid]
    provenance: Provenance
