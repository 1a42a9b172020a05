"""Results of an inspection or repair: damage and notes with their places, and the intact part."""

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

    def add_damage(self, what: str, remedy: str) -> None:
        """Add damage that has no place in a file."""
        self.damage.append(Finding(file="", byte=0, what=what, remedy=remedy))

    def add_note(self, what: str, remedy: str, *, file: str = "") -> None:
        """Add a note on a file, or on the whole log."""
        self.notes.append(Finding(file=file, byte=0, what=what, remedy=remedy))


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of the source that are not in the copy.

    `from_offset` is the first offset that these bytes contain or should contain, None if it is not
    known. `readable` is True if the bytes are valid blocks, left out only because they follow
    damage.
    """

    file: str
    byte: int
    end_byte: int
    from_offset: int | None
    why: str
    readable: bool = False


class IntactEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the intact blocks copied so far: its place, and values of the last block."""

    segment_offset: int
    position: int
    end_offset: int
    last_crc32c: int
    max_timestamp: int | None
    leader_epoch: int
    schema_json: str = ""
    holds_batches: bool = False
