"""Finds the outages of a log by one replay."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord, PartitionRecord, RemovePartitionsRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.provenance import Provenance
from replay.incidents.causes import BROKER_RECORDS, Cause, Causes, broker_of
from replay.incidents.live_state import MIN_ISR, LiveState
from replay.incidents.outage import Outage, broker_kinds, brokers_missing, partition_kinds
from replay.loader import BatchSource, load_image, provenance_at
from replay.transactions import Transactions, rows_within


class Outages(msgspec.Struct, frozen=True, kw_only=True):
    """The outages of a range of a log, longest first, and the image at its end.

    `known_topics` and `unknown_topics` count the topics by whether their min.insync.replicas is in
    the log.
    """

    intervals: list[Outage]
    known_topics: int
    unknown_topics: int
    image: MetadataImage


def find_outages(
    source: BatchSource,
    end_offset: int,
    *,
    from_offset: int = 0,
    assumed_min_isr: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Outages:
    """Return the outages of which a part is in [from_offset, end_offset).

    Replays the log from its start, because no snapshot says where an interval began.

    Args:
        assumed_min_isr: For topics whose min.insync.replicas is not in the log; None: those are
            never below it.
        progress: Called with the end offset of each batch as it is replayed.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `load_image`.
    """
    start = source.history_start
    image = load_image(source, start - 1)
    watch, transactions = _Watch(image, assumed_min_isr), Transactions()
    provenance = image.provenance
    for batch in source.batches(start, end_offset) if start < end_offset else ():
        watch.replay(list(transactions.effective(rows_within(batch, start, end_offset))))
        provenance = provenance_at(batch, min(batch.end_offset, end_offset))
        if progress is not None:
            progress(batch.end_offset)
    return watch.finish(from_offset, provenance)


_Key = tuple[Uuid, int] | int
"""Of a partition, or of a broker."""


class _Open(msgspec.Struct):
    """An interval that has not ended. `row` is None if it began before the kept history."""

    label: str
    kind: str
    row: Envelope | None
    cause: Cause | None
    brokers: set[int]
    topic_id: Uuid | None = None


class _Watch:
    """Replays rows and collects intervals."""

    def __init__(self, image: MetadataImage, assumed_min_isr: int | None) -> None:
        self._state = LiveState(image)
        self._causes = Causes(self._state)
        self._assumed = assumed_min_isr
        # min.insync.replicas of each topic; None if unknown.
        self._min_isr: dict[Uuid, int | None] = {}
        # Objects in an outage only.
        self._open: dict[_Key, dict[str, _Open]] = {}
        self._ended: list[tuple[_Open, Envelope]] = []
        self._start_time = image.provenance.timestamp
        for broker in image.brokers():
            self._see_broker(None, broker.broker_id)
        for topic in image.topics():
            for partition in image.partitions(topic.topic_id):
                kinds = partition_kinds(partition, self._min_isr_of(topic.topic_id))
                self._see_partition(None, partition, kinds, lambda: None)
        self._rules: dict[type[Record], Callable[[Envelope, Any], None]] = {
            PartitionChangeRecord: self._set_partition,
            PartitionRecord: self._set_partition,
            RemoveTopicRecord: self._remove_topic,
            RemovePartitionsRecord: self._remove_partitions,
            MoveTopicRecord: self._move_topic,
            ConfigRecord: self._set_config,
            **dict.fromkeys(BROKER_RECORDS, self._set_broker),
        }

    def replay(self, rows: Sequence[Envelope]) -> None:
        """Apply rows that take effect together."""
        self._causes.enter(rows)
        for row in rows:
            rule = self._rules.get(type(row.payload))
            if rule is None:
                self._state.replay(row)
            else:
                rule(row, row.payload)

    def finish(self, from_offset: int, provenance: Provenance) -> Outages:
        """Return what was found; intervals that ended before `from_offset` are left out."""
        now = provenance.timestamp
        ended = [self._outage(*each, now) for each in self._ended if each[1].offset >= from_offset]
        lasting = [
            self._outage(each, None, now) for of in self._open.values() for each in of.values()
        ]
        found = sorted(
            ended + lasting, key=lambda o: (-o.duration_ms, o.from_offset or 0, o.object)
        )
        unknown = sum(value is None for value in self._min_isr.values())
        return Outages(
            intervals=found,
            known_topics=len(self._min_isr) - unknown,
            unknown_topics=unknown,
            image=self._state.image(provenance),
        )

    def _outage(self, it: _Open, end: Envelope | None, now: int) -> Outage:
        began = self._start_time if it.row is None else it.row.timestamp
        return Outage(
            object=it.label,
            kind=it.kind,
            from_offset=None if it.row is None else it.row.offset,
            to_offset=None if end is None else end.offset,
            from_time=None if it.row is None else it.row.timestamp,
            to_time=None if end is None else end.timestamp,
            duration_ms=max(0, (now if end is None else end.timestamp) - began),
            cause=it.cause,
            brokers=tuple(sorted(it.brokers)),
            topic_id=it.topic_id,
        )

    def _set_partition(
        self, row: Envelope, record: PartitionChangeRecord | PartitionRecord
    ) -> None:
        topic_id, partition_id = record.topic_id, record.partition_id
        partition = self._state.partition
        before = partition(topic_id, partition_id)
        self._state.replay(row)
        after = partition(topic_id, partition_id)
        assert after is not None, "the record would have contradicted the state"
        kinds = partition_kinds(after, self._min_isr_of(topic_id))
        if kinds or (topic_id, partition_id) in self._open:
            self._see_partition(
                row, after, kinds, lambda: self._causes.of_partition(row, before, after)
            )

    def _see_partition(
        self,
        row: Envelope | None,
        partition: Partition,
        kinds: Sequence[str],
        cause: Callable[[], Cause | None],
    ) -> None:
        """Begin and end the intervals of a partition, as of a row (None: the history's start)."""
        topic_id, partition_id = partition.topic_id, partition.partition_id

        def begun(kind: str) -> _Open:
            label = f"partition:{self._state.topic_label(topic_id)}/{partition_id}"
            return _Open(label, kind, row, cause(), set(), topic_id)

        for kind, it in self._update((topic_id, partition_id), kinds, row, begun).items():
            it.brokers.update(brokers_missing(kind, partition))

    def _update(
        self,
        key: _Key,
        kinds: Sequence[str],
        row: Envelope | None,
        begun: Callable[[str], _Open],
    ) -> dict[str, _Open]:
        """Begin the intervals of new kinds of an object, and end those of other kinds.

        Returns:
            Those that it is in now.
        """
        before = self._open.pop(key, {})
        if not kinds and not before:
            return before
        for kind, it in before.items():
            if kind not in kinds:
                assert row is not None, "nothing ends before the history's start"
                self._ended.append((it, row))
        after = {kind: before.get(kind) or begun(kind) for kind in kinds}
        if after:
            self._open[key] = after
        return after

    def _min_isr_of(self, topic_id: Uuid) -> int:
        if topic_id not in self._min_isr:
            self._min_isr[topic_id] = self._state.min_isr(topic_id)
        known = self._min_isr[topic_id]
        return (self._assumed or 0) if known is None else known

    def _remove_topic(self, row: Envelope, record: RemoveTopicRecord) -> None:
        ids = [each.partition_id for each in self._state.partitions(record.topic_id)]
        self._state.replay(row)
        self._end_partitions(row, record.topic_id, ids)

    def _remove_partitions(self, row: Envelope, record: RemovePartitionsRecord) -> None:
        self._state.replay(row)
        self._end_partitions(row, record.topic_id, record.partition_ids)

    def _end_partitions(self, row: Envelope, topic_id: Uuid, ids: Iterable[int]) -> None:
        for it in [it for n in ids for it in self._open.pop((topic_id, n), {}).values()]:
            self._ended.append((it, row))

    def _move_topic(self, row: Envelope, record: MoveTopicRecord) -> None:
        self._state.replay(row)
        self._see_min_isr(row, [record.topic_id], "the topic moved to another namespace")

    def _set_config(self, row: Envelope, record: ConfigRecord) -> None:
        self._state.replay(row)
        if record.name == MIN_ISR:
            now = "was removed" if record.value is None else f"became {record.value}"
            topics = self._state.topics_configured_by((record.resource_type, record.resource_name))
            self._see_min_isr(row, topics, f"{MIN_ISR} {now}")

    def _see_min_isr(self, row: Envelope, topic_ids: Iterable[Uuid], why: str) -> None:
        """Look at the partitions of those topics whose min.insync.replicas has changed."""
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
                    self._see_partition(row, each, kinds, lambda: Cause(row.offset, why))

    def _set_broker(self, row: Envelope, record: Record) -> None:
        broker_id = broker_of(record)
        before = self._state.broker(broker_id)
        self._state.replay(row)
        self._causes.broker_changed(row, before)
        self._see_broker(row, broker_id)

    def _see_broker(self, row: Envelope | None, broker_id: int) -> None:
        kinds = broker_kinds(self._state.broker(broker_id))
        cause = self._causes.of_broker(broker_id)
        self._update(
            broker_id,
            kinds,
            row,
            lambda kind: _Open(f"broker:{broker_id}", kind, row, cause, {broker_id}),
        )
