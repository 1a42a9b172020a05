"""JSON form of a list of notes."""

import msgspec

from replay.image.notes import Note


class NoteList(msgspec.Struct, frozen=True, kw_only=True):
    """Notes, ordered by the offset that they are about."""

    notes: tuple[Note, ...]
