"""The server side of one Kafka connection.

The requests of a connection take effect in the order of arrival: as in Kafka, each begins once the
preceding request has its answer. Requests whose handlers keep the order may overlap, and no request
waits for a question of our own (`DispatchTable.turn`). Up to PIPELINE_MAX requests may be received
and not answered; at that limit, reading pauses until a request has been answered.
"""

import asyncio
from collections.abc import Coroutine
from functools import partial

from api.kafka import frames
from api.kafka.apis import API_VERSIONS, by_key
from api.kafka.authentication import SASL_APIS, repeated_login
from api.kafka.dispatch import DispatchTable
from api.kafka.errors import NONE
from api.kafka.features import with_features
from api.kafka.fields import Response
from api.kafka.frames import (
    RequestFrame,
    UnsupportedVersionError,
)
from api.kafka.identity import Identity
from api.kafka.request_order import RequestOrder, Turn
from api.kafka.streams import Received, close_writer, receive_frame, write_in_turns
from api.kafka.versions import unsupported_versions, versions_response
from api.large_work import LARGE_BYTES, beside
from api.security.callers import connected_caller
from api.security.errors import AuthenticationError
from api.security.listeners import OPEN, ListenerSecurity
from api.transport.connections import Connections, Place, Quota
from api.transport.log_limit import limited_logger
from api.transport.shutdown import cancel_all, unless_set
from controller.authorization.caller import Caller
from records.errors import FencedError, RequestError, UnavailableError

log = limited_logger(__name__)

PIPELINE_MAX = 64
"""Maximum of requests per connection that are received and not answered."""

_Parts = tuple[bytes, ...]
"""The parts of a frame, to be sent one after the other."""


async def answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    dispatch: DispatchTable,
    place: Place | None = None,
    security: ListenerSecurity = OPEN,
) -> None:
    """Answer the requests of one connection until the connection ends, then close it.

    Args:
        place: The connection's place among the accepted connections; None if this side opened it.
    """
    address = address_of(writer)
    if place is None:
        place = Connections().enter(Quota(name="own", places_max=1), lambda _: None)
    try:
        await _Conversation(reader, writer, dispatch, place, security).run()
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
        dispatch: DispatchTable,
        place: Place,
        security: ListenerSecurity,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._dispatch = dispatch
        self._apis = dispatch.apis()
        if security.authenticator is not None:
            self._apis |= by_key(SASL_APIS)
        self._identity = Identity(reader, place, security, self._apis.values())
        # Why reading has ended, raised once everything before is answered.
        self._failure: AuthenticationError | None = None
        self._place = place
        self._answers: asyncio.Queue[asyncio.Task[_Parts | None] | None] = asyncio.Queue(
            PIPELINE_MAX
        )
        self._order = RequestOrder()
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
                take_over = self._dispatch.takeovers[takeover.api]
                caller = self._identity.caller
                await self._identity.hold(take_over(takeover, caller, self._reader, self._writer))
        finally:
            await cancel_all(reading, writing)
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
        size_max = self._dispatch.frame_size_bytes_max
        while (received := await receive_frame(self._reader, size_max, self._place)) is not None:
            try:
                frame = await self._decoded(received.raw)
            except UnsupportedVersionError as error:
                if error.api != API_VERSIONS:
                    raise
                raw = unsupported_versions(self._apis.values(), error)
                await self._put(_ready(raw), received, Turn.ALONE)
                continue
            self._check_reserved(frame)
            if self._identity.is_renewed_by(frame.api):
                if not await self._identity.renew(received, self._send_in_turn):
                    return None
                continue
            if frame.api in self._dispatch.takeovers:
                received.release()
                return frame
            # The caller as of now: the client may log in again before the request's turn.
            response = self._answer(frame, self._identity.caller.named(frame.client_id))
            await self._put(response, received, self._dispatch.turn(frame))
        return None

    async def _decoded(self, raw: bytes) -> RequestFrame:
        unlimited = self._dispatch.unlimited
        return await beside(len(raw), lambda: frames.decode_request(raw, self._apis, unlimited))

    async def _put(
        self,
        response: Coroutine[None, None, _Parts | None],
        received: Received,
        turn: Turn,
    ) -> None:
        task = self._order.begin(response, turn)
        task.add_done_callback(lambda _: received.release())
        await self._answers.put(task)

    def _is_from_broker(self, frame: RequestFrame) -> bool:
        is_from_broker = self._dispatch.is_from_broker
        return is_from_broker is not None and is_from_broker(frame)

    def _check_reserved(self, frame: RequestFrame) -> None:
        """Refuse a client's request if the connection's place is reserved for brokers."""
        is_reserved = self._place.is_reserved and not self._place.is_kept
        if is_reserved and frame.api != API_VERSIONS and not self._is_from_broker(frame):
            raise RequestError(
                "REQUEST_TIMED_OUT",
                "all connections except those for brokers are in use; try again later",
            )

    async def _answer(self, frame: RequestFrame, caller: Caller) -> _Parts | None:
        if frame.api == API_VERSIONS:
            found = versions_response(self._apis.values())
            body: Response | bytes | None = with_features(
                found, self._dispatch.features(), frame.version
            )
        elif frame.api in SASL_APIS:
            body = repeated_login(frame)
        else:
            body = await self._handled(frame, caller)
            if self._is_from_broker(frame) and _is_success(body):
                self._place.keep()
        if body is None:
            return None
        place = frame.api, frame.version, frame.correlation_id
        if not isinstance(body, bytes):
            response = partial(frames.encode_response, *place, body)
            return (await beside(len(frame.raw), response),)
        if len(body) <= LARGE_BYTES:
            return (frames.encode_raw_response(*place, body),)
        return frames.response_start(*place, len(body)), body  # not copied

    async def _handled(self, frame: RequestFrame, caller: Caller) -> Response | bytes | None:
        handler = self._dispatch.handlers[frame.api]
        if self._dispatch.is_question(frame):
            return await unless_set(self._gone, handler(frame, caller))
        return await handler(frame, caller)

    async def _write(self) -> None:
        while (task := await self._answers.get()) is not None:
            for part in await task or ():
                await write_in_turns(self._writer, part)


def _is_success(body: Response | bytes | None) -> bool:
    return getattr(body, "error_code", NONE) == NONE


async def _ready(raw: bytes) -> _Parts:
    return (raw,)


def address_of(writer: asyncio.StreamWriter) -> str:
    return connected_caller(writer.transport).address or "a closed connection"
