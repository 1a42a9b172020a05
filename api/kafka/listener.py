"""The server side of Kafka connections.

The requests of a connection are started and answered in the order of arrival; up to PIPELINE_MAX
may be in flight. At that limit, reading pauses until a request has been answered.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Self

import msgspec

from api import limits
from api.acceptor import Acceptor
from api.callers import connected_caller
from api.connections import Connections, Place, Quota
from api.kafka import frames
from api.kafka.apis import API_VERSIONS, Api, by_key
from api.kafka.authentication import SASL_APIS, repeated_login
from api.kafka.errors import NONE
from api.kafka.features import Features, with_features
from api.kafka.fields import Response
from api.kafka.frames import (
    FRAME_SIZE_BYTES_MAX,
    RequestFrame,
    UnsupportedVersionError,
)
from api.kafka.identity import Identity
from api.kafka.streams import BufferedStream, Received, close_writer, receive_frame
from api.kafka.versions import unsupported_versions, versions_response
from api.log_limit import limited_logger
from api.security.errors import AuthenticationError
from api.security.listeners import OPEN, ListenerSecurity
from api.shutdown import unless_set
from controller.authorization.caller import Caller
from records.errors import FencedError, RequestError, UnavailableError

log = limited_logger(__name__)

PIPELINE_MAX = 64
"""Maximum of requests in flight per connection."""


Handler = Callable[[RequestFrame, Caller], Coroutine[None, None, Response | bytes | None]]
"""Handles a request. Returns the response, an encoded body, or None if the client wants no answer.
An exception ends the connection, so it must not raise errors that clients can cause."""

Takeover = Callable[
    [RequestFrame, Caller, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]
]
"""Takes over a connection after a request that changes its protocol."""


class Answering(msgspec.Struct, frozen=True, kw_only=True):
    """The request handlers of a listener, and predicates for requests with special treatment.

    `is_from_broker` returns True for requests that only brokers send; it is None if no broker
    connects to the listener. A connection on which such a request succeeded is not closed when
    there are too many connections. `is_question` returns True for read-only queries, which are
    cancelled when the client disconnects. `features` returns the feature levels for ApiVersions
    responses.
    """

    handlers: Mapping[Api, Handler]
    takeovers: Mapping[Api, Takeover] = {}
    is_from_broker: Callable[[RequestFrame], bool] | None = None
    is_question: Callable[[RequestFrame], bool] = lambda _: False
    features: Callable[[], Features] = Features
    frame_size_bytes_max: int = FRAME_SIZE_BYTES_MAX

    def apis(self) -> dict[int, Api]:
        """Return a dict of the supported requests by key."""
        return by_key([API_VERSIONS, *self.handlers, *self.takeovers])


class Listener:
    """Accepts Kafka connections on one address."""

    def __init__(
        self, answering: Answering, connections: Connections, security: ListenerSecurity = OPEN
    ) -> None:
        """Create a listener that does not accept connections yet; see also `Listener.start`."""
        self._answering = answering
        self._security = security
        self._connections = connections
        has_brokers = answering.is_from_broker is not None
        self._quota = Quota(
            name="Kafka",
            places_max=limits.KAFKA_CONNECTIONS_MAX,
            reserve=limits.BROKER_RESERVE if has_brokers else 0,
        )
        self._buffer = memoryview(bytearray(limits.RECEIVE_BUFFER_BYTES))
        self._tasks: set[asyncio.Task[None]] = set()
        self._acceptor: Acceptor | None = None

    @classmethod
    async def start(
        cls,
        answering: Answering,
        host: str,
        port: int,
        connections: Connections | None = None,
        security: ListenerSecurity = OPEN,
    ) -> Self:
        """Start accepting connections; with port 0, the system chooses the port.

        Args:
            connections: Connection limits, usually shared by all listeners of the process; None:
                this listener gets its own.
            security: TLS and the required authentication.

        Raises:
            UnavailableError: the address is in use or does not belong to this machine; or the
                process's limit of open files is too low.
        """
        listener = cls(answering, connections or Connections.of_process(), security)
        listener._acceptor = await Acceptor.listen(listener._protocol, host, port, security.tls)
        return listener

    @property
    def port(self) -> int:
        """The port on which the listener accepts connections."""
        assert self._acceptor is not None
        return self._acceptor.port

    def renew(self, tls: ssl.SSLContext | None) -> None:
        """Use another TLS context, with new certificates, for connections accepted from now on."""
        assert self._acceptor is not None
        self._acceptor.tls = tls

    async def close(self) -> None:
        """Stop accepting connections, and close the open ones."""
        assert self._acceptor is not None
        await self._acceptor.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _protocol(self) -> asyncio.BaseProtocol:
        return BufferedStream(self._buffer, self._connected)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def close(reason: str) -> None:
            log.info("%s: the connection is closed: %s", _address(writer), reason)
            writer.transport.abort()
            task.cancel()

        try:
            place = self._connections.enter(self._quota, close)
        except UnavailableError as error:
            log.warning("%s: %s", _address(writer), error)
            writer.close()
            return
        task = asyncio.create_task(
            answer(reader, writer, self._answering, place, self._security), name="kafka connection"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task cancelled before its first step would not close the connection itself.
        task.add_done_callback(lambda _: place.leave())
        task.add_done_callback(lambda _: writer.close())


async def answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    answering: Answering,
    place: Place | None = None,
    security: ListenerSecurity = OPEN,
) -> None:
    """Answer the requests of one connection until the connection ends, then close it.

    Args:
        place: The connection's place among the accepted connections; None if this side opened it.
    """
    address = _address(writer)
    if place is None:
        place = Connections().enter(Quota(name="own", places_max=1), lambda _: None)
    try:
        await _Conversation(reader, writer, answering, place, security).run()
    except ConnectionError:
        pass  # the other side disconnected
    except UnavailableError as error:
        log.info("%s: %s", address, error)  # usually the other side disconnected
    except AuthenticationError as error:
        log.warning("%s: authentication has failed: %s", address, error)
    except (FencedError, RequestError) as error:
        log.warning("%s: %s; the connection is closed", address, error)
    except Exception:
        log.exception("%s: a request could not be answered; the connection is closed", address)
    finally:
        place.leave()
        await close_writer(writer)


class _Conversation:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answering: Answering,
        place: Place,
        security: ListenerSecurity,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._answering = answering
        self._apis = answering.apis()
        if security.authenticator is not None:
            self._apis |= by_key(SASL_APIS)
        self._identity = Identity(reader, place, security, self._apis.values())
        # Why reading has ended, raised once everything before is answered.
        self._failure: AuthenticationError | None = None
        self._place = place
        self._answers: asyncio.Queue[asyncio.Task[bytes | None] | None] = asyncio.Queue(
            PIPELINE_MAX
        )
        # Set when the client sends nothing more.
        self._gone = asyncio.Event()

    async def run(self) -> None:
        if await self._identity.prove(self._writer.transport, self._send):
            await self._converse()

    async def _send(self, raw: bytes) -> None:
        self._writer.write(raw)
        await self._writer.drain()

    async def _send_in_turn(self, raw: bytes) -> None:
        await self._answers.put(asyncio.create_task(_ready(raw)))

    async def _converse(self) -> None:
        writing = asyncio.create_task(self._write(), name="kafka answers")
        reading = asyncio.create_task(self._read(), name="kafka requests")
        try:
            await asyncio.wait([writing, reading], return_when=asyncio.FIRST_COMPLETED)
            if writing.done():
                await writing  # raises the error that ended it
            takeover = await reading
            await writing
            if self._failure is not None:
                raise self._failure
            if takeover is not None:
                self._place.keep()
                self._place.request_begun()  # it never ends
                take_over = self._answering.takeovers[takeover.api]
                caller = self._identity.caller
                await self._identity.hold(take_over(takeover, caller, self._reader, self._writer))
        finally:
            for task in (reading, writing):
                task.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)
            while not self._answers.empty():
                left = self._answers.get_nowait()
                if left is not None:
                    left.cancel()

    async def _read(self) -> RequestFrame | None:
        """Start a handler for each request until reading ends, then notify the writer.

        Return the request that changes the connection's protocol, or None.
        """
        takeover = None
        try:
            takeover = await self._begin_requests()
        except AuthenticationError as error:
            self._failure = error
        if takeover is None:
            self._gone.set()
        await self._answers.put(None)
        return takeover

    async def _begin_requests(self) -> RequestFrame | None:
        """Read requests and start a handler for each, until the connection ends.

        A request that changes the connection's protocol is not handled but returned; None if the
        connection ended.
        """
        size_max = self._answering.frame_size_bytes_max
        while (received := await receive_frame(self._reader, size_max, self._place)) is not None:
            try:
                frame = frames.decode_request(received.raw, self._apis)
            except UnsupportedVersionError as error:
                if error.api != API_VERSIONS:
                    raise
                raw = unsupported_versions(self._apis.values(), error)
                await self._put(_ready(raw), received)
                continue
            self._check_reserved(frame)
            if self._identity.is_renewed_by(frame.api):
                if not await self._identity.renew(received, self._send_in_turn):
                    return None
                continue
            if frame.api in self._answering.takeovers:
                received.release()
                return frame
            await self._put(self._answer(frame), received)
        return None

    async def _put(
        self, answering: Coroutine[None, None, bytes | None], received: Received
    ) -> None:
        task = asyncio.create_task(answering)
        task.add_done_callback(lambda _: received.release())
        await self._answers.put(task)

    def _is_from_broker(self, frame: RequestFrame) -> bool:
        is_from_broker = self._answering.is_from_broker
        return is_from_broker is not None and is_from_broker(frame)

    def _check_reserved(self, frame: RequestFrame) -> None:
        """Refuse a client's request if the connection's place is reserved for brokers."""
        is_reserved = self._place.is_reserved and not self._place.is_kept
        if is_reserved and frame.api != API_VERSIONS and not self._is_from_broker(frame):
            raise RequestError(
                "REQUEST_TIMED_OUT", "all connections are in use but those reserved for brokers"
            )

    async def _answer(self, frame: RequestFrame) -> bytes | None:
        if frame.api == API_VERSIONS:
            found = versions_response(self._apis.values())
            body: Response | bytes | None = with_features(
                found, self._answering.features(), frame.version
            )
        elif frame.api in SASL_APIS:
            body = repeated_login(frame)
        else:
            caller = self._identity.caller.named(frame.client_id)
            body = await self._handled(frame, caller)
            if self._is_from_broker(frame) and _is_success(body):
                self._place.keep()
        if body is None:
            return None
        if isinstance(body, bytes):
            return frames.encode_raw_response(frame.api, frame.version, frame.correlation_id, body)
        return frames.encode_response(frame.api, frame.version, frame.correlation_id, body)

    async def _handled(self, frame: RequestFrame, caller: Caller) -> Response | bytes | None:
        handler = self._answering.handlers[frame.api]
        if self._answering.is_question(frame):
            return await unless_set(self._gone, handler(frame, caller))
        return await handler(frame, caller)

    async def _write(self) -> None:
        while (task := await self._answers.get()) is not None:
            raw = await task
            if raw is not None:
                self._writer.write(raw)
                await self._writer.drain()


def _is_success(body: Response | bytes | None) -> bool:
    return getattr(body, "error_code", NONE) == NONE


async def _ready(raw: bytes) -> bytes:
    return raw


def _address(writer: asyncio.StreamWriter) -> str:
    return connected_caller(writer.transport).address or "a closed connection"
