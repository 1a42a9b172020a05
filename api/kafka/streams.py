"""Frames on a stream: a length of four bytes and what it counts."""

import asyncio
import contextlib

from api.kafka.frames import FRAME_SIZE_BYTES_MAX, LENGTH, MalformedFrameError


async def read_frame(
    reader: asyncio.StreamReader, size_bytes_max: int = FRAME_SIZE_BYTES_MAX
) -> bytes | None:
    """Read one frame, without its length; None when the other side has ended.

    Raises:
        MalformedFrameError: the length is negative or above `size_bytes_max`; nothing was read
            behind it.
    """
    try:
        (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        if not 0 <= size <= size_bytes_max:
            raise MalformedFrameError(
                f"a frame of {size} bytes; 0 to {size_bytes_max} are taken: is this Kafka?"
            )
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, OSError):
        return None


async def close_writer(writer: asyncio.StreamWriter) -> None:
    """Close a stream, whatever state it is in."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
