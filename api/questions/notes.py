"""Notes: texts that people pinned to offsets."""

from collections.abc import Iterable
from operator import attrgetter

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question
from records.control import NoteRecord
from replay.image.fields import copied
from replay.image.notes import Note


class ListNotes(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the notes about offsets from `first` to `last`, inclusive; None: to the end."""

    first: int = 0
    last: int | None = None


def notes_listed(past: Past, at: int, request: ListNotes) -> Computed:
    """Return the notes that were written up to an offset, ordered by the offset they are about."""
    with past.progress("reading", at + 1) as advance:
        written = past.timeline.notes(at, advance)
    found = notes_about(written, request.first, request.last)
    return Computed(items=iter(found), about=lambda: past.about(at))


def notes_about(written: Iterable[NoteRecord], first: int, last: int | None) -> list[Note]:
    """Return the notes about a range of offsets, ordered by offset."""
    found = {
        copied(note, Note)
        for note in written
        if first <= note.at_offset and (last is None or note.at_offset <= last)
    }
    return sorted(found, key=attrgetter("at_offset", "author", "text"))


NOTES = Question(name="notes list", request=ListNotes, item=Note, tell=notes_listed)
