"""Decompression of record batches with bounded output."""

import zlib
from collections.abc import Callable
from typing import Any

import cramjam
import lz4.frame

from metadata_log.format.zstd_frame import zstd
from records.errors import CorruptLogError

_CHUNK_SIZE_BYTES = 4 * 1024
"""Size of the pieces of input that are decompressed at once. Each frame copies the rest of its
piece, so small pieces keep even megabytes of empty frames cheap."""

_GZIP = 31
"""zlib's window bits for input with a gzip header."""

# snappy-java has a framing of its own: magic, two versions, then each block after its length.
_SNAPPY_JAVA = b"\x82SNAPPY\0"
_SNAPPY_JAVA_HEADER_SIZE = 16
_BLOCK_LENGTH_SIZE = 4


def decompressed(content: bytes, codec: str | None, size_max: int) -> bytes:
    """Return the decompressed content.

    Args:
        codec: gzip, snappy, lz4 or zstd; None for content that is not compressed.
        size_max: Maximum size of the result in bytes.

    Raises:
        CorruptLogError: the content is damaged, the result is too large, or the codec is unknown.
    """
    if codec is None:
        return content
    if codec not in _DECODERS:
        raise CorruptLogError(f"compression {codec} is not known")
    try:
        return _DECODERS[codec](content, size_max)
    except (zlib.error, zstd.ZstdError, cramjam.DecompressionError, RuntimeError) as error:
        raise CorruptLogError(f"the {codec} content is damaged: {error}") from error


def _gzip(content: bytes, size_max: int) -> bytes:
    return _frames(lambda: zlib.decompressobj(_GZIP), content, size_max)


def _zstd(content: bytes, size_max: int) -> bytes:
    return _frames(zstd.ZstdDecompressor, content, size_max)


def _lz4(content: bytes, size_max: int) -> bytes:
    return _frames(lz4.frame.LZ4FrameDecompressor, content, size_max)


def _frames(decoder: Callable[[], Any], content: bytes, size_max: int) -> bytes:
    """Decompress consecutive gzip members, zstd frames, or LZ4 frames."""
    out = bytearray()
    frame = None
    for start in range(0, len(content), _CHUNK_SIZE_BYTES):
        chunk = content[start : start + _CHUNK_SIZE_BYTES]
        while chunk:
            if frame is None or frame.eof:
                frame = decoder()
            # One byte more than allowed, to tell "exactly full" from "too large".
            out += frame.decompress(chunk, size_max + 1 - len(out))
            _check_size(len(out), size_max)
            chunk = frame.unused_data or b""
    if frame is not None and not frame.eof:
        raise CorruptLogError("the compressed content is cut short")
    return bytes(out)


def _snappy(content: bytes, size_max: int) -> bytes:
    if not content.startswith(_SNAPPY_JAVA):
        return _snappy_block(content, size_max)
    out = bytearray()
    position = _SNAPPY_JAVA_HEADER_SIZE
    while position < len(content):
        start = position + _BLOCK_LENGTH_SIZE
        position = start + int.from_bytes(content[position:start], "big")
        if position > len(content):
            raise CorruptLogError("the snappy content is cut short")
        out += _snappy_block(content[start:position], size_max - len(out))
    return bytes(out)


def _snappy_block(block: bytes, size_max: int) -> bytes:
    # snappy allocates the size that a block claims, so check it first.
    _check_size(cramjam.snappy.decompress_raw_len(block), size_max)
    return bytes(cramjam.snappy.decompress_raw(block))


def _check_size(size: int, size_max: int) -> None:
    if size > size_max:
        raise CorruptLogError(f"the records expand to more than the {size_max} bytes allowed")


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "snappy": _snappy,
    "lz4": _lz4,
    "zstd": _zstd,
}
