"""Decompression of one zstandard frame in bounded memory."""

from collections import deque

import zstandard

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # before Python 3.14
    from backports import zstd

__all__ = ["decompress_frame", "zstd"]

_DESCRIPTOR = 4
# Frame_Content_Size_flag and Single_Segment_flag; the size is absent if none of them is set.
# Source: RFC 8878, section 3.1.1.1.1.
_SIZE_FLAGS = 0b1110_0000


# Making a decompressor takes ten times as long as a small frame. None is used by two threads at
# once: it is taken out while it is used.
_IDLE: deque[zstandard.ZstdDecompressor] = deque()


def decompress_frame(stored: bytes, size_bytes_max: int) -> bytes:
    """Return the content of exactly one frame whose header gives its size.

    The output takes `size_bytes_max` at most, whatever size the header claims: a few stored bytes
    can expand to gigabytes, in one frame or in many.

    Raises:
        ValueError: the frame is damaged, too large, of another size than its header gives, or
            followed by other bytes.
    """
    try:
        # Of an empty content nothing would be checked.
        if 0 < zstandard.frame_content_size(stored) <= size_bytes_max:
            return _decompress_fast(stored)
    except zstandard.ZstdError:
        pass  # the slower way knows the reason
    return _decompress_slowly(stored, size_bytes_max)


def _decompress_fast(stored: bytes) -> bytes:
    try:
        decompressor = _IDLE.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor()
    try:
        return decompressor.decompress(stored, allow_extra_data=False)
    finally:
        _IDLE.append(decompressor)


def _decompress_slowly(stored: bytes, size_bytes_max: int) -> bytes:
    """Decompress one frame as `decompress_frame` does, but let the output grow with the content."""
    decompressor = zstd.ZstdDecompressor()
    try:
        # One byte more than allowed, so that the decompressor also checks the checksum.
        content: bytes = decompressor.decompress(stored, max_length=size_bytes_max + 1)
        if not decompressor.eof or len(content) > size_bytes_max or not _names_size(stored):
            raise ValueError(_reason(stored, size_bytes_max))
    except zstd.ZstdError as error:
        raise ValueError(f"the zstandard frame is damaged: {error}") from error
    if decompressor.unused_data:
        raise ValueError(f"{len(decompressor.unused_data)} bytes follow the frame")
    return content


def _names_size(stored: bytes) -> bool:
    return bool(stored[_DESCRIPTOR] & _SIZE_FLAGS)


def _reason(stored: bytes, size_bytes_max: int) -> str:
    size = zstd.get_frame_info(stored).decompressed_size
    if size is None or size > size_bytes_max:
        return f"the frame claims {size} bytes, at most {size_bytes_max} are allowed"
    return f"the frame is cut short or holds more than the {size} bytes that it claims"
