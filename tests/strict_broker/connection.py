"""A connection of a broker to a controller: one request at a time, versions negotiated first."""

import asyncio
import ssl
import struct
from dataclasses import dataclass, field

from tests.stand_in_quorum.wire import MalformedError, Reader, Writer
from tests.strict_broker.releases import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Release,
    Versions,
)
from tests.strict_broker.traps import BrokenError, Trap

UNSUPPORTED_VERSION = 35
REPLY_S = 2.0
"""Kafka's timeouts of a request and of a fetch, in the raft client."""


@dataclass(frozen=True)
class Entry:
    """How a broker enters the controllers' listener: with TLS, and with a login by SASL PLAIN."""

    tls: ssl.SSLContext | None = None
    user: str | None = None
    password: str = field(default="", repr=False)


@dataclass
class Connection:
    """An open connection, and the requests that its other side takes."""

    release: Release
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    reply_s: float
    versions: dict[int, Versions] = field(default_factory=dict)
    _correlation_id: int = 0

    @classmethod
    async def open(
        cls,
        address: tuple[str, int],
        release: Release,
        *,
        reply_s: float = REPLY_S,
        entry: Entry | None = None,
    ) -> "Connection":
        """Connect, log in and ask for the versions.

        Raises:
            OSError: Nobody accepts the connection.
            BrokenError: VERSION_REFUSAL, or UNEXPECTED_ERROR: The login is refused.
        """
        entry = entry or Entry()
        reader, writer = await asyncio.open_connection(*address, ssl=entry.tls)
        connection = cls(release, reader, writer, reply_s)
        try:
            await connection._negotiate()
            if entry.user is not None:
                await connection._log_in(entry.user, entry.password)
                await connection._negotiate()
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        self.writer.close()

    def version_of(self, key: int) -> int:
        """Return the newest version that both sides know.

        Raises:
            BrokenError: VERSION_MISSING.
        """
        ours, theirs = self.release.requests[key], self.versions.get(key, (0, -1))
        newest = min(ours[1], theirs[1])
        if newest < max(ours[0], theirs[0]):
            raise BrokenError(Trap.VERSION_MISSING, f"key {key}: {theirs} where {ours} is known")
        return newest

    async def ask(self, key: int, version: int, message: bytes, *, has_tags: bool = True) -> Reader:
        """Send a request and return a reader at the message of its answer.

        Raises:
            BrokenError: LATE or MALFORMED.
            OSError, EOFError: The connection broke.
        """
        self._correlation_id += 1
        header = Writer(is_flexible=has_tags).int16(key).int16(version).int32(self._correlation_id)
        header.raw(struct.pack(">h", 6) + b"strict").tags()
        frame = header.done() + message
        self.writer.write(struct.pack(">i", len(frame)) + frame)
        try:
            async with asyncio.timeout(self.reply_s):
                answer = await self._frame()
        except TimeoutError:
            raise BrokenError(Trap.LATE, f"key {key}: no answer in {self.reply_s} s") from None
        reader = Reader(answer, is_flexible=has_tags)
        if (found := reader.int32()) != self._correlation_id:
            raise BrokenError(Trap.MALFORMED, f"answer {found} to request {self._correlation_id}")
        if key != API_VERSIONS:
            reader.tags()
        return reader

    async def _frame(self) -> bytes:
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def _negotiate(self) -> None:
        version = self.release.requests[API_VERSIONS][1]
        body = Writer(is_flexible=True).string("strict").string("1").tags().done()
        reader = await self.ask(API_VERSIONS, version, body)
        error = reader.int16()
        if error == UNSUPPORTED_VERSION:
            version = self._version_of_refusal(reader)
            reader = await self.ask(API_VERSIONS, version, body if version >= 3 else b"")
            error = reader.int16()
        if error:
            raise BrokenError(Trap.UNEXPECTED_ERROR, f"ApiVersions: {error}")
        try:
            self.versions = _ranges(reader)
            reader.int32()  # throttle time
            reader.tags()
            reader.end()
        except MalformedError as bad:
            raise BrokenError(Trap.MALFORMED, f"ApiVersions {version}: {bad}") from None

    async def _log_in(self, user: str, password: str) -> None:
        mechanism = Writer(is_flexible=False).string("PLAIN").done()
        reader = await self.ask(SASL_HANDSHAKE, 1, mechanism, has_tags=False)
        if error := reader.int16():
            raise BrokenError(Trap.UNEXPECTED_ERROR, f"SaslHandshake: {error}")
        token = f"\0{user}\0{password}".encode()
        message = Writer(is_flexible=True).bytes_(token).tags().done()
        reader = await self.ask(SASL_AUTHENTICATE, 2, message)
        if error := reader.int16():
            raise BrokenError(Trap.UNEXPECTED_ERROR, f"SaslAuthenticate: {error}")

    def _version_of_refusal(self, reader: Reader) -> int:
        """Return the version to ask again with: the answer has the layout of version 0."""
        reader.is_flexible = False
        try:
            ranges = dict(reader.items(lambda: (reader.int16(), (reader.int16(), reader.int16()))))
            reader.end()
        except MalformedError as bad:
            raise BrokenError(Trap.VERSION_REFUSAL, str(bad)) from None
        if API_VERSIONS not in ranges:
            raise BrokenError(Trap.VERSION_REFUSAL, "it does not name ApiVersions")
        return min(ranges[API_VERSIONS][1], self.release.requests[API_VERSIONS][1])


def _ranges(reader: Reader) -> dict[int, Versions]:
    def item() -> tuple[int, Versions]:
        key, versions = reader.int16(), (reader.int16(), reader.int16())
        reader.tags()
        return key, versions

    return dict(reader.items(item))
