"""Follows a log and collects the outages of its partitions and brokers."""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import Any

from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.errors import ContradictionError, RecordPlace
from records.partitions import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemovePartitionsRecord,
)
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, Partition
from replay.image.provenance import Provenance
from replay.incidents.causes import BROKER_RECORDS, OWN, Cause, Causes, broker_of
from replay.incidents.compiled_changes import plain_changes
from replay.incidents.fencing_reasons import FencingReasons
from replay.incidents.health import UNDER_REPLICATED, broker_kinds, partition_kinds
from replay.incidents.moved_leads import PartitionKey
from replay.incidents.outage import Outage, Outages, longest_first
from replay.incidents.replay_state import MIN_ISR, ReplayState
from replay.incidents.unversioned_topics import UnversionedDelta
from replay.time_travel.change_index import PartitionState

_NONE: Sequence[Outage] = ()

_Key = PartitionKey | int
"""Key of a partition, or id of a broker."""


class OutageTracker:
    """Replays rows and collects outages."""

    def __init__(
        self,
        image: MetadataImage,
        assumed_min_isr: int | None,
        seen: Collection[PartitionKey] | None = None,
        reasons: FencingReasons | None = None,
    ) -> None:
        """Start from an image.

        Args:
            assumed_min_isr: Used for topics whose min.insync.replicas is not in the log; None means
                that these are never under_min_isr.
            seen: The partitions of which all records will be replayed; None means all partitions.
            reasons: As for `Causes`.
        """
        self.provenance = image.provenance
        delta = UnversionedDelta(image)
        self._topics = delta.topics
        self._state = ReplayState(delta)
        self._causes = Causes(self._state, seen, reasons)
        # True while no broker's record can be the cause of an outage.
        self._is_calm = True
        self._assumed = assumed_min_isr
        # min.insync.replicas of each topic, as far as anything asked for it, and the topics of
        # which the log does not know it.
        self._min_isr: dict[Uuid, int] = {}
        self._unknown: set[Uuid] = set()
        # Where topics lost their last partition.
        self._gone: dict[Uuid, int] = {}
        # Objects in an outage only.
        self._open: dict[_Key, Sequence[Outage]] = {}
        self._ended: list[Outage] = []
        self._start_time = image.provenance.timestamp
        self._plain = plain_changes(
            "OutageChanges",
            delta.topics.live,
            self._see_change,
            open_=self._open,
            min_isr=self._min_isr,
            labels=self._state.labels,
            ended=self._ended,
            outage=Outage,
            kind=UNDER_REPLICATED,
            own=OWN,
        )
        for broker in image.brokers():
            self._see_broker(None, broker.broker_id)
        for topic in image.topics():
            if image.topic_size(topic.topic_id):
                self._begin_in(topic.topic_id, image)
        self._rules: dict[type[Record], Callable[[Envelope, Any], None]] = {
            PartitionChangeRecord: self._set_partition,
            PartitionRecord: self._set_partition,
            PartitionState: self._put_partition,
            RemoveTopicRecord: self._remove_topic,
            RemovePartitionsRecord: self._remove_partitions,
            MoveTopicRecord: self._move_topic,
            ConfigRecord: self._set_config,
            ClearElrRecord: self._clear_elr,
            **dict.fromkeys(BROKER_RECORDS, self._set_broker),
        }

    def _begin_in(self, topic_id: Uuid, image: MetadataImage) -> None:
        """Begin the outages that a topic's partitions are in at the start."""
        min_isr, label = self._min_isr_of(topic_id), self._state.topic_label(topic_id)
        for each in image.degraded_partitions(topic_id, min_isr):
            kinds = partition_kinds(each, min_isr)
            if kinds:
                began = [Outage(label, kind, None, None, None, None, each) for kind in kinds]
                self._open[each.topic_id, each.partition_id] = tuple(began)

    @property
    def is_quiet(self) -> bool:
        """True if no object is in an outage."""
        return not self._open

    @property
    def partitions_down(self) -> list[PartitionKey]:
        """The partitions that are in an outage."""
        return [key for key in self._open if not isinstance(key, int)]

    def down_since(self, broker_id: int) -> tuple[int, int] | None:
        """Return offset and time of the record by which a broker went down that is down.

        None if that is before the kept history.
        """
        places = [
            (it.from_offset, it.from_time)
            for it in self._open[broker_id]
            if it.from_offset is not None and it.from_time is not None
        ]
        return min(places, default=None)

    def down_by(self, broker_id: int) -> Cause | None:
        """Return why a broker is down; None if the cause is older than the kept history."""
        return self._causes.of_broker(broker_id)

    def has_outages_of(self, other: "OutageTracker") -> bool:
        """True if each object that is in an outage in `other` is in the same kinds of outage."""
        return all(
            [it.kind for it in self._open.get(key, _NONE)] == [it.kind for it in of]
            for key, of in other._open.items()
        )

    def take_over(self, past: "OutageTracker", load: Callable[[int], MetadataImage]) -> None:
        """Take over from `past` the beginning and the cause of each current outage.

        Args:
            past: A tracker that has followed the same log up to this point, but only the objects
                that are down.
            load: Returns the image as of an offset; called with ascending offsets.
        """
        began = {key: past._open[key] for key in self._open}
        known = (it.known_cause for of in began.values() for it in of)
        decided = self._causes.take_over(past._causes, filter(None, known), load)
        for it in chain.from_iterable(began.values()) if decided else ():
            if it.known_cause is not None:
                it.known_cause = decided.get(it.known_cause.offset, it.known_cause)
        self._open.update(began)
        self._start_time = past._start_time

    def replay(self, rows: Sequence[Envelope], chosen: Iterable[Envelope] | None = None) -> None:
        """Apply rows that take effect together.

        Args:
            chosen: The rows among `rows` to apply; None means all.
        """
        self._causes.enter(rows)
        self._is_calm = self._causes.is_calm
        change, changed, rules, row = self._topics.change, self._partition_set, self._rules, None
        other, left = self._other, rows if chosen is None else chosen
        if self._plain is not None:
            left = self._plain.replay(tuple(left), self._is_calm)
        try:
            for row in left:
                record = row.payload
                if type(record) is PartitionChangeRecord and row.extra is None:
                    changed(row, *change(record))  # most of a log: the shortest way
                else:
                    rules.get(type(record), other)(row, record)
        except ContradictionError as error:
            assert row is not None, "a row contradicts the state"
            raise error.replaced(record=RecordPlace.of(row)) from None

    @property
    def state(self) -> ReplayState:
        """The state after the rows replayed so far; callers must not apply records to it."""
        return self._state

    def finish(
        self,
        from_offset: int,
        provenance: Provenance,
        until_ms: int | None = None,
        note: Callable[[Sequence[Outage]], None] = lambda _: None,
    ) -> Outages:
        """Return the outages found, except those that ended before `from_offset`.

        Args:
            note: Called with them before they are sorted: in the order in which they ended they
                are near each other in memory, and a pass over them takes a third of the time.
            provenance: Provenance of the image at the end.
            until_ms: Time up to which outages without an end are counted, ms since 1970; the time
                of `provenance` if that is later or `until_ms` is None.
        """
        now = max(until_ms or 0, provenance.timestamp)
        found = [each for each in self._ended if (each.to_offset or 0) >= from_offset]
        found += chain.from_iterable(self._open.values())
        start = self._start_time
        for each in found:
            began, ended = each.from_time, each.to_time
            lasted = (now if ended is None else ended) - (start if began is None else began)
            each.duration_ms = lasted if lasted > 0 else 0
        note(found)
        topics = self._min_isr.keys() | {t for t, at in self._gone.items() if at >= from_offset}
        return Outages(
            intervals=longest_first(found),
            known=frozenset(topics - self._unknown),
            unknown=frozenset(topics & self._unknown),
            provenance=self._state.provenance(provenance),
        )

    def _other(self, row: Envelope, record: Record) -> None:
        self._state.replay(row)

    def _set_partition(
        self, row: Envelope, record: PartitionChangeRecord | PartitionRecord
    ) -> None:
        if type(record) is PartitionRecord and row.extra is None:
            before, after = self._topics.set(record)
        else:
            before, after = self._state.set_partition(row)
        self._see_change(row, before, after)

    def _see_change(self, row: Envelope, before: Partition | None, after: Partition) -> None:
        if after.topic_id not in self._min_isr:
            self._min_isr_of(after.topic_id)
        self._partition_set(row, before, after)

    def _put_partition(self, row: Envelope, state: PartitionState) -> None:
        self._topics.put(state.after)
        self._see_change(row, state.before, state.after)

    def _partition_set(self, row: Envelope, before: Partition | None, after: Partition) -> None:
        """Begin and end the outages of a partition that a record has set."""
        topic_id, in_sync = after.topic_id, len(after.isr)
        key, min_isr = (topic_id, after.partition_id), self._min_isr[topic_id]
        known = self._open.get(key)
        if after.leader != NO_LEADER and in_sync >= len(after.replicas) and in_sync >= min_isr:
            if known is not None:
                self._end(self._open.pop(key), row)
            return
        kinds = partition_kinds(after, min_isr)
        if known is None:
            if not kinds:
                return
            cause = OWN if self._is_calm else self._causes.of_brokers(row, before, after)
            label, offset, time = self._state.topic_label(topic_id), row.offset, row.timestamp
            began = Outage(label, kinds[0], offset, time, cause, before, after)
            self._open[key] = (began,)
            if len(kinds) > 1:
                others = [Outage(label, k, offset, time, cause, before, after) for k in kinds[1:]]
                self._open[key] = (began, *others)
        elif not kinds:
            self._end(self._open.pop(key), row)
        elif [it.kind for it in known] != [*kinds]:
            is_new = not {it.kind for it in known}.issuperset(kinds)
            cause = self._causes.of_brokers(row, before, after) if is_new else None
            self._see_partition(row, before, after, kinds, cause)
        elif not _is_alike(before, after):
            for it in known:
                it.follow(after)

    def _see_partition(
        self,
        row: Envelope | None,
        before: Partition | None,
        partition: Partition,
        kinds: Sequence[str],
        cause: Cause | None,
    ) -> None:
        """Update the outages of a partition: begin those in `kinds`, end all others.

        Args:
            row: The row at which outages begin or end; None at the start of the history.
            before: The partition before the row.
            partition: The partition after the row.
            kinds: The kinds of outages that the partition is now in.
            cause: Cause of the outages that begin.
        """
        topic_id = partition.topic_id
        key = topic_id, partition.partition_id
        known = self._take(key, kinds, row)
        if not kinds:
            return
        label, place = self._state.topic_label(topic_id), _place(row)
        now = {it.kind: it for it in known}
        for it in known:
            it.follow(partition)
        self._open[key] = tuple(
            [
                now.get(kind) or Outage(label, kind, *place, cause, before, partition)
                for kind in kinds
            ]
        )

    def _take(self, key: _Key, kinds: Sequence[str], row: Envelope | None) -> Sequence[Outage]:
        """Return the outages of an object that continue; end those whose kind is not in `kinds`."""
        known = self._open.pop(key, _NONE)
        over = [it for it in known if it.kind not in kinds]
        if not over:
            return known
        assert row is not None, "nothing ends before the history's start"
        self._end(over, row)
        return [it for it in known if it.kind in kinds]

    def _end(self, intervals: Iterable[Outage], row: Envelope) -> None:
        for it in intervals:
            it.to_offset, it.to_time = row.offset, row.timestamp
            self._ended.append(it)

    def _min_isr_of(self, topic_id: Uuid) -> int:
        found = self._min_isr.get(topic_id)
        if found is None:
            known = self._state.min_isr(topic_id)
            (self._unknown.add if known is None else self._unknown.discard)(topic_id)
            found = self._min_isr[topic_id] = (self._assumed or 0) if known is None else known
        return found

    def _remove_topic(self, row: Envelope, record: RemoveTopicRecord) -> None:
        ids = [each.partition_id for each in self._state.partitions(record.topic_id)]
        self._state.remove_topic(row, record.topic_id)
        self._end_partitions(row, record.topic_id, ids)
        self._lose_topic(row, record.topic_id)

    def _remove_partitions(self, row: Envelope, record: RemovePartitionsRecord) -> None:
        self._state.replay(row)
        self._end_partitions(row, record.topic_id, record.partition_ids)
        if not self._state.partitions(record.topic_id):
            self._lose_topic(row, record.topic_id)

    def _lose_topic(self, row: Envelope, topic_id: Uuid) -> None:
        if self._min_isr.pop(topic_id, None) is not None:
            self._gone[topic_id] = row.offset

    def _end_partitions(self, row: Envelope, topic_id: Uuid, ids: Iterable[int]) -> None:
        for partition_id in ids:
            self._end(self._open.pop((topic_id, partition_id), _NONE), row)

    def _move_topic(self, row: Envelope, record: MoveTopicRecord) -> None:
        self._state.replay(row)
        self._state.forget_label(record.topic_id)
        self._see_min_isr(row, [record.topic_id], "the topic moved to another namespace")

    def _clear_elr(self, row: Envelope, _: ClearElrRecord) -> None:
        """Update the brokers for which partitions in an outage wait."""
        self._state.replay(row)
        for topic_id in {topic_id for topic_id, _ in self.partitions_down}:
            for partition in self._state.partitions(topic_id):
                for outage in self._open.get((topic_id, partition.partition_id), ()):
                    outage.follow(partition)

    def _set_config(self, row: Envelope, record: ConfigRecord) -> None:
        self._state.replay(row)
        if record.name == MIN_ISR:
            now = "was removed" if record.value is None else f"became {record.value}"
            topics = self._state.topics_configured_by((record.resource_type, record.resource_name))
            self._see_min_isr(row, topics, f"{MIN_ISR} {now}")

    def _see_min_isr(self, row: Envelope, topic_ids: Iterable[Uuid], why: str) -> None:
        """Update the outages of topics whose effective min.insync.replicas has changed."""
        for topic_id in topic_ids:
            partitions = self._state.partitions(topic_id)
            if not partitions:
                continue
            before = self._min_isr_of(topic_id)
            del self._min_isr[topic_id]
            after = self._min_isr_of(topic_id)
            if after != before:
                for each in partitions:
                    kinds = partition_kinds(each, after)
                    if kinds or (topic_id, each.partition_id) in self._open:
                        self._see_partition(row, None, each, kinds, Cause(row.offset, why))

    def _set_broker(self, row: Envelope, record: Record) -> None:
        broker_id = broker_of(record)
        before = self._state.broker(broker_id)
        self._state.replay(row)
        self._causes.broker_changed(row, before)
        self._see_broker(row, broker_id)

    def _see_broker(self, row: Envelope | None, broker_id: int) -> None:
        kinds = broker_kinds(self._state.broker(broker_id))
        cause = self._causes.of_broker(broker_id)
        known = self._take(broker_id, kinds, row)
        if kinds:
            place = _place(row)
            now = {it.kind: it for it in known}
            self._open[broker_id] = tuple(
                now.get(kind) or Outage(f"broker:{broker_id}", kind, *place, cause, None, None)
                for kind in kinds
            )


def _is_alike(before: Partition | None, after: Partition) -> bool:
    """True if a record changed neither the leader nor whom the partition waits for."""
    # What a record leaves alone is the same object.
    return (
        before is not None
        and before.leader == after.leader
        and before.isr is after.isr
        and before.replicas is after.replicas
        and before.adding_replicas is after.adding_replicas
        and before.eligible_leader_replicas is after.eligible_leader_replicas
        and before.last_known_elr is after.last_known_elr
    )


def _place(row: Envelope | None) -> tuple[int | None, int | None]:
    """Return the offset and time of a row, (None, None) for no row.

    These are kept instead of the row, which would keep its record in memory.
    """
    return (None, None) if row is None else (row.offset, row.timestamp)
