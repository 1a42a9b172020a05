"""What an inspection of a log finds: damage with its place, and notes on what is harmless."""

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not as it must be, or a note.

    `byte` is the position in the file, `end_byte` (exclusive) where the bytes read well again, None
    when they do not in this file. `from_offset` is the first offset concerned, None when it is not
    known or the file holds no records.
    """

    file: str
    byte: int
    what: str
    remedy: str
    end_byte: int | None = None
    from_offset: int | None = None


class Inspection(msgspec.Struct, kw_only=True):
    """All findings in a log, and how much was looked at."""

    damage: list[Finding] = []
    notes: list[Finding] = []
    segments: int = 0
    blocks: int = 0
    records: int = 0
    size_bytes: int = 0
    history_start: int = 0
    # End of what is committed, exclusive; None when neither slot of the mark is whole.
    end_offset: int | None = None
