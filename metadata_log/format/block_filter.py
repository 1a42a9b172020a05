"""A filter of one segment: tells which runs of its blocks lack the records that are searched for.

It only makes searching faster. An entry counts only for the bytes for which it was written, whose
CRC it has. So a damaged, outdated or foreign filter changes no answer and hides no damage; without
a filter every block is searched.
"""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.files.fs import ByteStore, read_start
from metadata_log.files.names import filter_name

MAGIC = b"MLFILTR1"
_FIXED = struct.Struct(">qqqqqqIIIQI")
_FIRST_AND_LAST = struct.Struct(f">q{_FIXED.size - 12}xI")
_CRC = struct.Struct(">I")
# Enough for a segment of several GB; blocks after that are searched.
_READ_BYTES_MAX = 64 * 1024 * 1024


class BlockRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Consecutive blocks of a segment, and what their records are about.

    Attributes:
        last_position: Start byte of the last block; `last_base_offset` is that block's offset.
        previous_crc32c: CRC-32C of the block before the run, `last_crc32c` that of the last block,
            and `content_crc32c` that of all bytes of the run.
        types: The bits of the records' types.
        tokens: The tokens of the records.
    """

    position: int
    end_position: int
    base_offset: int
    end_offset: int
    last_position: int
    last_base_offset: int
    previous_crc32c: int
    last_crc32c: int
    content_crc32c: int
    types: int
    tokens: bytes

    def encode(self) -> bytes:
        """Return the entry in the encoding of the filter file."""
        *numbers, tokens = msgspec.structs.astuple(self)
        body: bytes = _FIXED.pack(*numbers, len(tokens)) + tokens
        return body + _CRC.pack(google_crc32c.value(body))


*_NUMBERS, _TOKENS = BlockRun.__struct_fields__
assert _TOKENS == "tokens"


class BlockFilter:
    """The entries of a filter file; each is decoded and checked when it is asked for."""

    def __init__(self, data: bytes) -> None:
        """Take the content of a filter file; empty if the segment has none."""
        self._data = data
        self._entries = dict(_places(data))

    def at(self, position: int) -> BlockRun | None:
        """Return the run that begins at a byte of the segment."""
        entry = self._entries.get(position)
        return None if entry is None else _decoded(self._data, entry)

    def below(self, position: int) -> Sequence[BlockRun]:
        """Return the runs that end at or before byte `position` of the segment."""
        runs = (_decoded(self._data, entry) for entry in self._entries.values())
        return [run for run in runs if run is not None and run.end_position <= position]


def read_filter(fs: ByteStore, directory: Path, base_offset: int) -> BlockFilter:
    """Read the filter of a segment; empty if there is none."""
    try:
        data = read_start(fs, directory / filter_name(base_offset), _READ_BYTES_MAX)
    except FileNotFoundError:
        data = b""
    return BlockFilter(data)


def _places(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield for each entry the byte at which its run begins, and its own in the file; unchecked."""
    at = len(MAGIC)
    while data.startswith(MAGIC) and at + _FIXED.size <= len(data):
        position, size = _FIRST_AND_LAST.unpack_from(data, at)
        yield position, at
        at += _FIXED.size + size + _CRC.size


def _decoded(data: bytes, at: int) -> BlockRun | None:
    """Return an entry; None if it is damaged or incomplete."""
    *numbers, size = _FIXED.unpack_from(data, at)
    end = at + _FIXED.size + size
    body = data[at:end]
    if data[end : end + _CRC.size] != _CRC.pack(google_crc32c.value(body)):
        return None
    return BlockRun(**dict(zip(_NUMBERS, numbers, strict=True)), tokens=body[_FIXED.size :])
