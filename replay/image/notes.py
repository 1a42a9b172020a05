"""Notes that operators attached to offsets."""

import msgspec

from records.control import NoteRecord
from replay.image.changes import MapDelta


class Note(msgspec.Struct, frozen=True, gc=False):
    """A note; writing the same one twice has no effect."""

    at_offset: int
    author: str
    text: str


class NotesDelta(MapDelta[Note, Note]):
    """Changes to the set of notes."""

    def add(self, record: NoteRecord) -> None:
        """Add a note to the set."""
        note = Note(record.at_offset, record.author, record.text)
        self.put(note, note)
