"""Frames on a stream: each is a length of four bytes, then as many bytes of content."""

import asyncio
from collections.abc import Callable

from api.kafka.frames import FRAME_SIZE_BYTES_MAX, LENGTH, MalformedFrameError
from api.transport import limits
from api.transport.connections import Place
from api.transport.receive_budget import Share

_PART_BYTES = 256 * 1024
"""Bytes written in one turn of the event loop, which takes less than a millisecond."""


async def read_frame(
    reader: asyncio.StreamReader, size_bytes_max: int = FRAME_SIZE_BYTES_MAX
) -> bytes | None:
    """Return the next frame without its length prefix; None at the end of the stream.

    Raises:
        MalformedFrameError: the length is negative or above `size_bytes_max`; only the length was
            read.
    """
    try:
        size = _size(await reader.readexactly(LENGTH.size), size_bytes_max)
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, OSError):
        return None


class Received:
    """A received frame, which uses a share of the memory budget until `release`."""

    def __init__(self, raw: bytes, place: Place, share: Share | None) -> None:
        """Create the frame, and count it as a request in flight."""
        self.raw = raw
        self._place = place
        self._share = share
        self._counted_bytes = 0 if share is not None else len(raw)
        place.request_begun(self._counted_bytes)

    def release(self) -> None:
        """Free the frame's share of the memory budget, after the request was answered."""
        self._place.request_ended(self._counted_bytes)
        if self._share is not None:
            self._place.give_back(self._share)


async def receive_frame(
    reader: asyncio.StreamReader, size_bytes_max: int, place: Place
) -> Received | None:
    """Read one frame within the connection's memory limits; None at the end of the stream.

    Raises:
        MalformedFrameError: as `read_frame`.
    """
    try:
        first = await reader.readexactly(1)
        place.frame_begun()
        size = _size(first + await reader.readexactly(LENGTH.size - 1), size_bytes_max)
        share = await _share_for(size, place) if place.needs_share(size) else None
        raw = await _read(reader, size, place, share)
    except (asyncio.IncompleteReadError, OSError):
        return None
    place.frame_ended()
    return Received(raw, place, share)


def _size(raw: bytes, size_bytes_max: int) -> int:
    (size,) = LENGTH.unpack(raw)
    if not 0 <= size <= size_bytes_max:
        raise MalformedFrameError(
            f"the frame has {size} bytes; 0 to {size_bytes_max} are allowed: does the other side "
            "speak Kafka's protocol?"
        )
    return int(size)


async def _share_for(size: int, place: Place) -> Share:
    granted = asyncio.Event()
    share = place.ask_for_share(size, granted.set)
    if not share.is_granted:
        await granted.wait()
    return share


async def _read(
    reader: asyncio.StreamReader, size: int, place: Place, share: Share | None
) -> bytes:
    if share is None:
        return await reader.readexactly(size)
    raw = bytearray()
    while len(raw) < size:
        part = await reader.read(size - len(raw))
        if not part:
            raise asyncio.IncompleteReadError(b"", size)
        raw += part
        place.received(share, len(part))
    return bytes(raw)


class BufferedStream(asyncio.StreamReaderProtocol, asyncio.BufferedProtocol):
    """A stream that receives through one small buffer, shared by all connections of a listener.

    A plain asyncio stream reads up to 256 KiB at a time, so each connection could have that many
    unread bytes in memory.
    """

    def __init__(
        self,
        buffer: memoryview,
        connected: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None],
    ) -> None:
        """Create the stream; `connected` is called once the connection is open."""
        super().__init__(asyncio.StreamReader(limits.STREAM_BYTES_MAX), connected)
        self._buffer = buffer

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next bytes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Copy the received bytes out of the buffer, before another connection uses it."""
        self.data_received(bytes(self._buffer[:nbytes]))


async def write_in_turns(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Write all bytes and wait until most are sent; the event loop serves others in between."""
    if len(data) <= _PART_BYTES:
        writer.write(data)
        await writer.drain()
        return
    view = memoryview(data)
    for start in range(0, len(data), _PART_BYTES):
        writer.write(view[start : start + _PART_BYTES])
        await writer.drain()
        await asyncio.sleep(0)  # a client that reads at once never makes `drain` wait


async def close_writer(writer: asyncio.StreamWriter) -> None:
    """Close a stream in any state; abort it if closing takes too long or is cancelled."""
    if not writer.is_closing():
        # Only once: asyncio cannot abort a TLS connection that was closed twice.
        writer.close()
    try:
        async with asyncio.timeout(limits.CLOSE_TIMEOUT_S):
            await writer.wait_closed()
    except OSError:
        pass  # the other side disconnected, or takes too long
    finally:
        writer.transport.abort()
