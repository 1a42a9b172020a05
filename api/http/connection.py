"""HTTP/1.1 connections of uvicorn, within the connection limits of the process."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import httptools
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from api.http.events import PATH as EVENTS
from api.http.growth import PATH as GROWTH
from api.http.limits import (
    HEAD_SIZE_BYTES_MAX,
    LINGER_S,
    PIECE_SIZE_BYTES,
    UNSENT_BYTES_MAX,
    WRITE_STALL_S,
)
from api.http.request import (
    GUARDS,
    IS_RESERVED,
    MEMORY,
    PRINCIPAL,
    SEND_WHOLE,
    BodyMemory,
    http_date,
    refusal,
)
from api.security.principals import PrincipalMapping
from api.security.tls import peer_principal
from api.transport.connections import Connections, Place, Quota
from api.transport.log_limit import limited_logger
from records.errors import RequestError, UnavailableError

log = limited_logger(__name__)
# Clients can cause any number of its lines about invalid requests.
limited_logger("uvicorn.error")

_BETWEEN_BYTES = len(": \r\n")


class Connection(HttpToolsProtocol, asyncio.BufferedProtocol):
    """Answers the requests of one connection in order, one at a time."""

    def __init__(
        self,
        config: Config,
        state: ServerState,
        connections: Connections,
        quota: Quota,
        mapping: PrincipalMapping,
        buffer: memoryview,
    ) -> None:
        super().__init__(config=config, server_state=state, app_state={})
        self._buffer = buffer
        self._mapping = mapping
        self._all, self._quota = connections, quota
        self._place: Place | None = None
        self._memory: BodyMemory | None = None
        # Received, and read only once the requests before are answered.
        self._unread = b""
        self._head_bytes = 0
        # Since the parser last found anything.
        self._unparsed_bytes = 0
        self._is_receiving = self._is_in_body = False
        # Answered, and closed once the rest of the body is received.
        self._is_ending = False
        # Their answers are not complete; the first one's is in progress.
        self._cycles: deque[RequestResponseCycle] = deque()
        # Requests that are whole and wait for their answer.
        self._unanswered = 0
        self._stall: asyncio.TimerHandle | None = None
        # Of a client that sends nothing more, but may wait for answers.
        self._lingering: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=UNSENT_BYTES_MAX)
        try:
            self.app_state[PRINCIPAL] = peer_principal(transport, self._mapping)
            self._place = self._all.enter(self._quota, lambda _: self._abort())
            self.app_state[IS_RESERVED] = self._place.is_reserved
            self.app_state[MEMORY] = self._memory = BodyMemory(self._place)
        except (RequestError, UnavailableError) as error:
            name = ":".join(map(str, self.client or ("a unix socket",)))
            log.warning("%s: %s; the connection is closed", name, error)
            self._abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        if self._place is None:
            return
        if not self._unanswered:
            self._place.frame_begun()
        self._unread += data
        self._read()

    def eof_received(self) -> Any:
        """Return True to keep the connection until all received requests are answered.

        TLS has no half-closed connections. An event stream has no end, so a client with one is
        treated as disconnected.
        """
        is_asking = self._unanswered or self._unread
        is_following = any(cycle.scope["path"] in (EVENTS, GROWTH) for cycle in self._cycles)
        if self.scheme == "https" or not is_asking or is_following:
            return False
        if self._lingering is None:
            self._lingering = self.loop.call_later(LINGER_S, self._abort)
        return True

    def _read(self) -> None:
        """Parse received bytes until one request waits for the end of the request in progress."""
        while self._unread and not self.pipeline and not self.transport.is_closing():
            # In pieces, as each may hold many requests, and all of it is parsed at once.
            size = len(self._unread) if self._is_in_body else PIECE_SIZE_BYTES
            piece, self._unread = self._unread[:size], self._unread[size:]
            self._unparsed_bytes += len(piece)
            self._parse(piece)
            if self._unparsed_bytes > HEAD_SIZE_BYTES_MAX and not self.transport.is_closing():
                self.send_400_response("The head is too long.")
        if self._unread or self._has_untaken_body:
            self.flow.pause_reading()

    @property
    def _has_untaken_body(self) -> bool:
        """True if the received part of an incomplete body has not been taken by the handler yet."""
        return self._is_in_body and bool(self.cycle.body) and not self.cycle.response_complete

    def _parse(self, piece: bytes) -> None:
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            # What follows the head is a body to a server that does not upgrade, but requests to
            # this parser. RFC 9110, 7.8: `Upgrade` may be ignored.
            self._unread = self._head_without_upgrade() + piece[upgrade.args[0] :] + self._unread
            self.parser = httptools.HttpRequestParser(self)
        except httptools.HttpParserError:
            if not self.transport.is_closing():
                self.logger.warning("Invalid HTTP request received.")
                self.send_400_response("This is not HTTP/1.1.")

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode()
        kept = [b"%b: %b\r\n" % each for each in self.headers if each[0] != b"upgrade"]
        line = b"%b %b HTTP/%b\r\n" % (self.parser.get_method(), self.url, version)
        return b"".join([line, *kept, b"\r\n"])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = self._unparsed_bytes = 0
        self._is_receiving, self._is_in_body = True, False

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + _BETWEEN_BYTES)
        if not self._is_in_body:  # else a trailer, which nothing asks for
            super().on_header(name, value)

    def _count(self, size_bytes: int) -> None:
        self._unparsed_bytes = 0
        self._head_bytes += size_bytes
        if self._head_bytes > HEAD_SIZE_BYTES_MAX:
            # For the parser, which stops.
            raise ValueError(f"the head of a request has more than {HEAD_SIZE_BYTES_MAX} bytes")

    def on_headers_complete(self) -> None:
        if self._is_ending:
            raise ValueError(
                "the previous answer was the last on this connection"
            )  # for the parser, which stops
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise ValueError("this is no proxy")  # for the parser, which stops
            return  # it is read again without
        self.scope["state"][SEND_WHOLE] = self._send_whole
        # Each answer through uvicorn takes the headers that are the default now.
        self.server_state.default_headers = [*GUARDS, (b"date", http_date(int(time.time())))]
        is_old = self.parser.get_http_version() == "1.0"
        if is_old:
            # RFC 9110, 10.1.1: such clients do not know 100 Continue.
            self.expect_100_continue = False
        super().on_headers_complete()
        self.cycle.transport = AnswerWriter(
            self.transport, self.loop, self._close_behind, has_chunks=not is_old
        )
        self._cycles.append(self.cycle)
        if self.cycle.waiting_for_100_continue:
            # If it is refused, it need not send the body: the next request would be taken for it.
            self.cycle.keep_alive = False
        self._is_in_body = True

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._unparsed_bytes = 0

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        super().on_message_complete()
        self._is_receiving = self._is_in_body = False
        self._unparsed_bytes = 0
        if self._is_ending:
            self.transport.close()
        if self._place is None:
            return
        self._place.frame_ended()
        if not self.cycle.response_complete:
            self._unanswered += 1
            self._place.request_begun()

    async def _send_whole(self, head: bytes, body: bytes) -> None:
        """Send the response to the request in progress, as uvicorn does, but in one write."""
        cycle = self._cycles[0]
        if cycle.flow.write_paused:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        if b"\r\nconnection: close\r\n" in head:
            cycle.keep_alive = False
        elif not cycle.keep_alive:
            head += b"connection: close\r\n"
        if cycle.scope["method"] == "HEAD":
            body = b""
        head += b"date: %b\r\n" % http_date(int(time.time()))
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        assert isinstance(cycle.transport, AnswerWriter), "set once the head is read"
        cycle.transport.flush()  # 100 Continue may wait there
        self.transport.write(b"%b\r\n%b" % (head, body))
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()

    def on_response_complete(self) -> None:
        self._cycles.popleft()
        if self._unanswered and self._place is not None:
            self._unanswered -= 1
            self._place.request_ended()
            if self._is_receiving:
                self._place.frame_begun()
        # Not as uvicorn, whose timers of idle connections `Connections` replaces.
        if not self.transport.is_closing():
            self.flow.resume_reading()
            if self.pipeline:
                self._start_asgi_task(*self.pipeline.pop())
        self._read()
        if self._lingering is not None and not self._unanswered and not self._unread:
            self.transport.close()

    def _close_behind(self, answer: "AnswerWriter") -> None:
        # A client that still sends its body to a closed connection does not get the answer.
        is_of_newest = self.cycle.transport is answer
        if is_of_newest and self._is_in_body and not self.expect_100_continue:
            self._is_ending = True
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not valid HTTP.

        If a response is due or has begun, disconnect instead.
        """
        is_started = self.cycle is not None and self.cycle.response_started
        if self._unanswered or (is_started and not self.cycle.response_complete):
            self._abort()
            return
        words = f"this is not HTTP/1.1, or its head is above {HEAD_SIZE_BYTES_MAX} bytes"
        self.transport.write(refusal(words))
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self.loop.call_later(WRITE_STALL_S, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._end_stall()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_stall()
        if self._lingering is not None:
            self._lingering.cancel()
        if self._memory is not None:
            self._memory.disconnected()
        if self._place is not None:
            self._place.leave()
            self._place = None
        self._tell_handlers()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        # Only once: asyncio cannot abort a TLS connection that was closed twice.
        if not self.transport.is_closing():
            super().shutdown()

    def end(self) -> None:
        """Disconnect, even if a request is in progress."""
        self._tell_handlers()
        self._abort()

    def _tell_handlers(self) -> None:
        # uvicorn reports only that of the newest request, which may still wait for its turn.
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.message_event.set()

    def _end_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _abort(self) -> None:
        if self._place is not None:
            self._place.leave()
            self._place = None
        self.transport.abort()


class AnswerWriter(asyncio.Transport):
    """The transport of a connection, for one response.

    The head is sent together with the next part of the response, or alone if none is written before
    the next turn of the event loop.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        close: Callable[["AnswerWriter"], None],
        *,
        has_chunks: bool,
    ) -> None:
        """Create the writer of one response.

        Args:
            close: Called when the response is closed; ends the connection.
            has_chunks: False for a client of HTTP/1.0, to which the end of the connection marks the
                end of the body.
        """
        super().__init__()
        self._close = close
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None
        self._is_begun = False
        self._has_chunks = has_chunks
        self._is_unchunked = False

    def write(self, content: bytes | bytearray | memoryview) -> None:
        if self._is_unchunked:
            content = _without_size(bytes(content))
        if not self._is_begun:
            self._is_begun, self._head = True, bytes(content)
            if not self._has_chunks:
                self._head = self._head.replace(_CHUNKED, b"\r\n", 1)
                self._is_unchunked = len(self._head) < len(content)
            self._loop.call_soon(self.flush)
        elif self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head + content)
        else:
            self._transport.write(content)

    def flush(self) -> None:
        """Send the bytes that wait for the next part of the response."""
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self.flush()
        self._close(self)


_CHUNKED = b"\r\ntransfer-encoding: chunked\r\n"


def _without_size(written: bytes) -> bytes:
    """Return the content of one write of uvicorn, without the framing of chunks."""
    size, _, rest = written.partition(b"\r\n")
    return rest[: int(size, 16)] if size else b""
