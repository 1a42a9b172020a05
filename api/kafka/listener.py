"""The side of a connection that answers.

Requests of one connection are begun in the order in which they came and answered in that order,
while several are under way. Too many, and no more are read until some are answered.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Self

import msgspec

from api.kafka import frames
from api.kafka.apis import API_VERSIONS, Api, by_key
from api.kafka.errors import CODES
from api.kafka.fields import Response
from api.kafka.frames import (
    FRAME_SIZE_BYTES_MAX,
    RequestFrame,
    UnsupportedVersionError,
)
from api.kafka.messages.api_versions import ApiVersion, ApiVersionsResponse
from api.kafka.streams import close_writer, read_frame
from records.errors import FencedError, RequestError, UnavailableError

log = logging.getLogger(__name__)

PIPELINE_MAX = 64
"""Requests of one connection that are under way at once."""

CONNECTIONS_MAX = 1_000


class Asker(msgspec.Struct, frozen=True):
    """Who sent a request: the address, and the name that the client gives itself."""

    address: str
    client_id: str | None


Handler = Callable[[RequestFrame, Asker], Awaitable[Response | None]]
"""Answers a request; None: the sender wants no answer. It must not raise what a client can cause:
an error that leaves it ends the connection."""

Takeover = Callable[[RequestFrame, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Goes on with a connection after a request that is no longer answered like others."""


class Answering(msgspec.Struct, frozen=True, kw_only=True):
    """What is answered, and by whom."""

    handlers: Mapping[Api, Handler]
    takeovers: Mapping[Api, Takeover] = {}
    frame_size_bytes_max: int = FRAME_SIZE_BYTES_MAX

    def apis(self) -> dict[int, Api]:
        """Return the requests that are taken, by key."""
        return by_key([API_VERSIONS, *self.handlers, *self.takeovers])


class Listener:
    """Takes connections on one address."""

    def __init__(self, answering: Answering) -> None:
        """Nothing is taken before `start`."""
        self._answering = answering
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @classmethod
    async def start(cls, answering: Answering, host: str, port: int) -> Self:
        """Begin to take connections; port 0 lets the system choose.

        Raises:
            UnavailableError: the address is taken, or not of this machine.
        """
        listener = cls(answering)
        try:
            listener._server = await asyncio.start_server(listener._connected, host, port)
        except OSError as error:
            raise UnavailableError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        return listener

    @property
    def port(self) -> int:
        """The port that is listened on."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Take no more connections, and end those there are."""
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:
            log.warning("%d connections are open; one more is refused", CONNECTIONS_MAX)
            writer.close()
            return
        task = asyncio.create_task(answer(reader, writer, self._answering), name="kafka connection")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        # A task that is cancelled before its first step closes nothing by itself.
        task.add_done_callback(lambda _: writer.close())


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answering: Answering
) -> None:
    """Answer the requests of one connection until it ends, and close it."""
    address = _address(writer)
    try:
        await _Conversation(reader, writer, answering, address).run()
    except ConnectionError:
        pass  # the other side has gone
    except UnavailableError as error:
        log.info("%s: %s", address, error)  # mostly the other side has gone
    except (FencedError, RequestError) as error:
        log.warning("%s: %s; the connection is closed", address, error)
    except Exception:
        log.exception("%s: a request could not be answered; the connection is closed", address)
    finally:
        await close_writer(writer)


class _Conversation:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answering: Answering,
        address: str,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._answering = answering
        self._apis = answering.apis()
        self._address = address
        self._answers: asyncio.Queue[asyncio.Task[bytes | None] | None] = asyncio.Queue(
            PIPELINE_MAX
        )

    async def run(self) -> None:
        writing = asyncio.create_task(self._write(), name="kafka answers")
        reading = asyncio.create_task(self._read(), name="kafka requests")
        try:
            await asyncio.wait([writing, reading], return_when=asyncio.FIRST_COMPLETED)
            if writing.done():
                await writing  # raises what ended it
            takeover = await reading
            await writing
            if takeover is not None:
                take_over = self._answering.takeovers[takeover.api]
                await take_over(takeover, self._reader, self._writer)
        finally:
            for task in (reading, writing):
                task.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)
            while not self._answers.empty():
                left = self._answers.get_nowait()
                if left is not None:
                    left.cancel()

    async def _read(self) -> RequestFrame | None:
        """Begin requests; after the last one tell the writer, who may have gone before."""
        takeover = await self._begin_requests()
        await self._answers.put(None)
        return takeover

    async def _begin_requests(self) -> RequestFrame | None:
        """Begin requests until the connection ends or changes hands."""
        size_max = self._answering.frame_size_bytes_max
        while (raw := await read_frame(self._reader, size_max)) is not None:
            try:
                frame = frames.decode_request(raw, self._apis)
            except UnsupportedVersionError as error:
                if error.api != API_VERSIONS:
                    raise
                # Asked in a version from the future: the answer of version 0 says what there is.
                refusal = versions_response(self._apis.values(), CODES["UNSUPPORTED_VERSION"])
                raw = frames.encode_response(API_VERSIONS, 0, error.correlation_id, refusal)
                await self._answers.put(asyncio.create_task(_ready(raw)))
                continue
            if frame.api in self._answering.takeovers:
                return frame
            await self._answers.put(asyncio.create_task(self._answer(frame)))
        return None

    async def _answer(self, frame: RequestFrame) -> bytes | None:
        if frame.api == API_VERSIONS:
            body: Response | None = versions_response(self._apis.values())
        else:
            asker = Asker(self._address, frame.client_id)
            body = await self._answering.handlers[frame.api](frame, asker)
        if body is None:
            return None
        return frames.encode_response(frame.api, frame.version, frame.correlation_id, body)

    async def _write(self) -> None:
        while (task := await self._answers.get()) is not None:
            raw = await task
            if raw is not None:
                self._writer.write(raw)
                await self._writer.drain()


async def _ready(raw: bytes) -> bytes:
    return raw


def versions_response(apis: Iterable[Api], error_code: int = 0) -> ApiVersionsResponse:
    """Return what ApiVersions is answered with, by a listener that takes these requests."""
    ranges = [
        ApiVersion(api_key=api.key, min_version=api.min_version, max_version=api.max_version)
        for api in sorted(apis, key=lambda api: api.key)
    ]
    return ApiVersionsResponse(error_code=error_code, api_keys=tuple(ranges))


def _address(writer: asyncio.StreamWriter) -> str:
    name = writer.get_extra_info("peername")
    return f"{name[0]}:{name[1]}" if name else "a closed connection"
