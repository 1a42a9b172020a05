"""Timeline: what happened in a range of a log, grouped by cause.

A record about a broker takes along the changes of partitions that it brought about, by the rules of
docs/causes.md; whatever else a batch did is one event for each kind. A leader that changes an ISR
writes a batch for each of its partitions: those are put together while they have the same cause.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence

from records import configs, control, partitions, topics
from records.base import Record
from records.envelope import Envelope
from records.text import duration_text
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, Partition
from replay.incidents.causes import BROKER_RECORDS, OWN, Causes, broker_of, is_up
from replay.incidents.event import (
    BROKERS,
    CONTROLLERS,
    NOTES,
    OTHERS,
    PARTITIONS,
    TOPICS,
    Group,
    TimelineEvent,
    partition_effects,
)
from replay.incidents.flaps import Flaps
from replay.incidents.live_state import LiveState
from replay.incidents.touched_objects import GOING, touched_objects
from replay.incidents.words import effect_of
from replay.loader import BatchSource, check_point, explains, provenance_at
from replay.transactions import Transactions, rows_within

_NEW_PARTITION = ("new partition%s",)
_SILENT: frozenset[type[Record]] = frozenset({control.NoOpRecord, control.NoOpRunRecord})


@explains
def timeline_events(
    source: BatchSource,
    from_offset: int,
    to_offset: int,
    start: Callable[[int], MetadataImage],
    progress: Callable[[int], None] | None = None,
    noted: Callable[[control.NoteRecord], object] = lambda _: None,
) -> list[TimelineEvent]:
    """Return the events of [from_offset, to_offset) in order of their first records.

    Records that are kept although the state before them is not (below `history_start`) are told
    without what was before. Of a transaction that ends in the range all records are told.

    Args:
        start: Returns the image as of an offset.
        progress: Called with the end offset of each batch read.
        noted: Called with each note that was written in the range.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `load_image`.
    """
    check_point(source, max(to_offset, source.history_start) - 1)
    first = max(from_offset, source.history_start)
    image = start(first - 1)
    # A transaction that is open there takes effect in the range, if it does.
    begin = min(first, image.provenance.next_offset)
    told, transactions = _Events(image), Transactions()
    for batch in (
        source.batches(min(begin, from_offset), to_offset) if from_offset < to_offset else ()
    ):
        told.stateless(rows_within(batch, from_offset, min(first, to_offset)))
        rows = list(transactions.effective(rows_within(batch, begin, to_offset)))
        told.follow(rows)
        for row in rows:
            if isinstance(row.payload, control.NoteRecord):
                noted(row.payload)
        told.last_time = provenance_at(batch, min(batch.end_offset, to_offset)).timestamp
        if progress is not None:
            progress(batch.end_offset)
    return told.finish()


class _Events:
    """Replays rows and groups them.

    Attributes:
        last_time: Append time of the last record before those that are followed next.
    """

    def __init__(self, image: MetadataImage) -> None:
        self._state = LiveState(image)
        self._causes = Causes(self._state)
        self._groups: dict[Hashable, Group] = {}
        # What brought each broker back that is up, since the start of the range.
        self._up: dict[int, Envelope] = {}
        self._flaps = Flaps()
        self._batch: Sequence[Envelope] = ()
        # The event of the active controller.
        self._term: Group | None = None
        self.last_time = 0

    def stateless(self, rows: Iterable[Envelope]) -> None:
        """Tell of rows without the state before them."""
        for row in rows:
            record = row.payload
            if isinstance(record, control.LeaderChangeMessage):
                self._controller(row, record)
            elif type(record) not in _SILENT:
                name = type(record).__name__
                kind = BROKERS if type(record) in BROKER_RECORDS else OTHERS
                group = self._group((kind, row.batch_offset), kind, row)
                group.heading = "before: unknown"
                group.add(row, None, (f"{name}%s",))

    def follow(self, rows: Sequence[Envelope]) -> None:
        """Apply rows that take effect together, and tell of them."""
        self._causes.enter(rows)
        self._batch = rows
        for row in rows:
            record_type = type(row.payload)
            if record_type is partitions.PartitionChangeRecord:
                self._partition(row)
            elif record_type is partitions.PartitionRecord:
                self._new_partition(row)
            elif record_type in BROKER_RECORDS:
                self._broker(row)
            elif record_type in _SILENT:
                self._state.replay(row)
            else:
                self._other(row)

    def finish(self) -> list[TimelineEvent]:
        """Return the events."""
        self._end_term(self.last_time)
        found = [*self._flaps.events(), *(group.event() for group in self._groups.values())]
        return sorted(found, key=lambda event: event.from_offset)

    def _group(self, key: Hashable, kind: str, row: Envelope, cause: int | None = None) -> Group:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(kind, row, cause)
        return group

    def _controller(self, row: Envelope, record: control.LeaderChangeMessage) -> None:
        self._end_term(row.timestamp)
        group = self._group((CONTROLLERS, row.offset), CONTROLLERS, row)
        group.heading = f"controller {record.leader_id} became active in epoch {row.leader_epoch}"
        group.add(row, f"controller:{record.leader_id}", ())
        self._term = group

    def _end_term(self, time: int) -> None:
        """Say how long the last controller was the active one.

        It may have been down long before another took over, so its last record is told, too.
        """
        if self._term is not None:
            start = self._term.first.timestamp
            self._term.active_ms = max(0, time - start)
            lasted = duration_text(self._term.active_ms)
            wrote = duration_text(max(0, self.last_time - start))
            self._term.heading += f", for {lasted}"
            if wrote != lasted:
                self._term.heading += f", last record after {wrote}"

    def _other(self, row: Envelope) -> None:
        record = row.payload
        if isinstance(record, control.LeaderChangeMessage):
            self._state.replay(row)
            self._controller(row, record)
            return
        kind = _KINDS.get(type(record), OTHERS)
        group = self._group((kind, row.batch_offset), kind, row)
        if type(record) in GOING:
            self._add(group, row)
            self._state.replay(row)
            if isinstance(record, topics.RemoveTopicRecord | topics.MoveTopicRecord):
                self._state.forget_label(record.topic_id)
            if isinstance(record, topics.MoveTopicRecord):
                self._touch(group, record)  # by its new name
        else:
            self._state.replay(row)
            self._add(group, row)

    def _add(self, group: Group, row: Envelope) -> None:
        record, name = row.payload, None
        if isinstance(record, topics.TopicRecord):
            name = f"topic:{self._state.topic_label(record.topic_id)}"
        # `touched_objects` has the names of all others.
        group.add(row, name, (effect_of(record, self._state),))
        self._touch(group, record)

    def _new_partition(self, row: Envelope) -> None:
        _, after = self._state.set_partition(row)
        name = (self._state.topic_label(after.topic_id), after.partition_id)
        self._group((TOPICS, row.batch_offset), TOPICS, row).add(row, name, _NEW_PARTITION)

    def _touch(self, group: Group, record: Record) -> None:
        for name in touched_objects(record, self._state):
            group.touch(name)

    def _broker(self, row: Envelope) -> None:
        broker_id = broker_of(row.payload)
        before = self._state.broker(broker_id)
        down = self._causes.down_by(row, before)
        self._state.replay(row)
        self._causes.broker_changed(row, before)
        after = self._state.broker(broker_id)
        if before == after:
            return
        text = f"broker {broker_id} changed its registration" if down is None else down.text
        if not is_up(after):
            self._up.pop(broker_id, None)
            if is_up(before):
                self._flaps.lost(f"broker:{broker_id}", row)
        elif not is_up(before):
            self._up[broker_id] = row
            self._flaps.back(f"broker:{broker_id}", row)
            text = f"broker {broker_id} was unfenced"
        group = self._group(row.offset, BROKERS, row, row.offset)
        group.heading = text
        group.add(row, f"broker:{broker_id}", ())

    def _partition(self, row: Envelope) -> None:
        before, after = self._state.set_partition(row)
        assert before is not None, "the record would have contradicted the state"
        cause = self._cause(row, before, after)
        key: Hashable
        if cause is None:
            key = (PARTITIONS, row.batch_offset)
        elif self._batch[0].offset <= cause <= self._batch[-1].offset:
            # Told with the broker's record, which may come later in the batch.
            key = cause
        else:
            key = (PARTITIONS, cause)
        kind = BROKERS if key == cause else PARTITIONS
        name = (self._state.topic_label(after.topic_id), after.partition_id)
        if before.leader != after.leader:
            if after.leader == NO_LEADER:
                self._flaps.lost(name, row)
            elif before.leader == NO_LEADER:
                self._flaps.back(name, row)
        self._group(key, kind, row, cause).add(row, name, partition_effects(before, after))

    def _cause(self, row: Envelope, before: Partition, after: Partition) -> int | None:
        """Return the offset of the record about a broker that brought a change about."""
        is_lost = len(after.isr) < len(before.isr) or after.leader == NO_LEADER != before.leader
        if not is_lost and self._up:
            came = [each for each in after.isr if each not in before.isr]
            if before.leader == NO_LEADER != after.leader:
                came.append(after.leader)
            offsets = [self._up[each].offset for each in came if each in self._up]
            if offsets:
                return max(offsets)
        # A broker that shuts down hands its leads over before it leaves the ISR.
        if is_lost or before.leader != after.leader:
            found = self._causes.of_brokers(row, before, after)
            return None if found is None or found is OWN else found.offset
        return None


_KINDS: dict[type[Record], str] = {
    topics.TopicRecord: TOPICS,
    topics.RemoveTopicRecord: TOPICS,
    topics.MoveTopicRecord: TOPICS,
    partitions.RemovePartitionsRecord: TOPICS,
    configs.ConfigRecord: TOPICS,
    control.NoteRecord: NOTES,
}
