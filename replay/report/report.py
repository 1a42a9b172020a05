"""A report: everything that the report's page shows about a range of a log."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from metadata_log.format.batch import Batch
from metadata_log.format.parts import Gap
from replay.image.metadata import MetadataImage
from replay.incidents.fencing_reasons import FencingReasons
from replay.loader import BatchSource
from replay.report.chains import Chains, ChainsMark, Terms
from replay.report.columns import START, Columns, ColumnsMark, RowPlace, packed
from replay.report.eventful import Incidents, MostEventful, Weighed, weighed
from replay.report.gaps import PartBefore, found_text, gap_row, not_recorded
from replay.report.in_topics import InTopics
from replay.report.object_changes import Touched, objects_across, objects_changed, objects_of
from replay.report.report_events import (
    EventsMark,
    ReportEvent,
    ReportEvents,
    encoded_events,
    gap_event,
)
from replay.time_travel.contradictions import explained
from replay.time_travel.effects import Effect, Effects
from replay.timeline import Timeline
from replay.transactions import rows_within

FORMAT = 1
"""Version of the format. A report's page includes the code that reads its version."""

MARKS_MAX = 64
"""Maximum number of earlier ends of a growing report from which pages can continue."""

Progress = Callable[[int], None]
Mask = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes the report's header; returns the header with secret values replaced."""


class Redaction(NamedTuple):
    """Functions that redact a report: its field values, its labels and its header."""

    field: Callable[[str, str, Any], Any]
    label: Callable[[str, str], str]
    mask: Mask


class Beside(Protocol):
    """Another reader of the same log, to which a report passes each batch that it reads.

    Attributes:
        next_offset: The first offset that this reader has not read yet.
    """

    @property
    def next_offset(self) -> int: ...

    def follow(self, batch: Batch) -> None:
        """Process a batch, unless it was processed before."""


class Report(NamedTuple):
    """A range of a log in packed form.

    Attributes:
        first, last: First and last offset of the range, inclusive.
        changes: Number of object states in the report, without each object's first state.
        most_eventful: First and last offset of the most eventful range; None if nothing changed.
        opens: First and last offset of the range that the page shows first, as of `Incidents`; None
            if there was no incident.
        after: Last offset of an earlier report, if this report is only the difference from it.
        gaps: The gaps of a recording in the range.
    """

    first: int
    last: int
    rows: int
    changes: int
    most_eventful: tuple[int, int] | None
    opens: tuple[int, int] | None
    packed: bytes
    after: int | None = None
    gaps: tuple[Gap, ...] = ()


class _Mark(NamedTuple):
    columns: ColumnsMark
    chains: ChainsMark
    events: EventsMark
    terms: int


_START = _Mark(START, ChainsMark(0, 0, 0, 0, 0, 0), EventsMark(), 0)


class GrowingReport:
    """The report of a range that can be extended; only the new records are then read.

    Attributes:
        start: First offset at which the state is known.
    """

    def __init__(
        self,
        timeline: Timeline,
        first: int,
        redaction: Redaction,
        topics: Collection[str] | None = None,
    ) -> None:
        """Start with the state before an offset.

        Args:
            timeline: The log, or the oldest part of a recording that the report has.
            first: The first offset of the report.
            topics: Full names. The report is then limited to the states of these topics and of
                their partitions. It has no events, leader epochs or causes, which may reveal other
                topics. None means the whole cluster.

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `Timeline.image`.
        """
        self._first = first
        self._redaction = redaction
        self._is_whole = topics is None
        self._in_topics = None if topics is None else InTopics(topics)
        self.start = max(first, timeline.source.history_start)
        # An image as of within a transaction is the one before it: the range begins there.
        image = timeline.image(self.start - 1)
        self._next = first
        # End of the records that are applied; inside a transaction they begin before `first`.
        self._state_end = image.provenance.next_offset
        self._effects = Effects(image)
        self._columns = Columns(redaction.field, redaction.label)
        objects = objects_of(image)
        if self._in_topics is not None:
            objects = filter(self._in_topics.has, objects)
        self._incidents = Incidents(self.start)
        self._columns.add(_place_of(image, self.start), self._incidents.begun(objects))
        self._before = self._columns.touches
        self._reasons = FencingReasons(timeline.source)
        self._chains = Chains(image, self._columns.origin, self._reasons)
        self._gaps: list[Gap] = []
        # The time of the first record; None: read it when it is needed.
        self._begin_ms: int | None = None
        self._events = None
        if self._is_whole:
            self._events = ReportEvents(image, first, self.start, self._reasons)
        self._terms = Terms()
        self._window = MostEventful()
        # By the offset that was the last: where everything stood.
        self._marks: dict[int, _Mark] = {}

    @property
    def touches(self) -> int:
        """Number of changed objects, summed over the records; includes the objects at the start."""
        return self._columns.touches

    def goes_on(self, source: BatchSource) -> bool:
        """True if newer records of the same log change no text: they may show why a broker was
        fenced.
        """
        return not self._reasons.move(source)

    def cross(self, before: PartBefore, after: Timeline) -> None:
        """Read an earlier part of a recording to its end, and go on in the part after it.

        Raises:
            RequestError, CorruptLogError: as for `Timeline.image`.
        """
        ended, gap = before
        last = gap.from_offset - 1
        self._read(ended.source, last, lambda offset: None)
        if self._begin_ms is None:
            times = _times(ended.source, self._first, last)
            self._begin_ms = times[0] if times else gap.to_time
        image = after.image(gap.to_offset - 1)
        found = [*self._parts_shown(objects_across(ended.image(last), image), image)]
        place, text = gap_row(gap), not_recorded(gap)
        self._columns.add(place, found)
        found_at = Weighed(place.offset, place.time, 0)
        self._incidents.add(found, place.offset, found_at, is_planned=False)
        brokers = [each.key for each in found if each.kind == "broker"]
        self._reasons = FencingReasons(after.source)
        self._chains.cross(image, place, f"found after a gap: {text}", brokers, self._reasons)
        self._terms.cross()
        if self._events is not None:
            events = self._events.all(ended, gap.from_offset)
            names = (f"{each.kind}:{each.label}" for each in found)
            events.append(gap_event(gap, f"{text}; {found_text(found)}", names, events))
            self._events = ReportEvents(image, gap.to_offset, gap.to_offset, self._reasons, events)
        self._effects = Effects(image)
        self._next = self._state_end = gap.to_offset
        self._gaps.append(gap)
        self._marks.clear()

    def until(
        self,
        timeline: Timeline,
        last: int,
        about: Callable[[], dict[str, Any]],
        progress: Progress = lambda offset: None,
        beside: Sequence[Beside] = (),
    ) -> Report:
        """Return the report up to offset `last`, which must not be lower than in the previous call.

        Args:
            timeline: A timeline of the same log.
            last: The report's last offset. It must be the last offset of a batch if `until` or
                `after` will be called again.
            about: Returns further fields of the header; called after the records were read.
            beside: Other readers, to which each batch is passed.

        Raises:
            CorruptLogError: a record contradicts the state before it; the `GrowingReport` must not
                be used again.
        """
        self._read(timeline.source, last, progress, beside)
        events = [] if self._events is None else self._events.all(timeline, last + 1)
        header, encoded = self._columns.encoded()
        header |= {"format": FORMAT, "terms": self._terms.found} | about()
        return self._packed(timeline, last, _START, header, encoded, events)

    def after(
        self,
        timeline: Timeline,
        known: int,
        last: int,
        about: Callable[[], dict[str, Any]],
        progress: Progress = lambda offset: None,
    ) -> Report | None:
        """Return the difference between the reports up to `last` and up to `known`.

        Args:
            known: Last offset of the earlier report of this range. It must be the last offset of a
                batch.
            last: As for `until`.

        Returns:
            None if the difference cannot be computed; call `until` instead.

        Raises:
            CorruptLogError: as for `until`.
        """
        self._reasons.move(timeline.source)
        if known >= self._next:
            self._read(timeline.source, known, progress)
        self._read(timeline.source, last, progress)
        mark = self._marks.get(known)
        if mark is None or not self._columns.can_go_on(mark.columns):
            return None
        if self._reasons.were_open(known):
            return None
        has_flaps, events = (
            (False, [])
            if self._events is None
            else self._events.changed(timeline.source, mark.events)
        )
        header, encoded = self._columns.encoded(mark.columns)
        # The last epoch that is known may have got its node, and lasts longer.
        terms = max(0, mark.terms - 1)
        header |= {"after": known, "terms": self._terms.found[terms:], "terms_at": terms}
        header |= {"flaps": has_flaps} | about()
        return self._packed(timeline, last, mark, header, encoded, events)

    def _packed(
        self,
        timeline: Timeline,
        last: int,
        since: _Mark,
        header: dict[str, Any],
        encoded: dict[str, bytes],
        events: Sequence[ReportEvent],
    ) -> Report:
        words, of_words = self._chains.encoded(since.chains)
        event_words, of_events = encoded_events(events)
        header |= words | event_words
        incident = self._incidents.found(last)
        opens = None if incident is None else incident[:2]
        header |= {
            "first": self._first,
            "history_from": self.start,
            "last": last,
            "opens": opens,
            "opens_on": None if incident is None else incident[2],
            "eventful": self._window.found,
            "gone": [[offset, *found] for offset, found in self._reasons.all_gone()],
            "times": self._times(timeline.source, last),
            "gaps": [
                [gap.from_offset, gap.to_offset, gap.from_time, gap.to_time] for gap in self._gaps
            ],
        }
        block = packed(self._redaction.mask(header), encoded | of_words | of_events)
        rows, changes = self._columns.rows - 1, self._columns.touches - self._before
        after = header.get("after")
        found = self._window.found
        gaps = tuple(self._gaps)
        return Report(self._first, last, rows, changes, found, opens, block, after, gaps)

    def _times(self, source: BatchSource, last: int) -> list[int]:
        if self._begin_ms is None:
            return _times(source, self._first, last)
        gap = self._gaps[-1]
        end = _times(source, last, last)[1] if last >= gap.to_offset else gap.to_time
        return [self._begin_ms, end]

    def _read(
        self, source: BatchSource, last: int, progress: Progress, beside: Sequence[Beside] = ()
    ) -> None:
        """Read the records up to offset `last`, and remember the position for `after`."""
        self._reasons.move(source)
        if last >= self._next:
            with explained(source):
                self._read_once(source, last + 1, progress, beside)
            self._next = self._state_end = last + 1
            if self._events is not None:
                self._events.end(source, last + 1)
        if self._events is not None:
            self._events.note_growth()
        events = EventsMark() if self._events is None else self._events.mark
        self._marks[last] = _Mark(
            self._columns.mark, self._chains.mark, events, len(self._terms.found)
        )
        if len(self._marks) > MARKS_MAX:
            del self._marks[next(iter(self._marks))]
            if self._events is not None:
                self._events.forget(next(iter(self._marks.values())).events)

    def _read_once(
        self, source: BatchSource, end: int, progress: Progress, beside: Sequence[Beside]
    ) -> None:
        """Read records once, for the columns, causes, events and terms.

        Causes are looked up in whole batches, so a batch is followed before its rows are added.
        """
        effects = self._effects_of(source, end, progress, beside)
        if not self._is_whole:
            for each in effects:
                self._add(each)
            return
        for _, of_batch in groupby(effects, key=lambda each: each.row.batch_offset):
            together = list(of_batch)
            self._chains.follow([each.row for each in together])
            for each in together:
                self._add(each)

    def _effects_of(
        self, source: BatchSource, end: int, progress: Progress, beside: Sequence[Beside]
    ) -> Iterator[Effect]:
        """Yield the records with their effects; pass each batch to the other readers."""
        events, first = self._events, min(self._next, self._state_end)
        if events is not None:
            first = min(first, events.next_offset)
        first = min([first, *(each.next_offset for each in beside)])
        for batch in source.batches(first, end):
            yield from self._effects.of_rows(rows_within(batch, self._state_end, end))
            if events is not None:
                if batch.end_offset > events.next_offset:
                    events.follow(batch, end)
                if batch.end_offset > self._next:
                    self._terms.add(batch)
            for each in beside:
                each.follow(batch)
            progress(batch.end_offset)

    def _add(self, effect: Effect) -> None:
        row, touched = effect.row, self._shown(effect)
        weight = weighed(effect, touched)
        self._window.add(weight)
        is_planned = False
        if touched:
            type_ = type(row.payload).__name__
            place = RowPlace(row.offset, effect.offset, row.timestamp, type_, row.origin)
            self._columns.add(place, touched)
            self._chains.add(row)
            is_planned = self._is_whole and self._chains.is_planned
        self._incidents.add(touched, row.batch_offset, weight, is_planned=is_planned)

    def _shown(self, effect: Effect) -> list[Touched]:
        touched = objects_changed(effect)
        return touched if self._is_whole else [*self._parts_shown(touched, effect.after)]

    def _parts_shown(self, touched: Iterable[Touched], after: MetadataImage) -> Iterable[Touched]:
        found = self._in_topics
        if found is None:
            return touched
        return (part for each in touched for part in found.of(each, after))


def _place_of(image: MetadataImage, start: int) -> RowPlace:
    found = image.provenance
    return RowPlace(start - 1, start - 1, found.timestamp or 0, "", None)


def _times(source: BatchSource, first: int, last: int) -> list[int]:
    """Return the append times of the first and the last offset of a range."""
    if first > last:
        return []
    (begin,), (end,) = ([*source.batches(at, at + 1)][:1] for at in (first, last))
    return [begin.times_at(first)[0], end.times_at(last)[1]]
