"""Which bytes of a damaged log are intact, and which are lost."""

import msgspec


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of the source that are not in the copy.

    `from_offset` is the first offset they held or should have held, None if it is not known.
    `readable` means that they are whole blocks, left out only because they come after damage.
    """

    file: str
    byte: int
    end_byte: int
    from_offset: int | None
    why: str
    readable: bool = False


class IntactEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Where the copy ends so far, in its last segment."""

    segment_offset: int
    position: int
    end_offset: int
    last_crc32c: int
    max_timestamp: int | None
    leader_epoch: int
    schema_json: str = ""
    holds_batches: bool = False
