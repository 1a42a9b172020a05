"""Client and server of version 1 of the append socket, frozen.

They use none of the current code, so that a change of it cannot go unnoticed. The rows are bytes
that a release before version 2 wrote. Never change this file.
"""

import asyncio
import struct
from typing import Any

import msgspec

SCHEMA = "436b62573fc3297a"
"""The one schema that version 1 was ever spoken with."""

NOTE = bytes.fromhex(
    "000000000002021c557365723a414e4f4e594d4f55530204723102026800"
    "0000000000004c0006616e6e0c6265666f7265"
)
"""One row: a note by `ann` that says `before`, with the request id `r1`."""

_APPEND = struct.Struct(">BBQqqI")
_APPENDED = struct.Struct(">BQqqiq")
_REFUSED = struct.Struct(">BQ")


def framed(content: bytes) -> bytes:
    """Return content with its length in front."""
    return struct.pack(">I", len(content)) + content


def texts(body: bytes) -> dict[str, str | None]:
    """Read a body like version 1 does: anything other than texts ends the connection."""
    return msgspec.msgpack.decode(body, type=dict[str, str | None])


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Return the next frame without its length."""
    (size,) = struct.unpack(">I", await reader.readexactly(4))
    return await reader.readexactly(size)


class Client:
    """A client of version 1 that waits for each answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Not called directly: use `connect`."""
        self._reader, self._writer = reader, writer
        self._last_id = 0

    @classmethod
    async def connect(cls, port: int, cluster_id: str) -> "Client":
        """Send HELLO, and check the answer like version 1 did."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = msgspec.msgpack.encode({"schema": SCHEMA, "cluster_id": cluster_id})
        writer.write(framed(b"\x01MLGS\x01" + body))
        content = await read_frame(reader)
        assert content[:2] == b"\x02\x01", "no welcome of version 1"
        assert texts(content[2:])["cluster_id"] == cluster_id
        return cls(reader, writer)

    async def append(
        self, rows: bytes, *, expected_end_offset: int | None = None
    ) -> dict[str, Any]:
        """Append one row; return the fields of the answer."""
        self._last_id += 1
        flags, expected = (0, 0) if expected_end_offset is None else (1, expected_end_offset)
        head = _APPEND.pack(3, flags, self._last_id, expected, 0, 1)
        self._writer.write(framed(head + rows))
        content = await read_frame(self._reader)
        if content[0] == 4:
            assert len(content) == _APPENDED.size
            _, number, base, end, epoch, time = _APPENDED.unpack(content)
            answer = {"base_offset": base, "end_offset": end, "leader_epoch": epoch, "time": time}
        else:
            assert content[0] == 5
            _, number = _REFUSED.unpack_from(content)
            answer = dict(texts(content[_REFUSED.size :]))
        assert number == self._last_id
        return answer

    async def close(self) -> None:
        """Disconnect."""
        self._writer.close()
        await self._writer.wait_closed()


class Server:
    """A server of version 1 for one connection: keeps the rows, refuses a wrong expected end
    offset.

    Attributes:
        rows: The rows of each append, as they were sent.
    """

    def __init__(self) -> None:
        self.rows: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until the client disconnects."""
        hello = await read_frame(reader)
        assert hello[:5] == b"\x01MLGS"
        assert hello[5] > 0
        assert texts(hello[6:])["schema"] == SCHEMA
        welcome = msgspec.msgpack.encode({"cluster_id": "of-before"})
        writer.write(framed(b"\x02" + bytes([min(1, hello[5])]) + welcome))
        while True:
            try:
                content = await read_frame(reader)
            except asyncio.IncompleteReadError:
                break
            writer.write(framed(self._answer(content)))

    def _answer(self, content: bytes) -> bytes:
        kind, flags, number, expected, _, count = _APPEND.unpack_from(content)
        assert (kind, count) == (3, 1), "no append of version 1"
        end = len(self.rows)
        if flags & 1 and expected != end:
            said = {
                "family": "request",
                "code": "INVALID_UPDATE_VERSION",
                "message": f"the log ends at {end}",
            }
            return _REFUSED.pack(5, number) + msgspec.msgpack.encode(said)
        self.rows.append(content[_APPEND.size :])
        return _APPENDED.pack(4, number, end, end + 1, 1, 1_700_000_000_000)
