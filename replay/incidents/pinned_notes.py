"""Notes in a timeline: each note becomes an event at the offset that the note is about."""

from collections.abc import Iterable, Iterator

from records.control import NoteRecord
from replay.incidents.event import NOTES, TimelineEvent, in_order
from replay.loader import BatchSource


def with_notes(
    events: Iterable[TimelineEvent],
    notes: Iterable[NoteRecord],
    source: BatchSource,
    from_offset: int,
    to_offset: int,
) -> list[TimelineEvent]:
    """Return events and the notes about offsets in [from_offset, to_offset), in order."""
    pinned = note_events(notes, source, from_offset, to_offset)
    return in_order([*events, *pinned])


def note_events(
    notes: Iterable[NoteRecord], source: BatchSource, from_offset: int, to_offset: int
) -> Iterator[TimelineEvent]:
    """Yield the notes about offsets in [from_offset, to_offset) as events."""
    first = max(from_offset, source.start_offset)
    return _events((note for note in notes if first <= note.at_offset < to_offset), source)


def _events(notes: Iterable[NoteRecord], source: BatchSource) -> Iterator[TimelineEvent]:
    for note in notes:
        at = note.at_offset
        (row, *_) = next(iter(source.batches(at, at + 1))).rows
        yield TimelineEvent(
            from_offset=at,
            to_offset=at,
            time=row.timestamp,
            kind=NOTES,
            text=f"note: {note.text}",
            objects=(),
            cause=None,
            principal=note.author,
        )
