"""Decompresses one zstandard frame in bounded memory."""

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # before Python 3.14
    from backports import zstd

__all__ = ["decompress_frame", "zstd"]


def decompress_frame(stored: bytes, size_bytes_max: int) -> bytes:
    """Return the content of exactly one frame that names its size.

    Everything is bounded by the size in the frame before anything is allocated: a few stored bytes
    can expand to gigabytes, in one frame or in many.

    Raises:
        ValueError: the frame is damaged, too large, of another size than it says, or followed by
            other bytes.
    """
    try:
        size = zstd.get_frame_info(stored).decompressed_size
        if size is None or size > size_bytes_max:
            raise ValueError(f"frame claims {size} bytes, at most {size_bytes_max} are allowed")
        decompressor = zstd.ZstdDecompressor()
        # One byte more than the frame names, so that the decompressor also checks the checksum.
        content: bytes = decompressor.decompress(stored, max_length=size + 1)
        if not decompressor.eof:
            raise ValueError(f"frame of {size} bytes is cut short, or holds more")
    except zstd.ZstdError as error:
        raise ValueError(f"zstandard frame is damaged: {error}") from error
    rest = len(decompressor.unused_data)
    if rest:
        raise ValueError(f"{rest} bytes follow the frame")
    return content
