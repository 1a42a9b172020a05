"""Decompression of record batches with bounded output.

gzip and zstd come from libraries. snappy and LZ4 are small formats and are decoded here: records
are only expanded to look up times, which is too rare to ask for two more libraries.

Source: RFC 1952, RFC 8878; google/snappy format_description.txt, and the framing of snappy-java;
lz4_Block_format.md and lz4_Frame_format.md.
"""

import struct
import sys
import zlib
from collections.abc import Callable
from typing import Any

from records.errors import CorruptLogError

if sys.version_info >= (3, 14):
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]
else:
    from backports import zstd

_GZIP = 31
"""Window bits of zlib that ask for a gzip header."""

_SNAPPY_JAVA = b"\x82SNAPPY\0"
_SNAPPY_JAVA_HEADER_SIZE = 16
_BLOCK_SIZE = struct.Struct(">i")

_LZ4_MAGIC = 0x184D2204
_LZ4_START = struct.Struct("<IBB")
_LZ4_BLOCK_SIZE = struct.Struct("<I")
_LZ4_PLAIN = 1 << 31
_LZ4_BLOCK_CHECKSUM, _LZ4_CONTENT_SIZE, _LZ4_DICTIONARY = 0x10, 0x08, 0x01
_LZ4_MATCH_MIN = 4


def decompressed(content: bytes, codec: str | None, size_max: int) -> bytes:
    """Return the bytes of compressed content.

    Args:
        codec: gzip, snappy, lz4 or zstd; None for content that is not compressed.
        size_max: Bytes that may come out.

    Raises:
        CorruptLogError: the content is damaged, more comes out, or the codec is unknown.
    """
    if codec is None:
        return content
    if codec not in _DECODERS:
        raise CorruptLogError(f"compression {codec} is not known")
    try:
        return _DECODERS[codec](content, size_max)
    except (IndexError, struct.error):
        raise CorruptLogError(f"the {codec} content is cut short") from None
    except (zlib.error, zstd.ZstdError) as error:
        raise CorruptLogError(f"the {codec} content is damaged: {error}") from error


def _gzip(content: bytes, size_max: int) -> bytes:
    return _by_library(lambda: zlib.decompressobj(_GZIP), content, size_max)


def _zstd(content: bytes, size_max: int) -> bytes:
    return _by_library(zstd.ZstdDecompressor, content, size_max)


def _by_library(decoder: Callable[[], Any], content: bytes, size_max: int) -> bytes:
    """Expand gzip members or zstd frames that follow each other."""
    out = bytearray()
    while content:
        member = decoder()
        # One byte more than allowed tells "exactly full" from "too large".
        out += member.decompress(content, size_max + 1 - len(out))
        _check_size(len(out), size_max)
        if not member.eof:
            raise CorruptLogError("the compressed content is cut short")
        content = member.unused_data
    return bytes(out)


def _snappy(content: bytes, size_max: int) -> bytes:
    out = bytearray()
    if not content.startswith(_SNAPPY_JAVA):
        _snappy_block(content, out, size_max)
        return bytes(out)
    position = _SNAPPY_JAVA_HEADER_SIZE
    while position < len(content):
        (size,) = _BLOCK_SIZE.unpack_from(content, position)
        position += _BLOCK_SIZE.size
        if not 0 < size <= len(content) - position:
            raise CorruptLogError(f"a snappy block of {size} bytes")
        _snappy_block(content[position : position + size], out, size_max)
        position += size
    return bytes(out)


def _snappy_block(block: bytes, out: bytearray, size_max: int) -> None:
    """Append one block: its size, then literals and copies of what came before in it."""
    size, position = _snappy_size(block)
    start = len(out)
    end = start + size
    _check_size(end, size_max)
    while position < len(block):
        tag = block[position]
        position += 1
        kind, length = tag & 3, tag >> 2
        if kind == 0:
            if length >= 60:
                count = length - 59
                length = int.from_bytes(_taken(block, position, count), "little")
                position += count
            length += 1
            out += _taken(block, position, length)
            position += length
        else:
            if kind == 1:
                offset = (tag >> 5) << 8 | block[position]
                length = (length & 7) + 4
                position += 1
            else:
                count = 2 if kind == 2 else 4
                offset = int.from_bytes(_taken(block, position, count), "little")
                length += 1
                position += count
            _copy(out, offset, length, start)
        if len(out) > end:
            raise CorruptLogError("a snappy block is larger than it says")
    if len(out) != end:
        raise CorruptLogError("the snappy content is cut short")


def _snappy_size(block: bytes) -> tuple[int, int]:
    size = 0
    for index in range(5):
        size |= (block[index] & 0x7F) << 7 * index
        if not block[index] & 0x80:
            return size, index + 1
    raise CorruptLogError("a snappy block whose size does not end")


def _lz4(content: bytes, size_max: int) -> bytes:
    """Expand one frame. Checksums are passed over: the batch has one over all."""
    magic, flags, _ = _LZ4_START.unpack_from(content)
    if magic != _LZ4_MAGIC or flags & _LZ4_DICTIONARY:
        raise CorruptLogError("the content is no LZ4 frame that can be read")
    position = _LZ4_START.size + (8 if flags & _LZ4_CONTENT_SIZE else 0) + 1
    out = bytearray()
    while True:
        (word,) = _LZ4_BLOCK_SIZE.unpack_from(content, position)
        position += _LZ4_BLOCK_SIZE.size
        if word == 0:
            return bytes(out)
        size = word & ~_LZ4_PLAIN
        block = _taken(content, position, size)
        if word & _LZ4_PLAIN:
            out += block
            _check_size(len(out), size_max)
        else:
            _lz4_block(block, out, size_max)
        position += size + (4 if flags & _LZ4_BLOCK_CHECKSUM else 0)


def _lz4_block(block: bytes, out: bytearray, size_max: int) -> None:
    """Append one block: literals, then a copy of what came before, again and again."""
    position = 0
    while True:
        token = block[position]
        length, position = _lz4_length(block, position + 1, token >> 4)
        out += _taken(block, position, length)
        position += length
        _check_size(len(out), size_max)
        if position == len(block):
            return  # the last sequence has literals only
        offset = block[position] | block[position + 1] << 8
        length, position = _lz4_length(block, position + 2, token & 15)
        _check_size(len(out) + length + _LZ4_MATCH_MIN, size_max)
        _copy(out, offset, length + _LZ4_MATCH_MIN, 0)


def _lz4_length(block: bytes, position: int, length: int) -> tuple[int, int]:
    if length < 15:
        return length, position
    while True:
        more = block[position]
        position += 1
        length += more
        if more < 255:
            return length, position


def _copy(out: bytearray, offset: int, length: int, start: int) -> None:
    """Repeat bytes that lie `offset` before the end; they may reach into what is being written."""
    first = len(out) - offset
    if offset == 0 or first < start:
        raise CorruptLogError(f"a copy from {offset} bytes before the end of {len(out)}")
    if offset >= length:
        out += out[first : first + length]
    else:
        piece = out[first:]
        out += (piece * (length // offset + 1))[:length]


def _taken(content: bytes, position: int, count: int) -> bytes:
    taken = content[position : position + count]
    if len(taken) < count:
        raise IndexError(position)
    return taken


def _check_size(size: int, size_max: int) -> None:
    if size > size_max:
        raise CorruptLogError(f"the records expand to more than {size_max} bytes")


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "snappy": _snappy,
    "lz4": _lz4,
    "zstd": _zstd,
}
