"""Notes that operators attached to offsets."""

import msgspec

from records.control import NoteRecord
from replay.image.changes import MapDelta
from replay.image.fields import copied


class Note(msgspec.Struct, frozen=True, gc=False):
    """A note; writing an identical note again has no effect."""

    at_offset: int
    author: str
    text: str


class NotesDelta(MapDelta[tuple[int, str, str], Note]):
    """Changes to the set of notes; the key is the whole note (offset, author, text)."""

    def add(self, record: NoteRecord) -> None:
        """Add a note to the set."""
        self.put((record.at_offset, record.author, record.text), copied(record, Note))
