"""Events of a report, encoded: all of them, or only those that are new or changed.

Every event has a key: 3 times its number, plus 0 for a flap, 1 for a group of records, or 2 for a
note. Events with the same first record are sorted by kind in this order, then by number.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from metadata_log.format.batch import Batch
from metadata_log.format.parts import Gap
from records.control import NoteRecord
from replay.image.metadata import MetadataImage
from replay.incidents.event import Group, TimelineEvent
from replay.incidents.events import GrowingEvents
from replay.incidents.fencing_reasons import FencingReasons
from replay.incidents.pinned_notes import note_events
from replay.loader import BatchSource
from replay.report import varints
from replay.report.gaps import GAP
from replay.timeline import Timeline

_FLAP, _GROUP, _NOTE = range(3)


class ReportEvent(NamedTuple):
    """An event with its key; `known` is the number of its objects that the reader already has."""

    key: int
    event: TimelineEvent
    known: int = 0


class EventsMark(NamedTuple):
    """Position in growing `ReportEvents`: the numbers of reads, absences and notes so far."""

    growths: int = 0
    absences: int = 0
    notes: int = 0


class ReportEvents:
    """The events of a range that can be extended."""

    def __init__(
        self,
        image: MetadataImage,
        from_offset: int,
        first: int,
        reasons: FencingReasons,
        earlier: Sequence[ReportEvent] = (),
    ) -> None:
        """Start with the image before `first`; the arguments are those of `GrowingEvents`.

        Args:
            earlier: The events of the earlier parts of a recording, and of the gaps after them.
        """
        self._earlier = earlier
        self._number = next_number(earlier)
        self._written: dict[NoteRecord, None] = {}
        self._from_offset = from_offset
        self._events = GrowingEvents(image, from_offset, first, self._write, reasons)
        self._forgotten = 0
        # Of each growth, by the numbers of the groups that it changed: the objects before.
        self._growths: list[dict[int, int]] = []
        # By the number of each group.
        self._groups: list[Group] = []
        self._objects: list[int] = []

    @property
    def next_offset(self) -> int:
        """The first offset that was not read yet."""
        return self._events.next_offset

    def follow(self, batch: Batch, to_offset: int) -> None:
        """Read the next batch up to `to_offset`, exclusive.

        Raises:
            ContradictionError: a record contradicts the state before it.
        """
        self._events.follow(batch, to_offset)

    def end(self, source: BatchSource, to_offset: int) -> None:
        """Complete the events of the records read, all up to `to_offset`, exclusive."""
        self._events.end(source, to_offset)

    def note_growth(self) -> None:
        """Record which groups changed since the last call, for a later call of `changed`."""
        changed: dict[int, int] = {}
        for group in sorted(self._events.changed_groups(), key=lambda group: group.number):
            if group.number == len(self._groups):
                self._groups.append(group)
                self._objects.append(0)
            changed[group.number] = self._objects[group.number]
            self._objects[group.number] = len(group.names)
        self._growths.append(changed)

    @property
    def mark(self) -> EventsMark:
        """Position after the records read so far, for a later call of `changed`."""
        growths = self._forgotten + len(self._growths)
        return EventsMark(growths, self._events.absences, len(self._written))

    def forget(self, before: EventsMark) -> None:
        """Free data that only earlier positions need; `changed` no longer accepts these."""
        count = before.growths - self._forgotten
        del self._growths[:count]
        self._forgotten += max(0, count)

    def all(self, timeline: Timeline, to_offset: int) -> list[ReportEvent]:
        """Return all events, in order."""
        notes: Iterable[NoteRecord] = self._written
        if to_offset != timeline.source.end_offset:
            notes = timeline.notes_about(to_offset)  # also those that were written later
        groups = (self._event(each.number, _GROUP, each.event()) for each in self._groups)
        events = [
            *self._earlier,
            *self._flaps(),
            *groups,
            *self._notes(timeline.source, notes, to_offset),
        ]
        return sorted(events, key=lambda each: each.event.from_offset)

    def changed(self, source: BatchSource, since: EventsMark) -> tuple[bool, list[ReportEvent]]:
        """Return the events that are new or changed since a position.

        Returns:
            True if the flaps changed, and the events. If the flaps changed, all flaps are
            included. Any other changed event comes with only its new objects.
        """
        known: dict[int, int] = {}
        for growth in reversed(self._growths[since.growths - self._forgotten :]):
            known |= growth
        grown = [
            self._event(number, _GROUP, self._groups[number].event(), objects)
            for number, objects in known.items()
        ]
        has_flaps = self._events.absences != since.absences
        new = islice(self._written, since.notes, None)
        notes = self._notes(source, new, source.end_offset, since.notes)
        return has_flaps, [*(self._flaps() if has_flaps else ()), *grown, *notes]

    def _write(self, note: NoteRecord) -> None:
        if note.at_offset >= self._from_offset:
            self._written[note] = None

    def _flaps(self) -> Iterator[ReportEvent]:
        for number, event in enumerate(self._events.flaps()):
            yield self._event(number, _FLAP, event)

    def _notes(
        self, source: BatchSource, notes: Iterable[NoteRecord], to_offset: int, first: int = 0
    ) -> Iterator[ReportEvent]:
        numbered = enumerate(note_events(notes, source, self._from_offset, to_offset), first)
        return (self._event(number, _NOTE, event) for number, event in numbered)

    def _event(self, number: int, kind: int, event: TimelineEvent, known: int = 0) -> ReportEvent:
        return ReportEvent(3 * (self._number + number) + kind, event, known)


def gap_event(
    gap: Gap, text: str, names: Iterable[str], earlier: Sequence[ReportEvent]
) -> ReportEvent:
    """Return the event for a gap, with the names of the objects found changed after it."""
    event = TimelineEvent(
        from_offset=gap.from_offset,
        to_offset=gap.to_offset - 1,
        time=gap.to_time if gap.from_time is None else gap.from_time,
        kind=GAP,
        text=text,
        objects=tuple(names),
        cause=None,
        principal=None,
    )
    return ReportEvent(3 * next_number(earlier) + _GROUP, event)


def next_number(events: Sequence[ReportEvent]) -> int:
    """Return a number above those of some events."""
    return max((each.key // 3 + 1 for each in events), default=0)


def _origin(event: TimelineEvent) -> tuple[Any, ...]:
    by_people = event.by_people is True
    return event.principal, event.reason, event.client, _asked(event), by_people


def _asked(event: TimelineEvent) -> tuple[tuple[int, str | None], ...]:
    """Return offset and principal of each earlier record that requested the event's changes."""
    return tuple([(each.offset, each.principal) for each in event.asked or ()])


def encoded_events(report_events: Sequence[ReportEvent]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return header fields and columns of events; the header lists each object name once."""
    names: dict[str, int] = {}
    texts: dict[str, int] = {}
    origins: dict[tuple[Any, ...], int] = {(None, None, None, (), False): 0}
    kinds: dict[str, int] = {}
    events = [each.event for each in report_events]
    numbers = [
        [names.setdefault(name, len(names)) for name in each.event.objects[each.known :]]
        for each in report_events
    ]
    columns = {
        "event_key": varints.unsigned(each.key for each in report_events),
        "event_from": varints.deltas(event.from_offset for event in events),
        "event_to": varints.unsigned(event.to_offset - event.from_offset for event in events),
        "event_time": varints.deltas(event.time for event in events),
        "event_kind": varints.unsigned(kinds.setdefault(e.kind, len(kinds)) for e in events),
        "event_text": varints.unsigned(texts.setdefault(e.text, len(texts)) for e in events),
        "event_cause": varints.unsigned(0 if e.cause is None else e.cause + 1 for e in events),
        "event_origin": varints.unsigned(
            origins.setdefault(_origin(e), len(origins)) for e in events
        ),
        "event_objects": varints.unsigned(len(found) for found in numbers),
        "event_object": varints.deltas(number for found in numbers for number in found),
    }
    header = {
        "names": list(names),
        "event_texts": list(texts),
        "event_kinds": list(kinds),
        "event_origins": list(origins),
    }
    return header, columns
