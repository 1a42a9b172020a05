"""Results of inspecting a log: damage with its place, and harmless notes."""

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Damage, or a harmless note, with its place in a file.

    `byte` is the position in the file where the finding begins. `end_byte` (exclusive) is where
    readable bytes begin again; None if none follow in this file. `from_offset` is the first offset
    affected, None if it is not known or the file has no records.
    """

    file: str
    byte: int
    what: str
    remedy: str
    end_byte: int | None = None
    from_offset: int | None = None


class Inspection(msgspec.Struct, kw_only=True):
    """Result of inspecting a log: the findings, the log's offsets, and how much was examined."""

    damage: list[Finding] = []
    notes: list[Finding] = []
    segments: int = 0
    blocks: int = 0
    records: int = 0
    size_bytes: int = 0
    history_start: int = 0
    # End of what is committed, exclusive; None if neither slot of the mark is valid.
    end_offset: int | None = None
