"""Intact and lost parts of a damaged log, as a repair finds them."""

import msgspec


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
