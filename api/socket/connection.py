"""Server side of one client's connection.

Reading pauses while too much is in flight (`InFlightLimit`), or while the client does not read
its answers, so a connection uses a bounded amount of memory.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from api.security.listeners import ListenerSecurity
from api.socket import limits
from api.socket.appends import correlation_id_of
from api.socket.authentication import ServerHandshake
from api.socket.frames import FrameError, FrameReader
from api.socket.handshake import agree, encode_welcome
from api.socket.in_flight import InFlight, InFlightLimit
from api.socket.refusals import CONNECTION, Refused, encode_refused
from api.socket.requests import Requests, SessionOf
from api.socket.schemas import layouts
from api.transport.connections import Connections, Place, Quota
from api.transport.log_limit import limited_logger
from api.transport.receive_budget import Share
from records.errors import MetadataLogError, RequestError, UnavailableError

_logger = limited_logger(__name__)


class Connection(asyncio.Protocol):
    """Starts requests in order, and sends each answer as soon as it is available.

    Attributes:
        done: A future that is done once the connection is lost and no request is in flight.
    """

    def __init__(
        self,
        session_of: SessionOf,
        cluster_id: str,
        server_limit: InFlightLimit,
        connections: Connections,
        quota: Quota,
        security: ListenerSecurity,
        connected: "Callable[[Connection], None]",
    ) -> None:
        """Create the protocol of a connection, which counts towards the limits once it is made.

        Args:
            connected: Called when the connection is made; never called if the TLS handshake fails.
        """
        self._connected = connected
        self._session_of = session_of
        self._connections = connections
        self._quota = quota
        self._place: Place | None = None
        # Memory for the frame being received, if it is large.
        self._share: Share | None = None
        self._cluster_id = cluster_id
        self._security = security
        # None until connected.
        self._handshake: ServerHandshake | None = None
        # A message of a login is being checked; nothing more is read meanwhile.
        self._is_checking = False
        own_limit = InFlightLimit(limits.CONNECTION_REQUESTS_MAX, limits.CONNECTION_BYTES_MAX)
        self._in_flight = InFlight((own_limit, server_limit), self._send, self._ended_one)
        self._loop = asyncio.get_running_loop()
        # Before the WELCOME only small frames are accepted.
        self._reader = FrameReader(limits.HELLO_SIZE_BYTES_MAX)
        self._transport: asyncio.Transport | None = None
        # Closes a client that is not welcome in time, whose session has ended, or that does not
        # disconnect after a goodbye.
        self._timer: asyncio.TimerHandle | None = None
        self._answers: list[bytes] = []
        # None until the WELCOME.
        self._requests: Requests | None = None
        # Set when the client sends nothing more: then nobody waits for the answers to questions.
        self._gone = asyncio.Event()
        # The client sends no more requests, or must not; those in flight are still answered.
        self._is_ending = False
        self._is_half_closed = False
        self._is_write_paused = False
        self._is_lost = False
        self.done: asyncio.Future[None] = self._loop.create_future()

    # From asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast: not every event loop derives its transports from asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=limits.UNSENT_BYTES_MAX)
        self._connected(self)
        self._set_timer(limits.HANDSHAKE_TIMEOUT_S, self._time_out)
        try:
            self._place = self._connections.enter(self._quota, self._give_way)
        except UnavailableError as error:
            self._refuse_place(error)
            return
        try:
            self._handshake = ServerHandshake(self._security, self._transport)
        except RequestError as error:
            self.refuse(error)

    def data_received(self, data: bytes) -> None:
        if self._is_ending or self._place is None:
            return
        self._reader.feed(data)
        if self._share is not None:
            self._place.received(self._share, len(data))
        self._read()

    def eof_received(self) -> bool:
        self._is_ending = self._is_half_closed = True
        self._gone.set()
        self._maybe_end()
        # Answers still go out; but TLS has no half-closed connections.
        return self._can_half_close

    def pause_writing(self) -> None:
        self._is_write_paused = True

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._read()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_lost = self._is_ending = True
        self._gone.set()
        self._stop_timer()
        if self._place is not None:
            self._place.leave()
        self._maybe_done()

    # For the server

    def refuse(self, error: MetadataLogError) -> None:
        """Send an error as the reason for accepting no more requests, then `finish`."""
        self._send(encode_refused(Refused(correlation_id=CONNECTION, error=error)))
        self.finish()

    def finish(self) -> None:
        """Stop accepting requests, answer those in flight, and disconnect."""
        self._is_ending = True
        if self._place is not None:
            self._place.frame_paused()
        self._maybe_end()

    def _refuse_place(self, error: UnavailableError) -> None:
        """Tell the client that all places are taken, and disconnect.

        If too many connections are being refused at the moment, disconnect without telling the
        client.
        """
        _logger.warning("the append socket refuses a connection: %s", error)
        if not self._connections.may_refuse():
            self.abort()
            return
        self.done.add_done_callback(lambda _: self._connections.refused())
        self.refuse(error)

    def _give_way(self, reason: str) -> None:
        """Send the reason for closing the connection; close it once all requests are answered."""
        if self._is_ending:
            self.abort()
            return
        self.refuse(UnavailableError(f"the server closed the connection: {reason}; connect again"))
        if not self._in_flight:
            self._close()

    def abort(self) -> None:
        """Disconnect immediately; requests in flight may still be committed."""
        assert self._transport is not None
        self._transport.abort()

    # Requests

    def _read(self) -> None:
        """Handle received frames until flow control requires a pause."""
        assert self._place is not None
        while not self._is_ending and not self._is_checking:
            if self._is_write_paused or self._in_flight.is_full(self._read):
                self._place.frame_paused()
                self._go_on_reading(self._share is not None and self._reader.size_wanted > 0)
                return
            try:
                content = self._reader.next_frame()
                if content is None:
                    self._go_on_reading(self._may_read_more())
                    return
                self._give_share_back()
                self._place.frame_ended()
                self._handle(content)
            except FrameError as error:
                self.refuse(RequestError("INVALID_REQUEST", str(error)))
            except RequestError as error:
                self.refuse(error)
            except Exception:
                self._fail()

    def _fail(self) -> None:
        _logger.exception("a frame could not be handled")
        self.refuse(UnavailableError("the server failed; the reason is in the server's log"))

    def _may_read_more(self) -> bool:
        """True unless the frame being received is large and has no memory reserved yet."""
        assert self._place is not None
        if self._reader.has_begun:
            self._place.frame_begun()
        size = self._reader.size_wanted
        if self._share is None and size and self._place.needs_share(size):
            self._share = self._place.ask_for_share(size, self._read)
            self._place.received(self._share, size - self._reader.missing)
        return self._share is None or self._share.is_granted

    def _give_share_back(self) -> None:
        # What is in flight is counted in the limits.
        if self._share is not None and self._place is not None:
            share, self._share = self._share, None
            self._place.give_back(share)

    def _go_on_reading(self, may_read: bool) -> None:
        assert self._transport is not None
        if may_read:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _handle(self, content: bytes) -> None:
        if self._requests is None:
            self._shake_hands(content)
            return
        correlation_id = correlation_id_of(content)
        try:
            answering = self._requests.read(content)
        except RequestError as error:
            self._send(encode_refused(Refused(correlation_id=correlation_id, error=error)))
            return
        assert self._place is not None
        self._in_flight.start(answering, correlation_id, len(content), self._place)

    def _ended_one(self) -> None:
        if self._is_ending:
            self._maybe_end()
            self._maybe_done()

    # The handshake

    def _shake_hands(self, content: bytes) -> None:
        handshake = self._handshake
        assert handshake is not None
        if handshake.hello is not None:
            self._is_checking = True
            self._go_on_reading(False)
            self._in_flight.start_login(self._check(handshake, content))
            return
        handshake.take_hello(content)
        if handshake.is_known:
            self._welcome(handshake)

    async def _check(self, handshake: ServerHandshake, content: bytes) -> None:
        """Answer a SASL message of the login, then continue reading."""
        try:
            self._send(await handshake.check(content))
            if handshake.is_known:
                self._welcome(handshake)
        except RequestError as error:
            self.refuse(error)
        except Exception:
            self._fail()
        finally:
            self._is_checking = False
        if not self._is_ending:
            self._read()

    def _time_out(self) -> None:
        if self._handshake is not None:
            self._handshake.time_out(limits.HANDSHAKE_TIMEOUT_S)
        self.abort()

    def _welcome(self, handshake: ServerHandshake) -> None:
        """Choose version and schema for an authenticated client, and send WELCOME.

        Raises:
            RequestError: UNSUPPORTED_VERSION or INCONSISTENT_CLUSTER_ID.
        """
        assert handshake.hello is not None
        welcome = agree(handshake.hello, self._cluster_id)
        assert welcome.schema is not None
        self._stop_timer()
        session = self._session_of(handshake.caller.named(handshake.hello.client_id))
        self._requests = Requests(session, layouts()[welcome.schema], self._gone)
        self._reader.size_bytes_max = limits.FRAME_SIZE_BYTES_MAX
        self._send(encode_welcome(welcome))
        if handshake.session_ms:
            self._set_timer(
                handshake.session_ms / 1_000, lambda: self._give_way("its session has ended")
            )

    # Answers

    def _send(self, answer: bytes) -> None:
        # A group commits many requests at once, so their answers share one write.
        self._answers.append(answer)
        if len(self._answers) == 1:
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        assert self._transport is not None
        if self._answers and not self._is_lost:
            self._transport.write(b"".join(self._answers))
        self._answers.clear()

    def _maybe_end(self) -> None:
        """Disconnect once all requests are answered.

        Closing a socket with unread bytes resets the connection and may lose the last answers. So
        the server only ends its own stream, and the client closes first, within a time limit.
        """
        if self._in_flight or self._is_lost:
            return
        assert self._transport is not None
        self._flush()
        if self._is_half_closed:
            self._close()
            return
        try:
            if self._can_half_close:
                self._transport.write_eof()
            else:
                self._close()  # TLS reads until the other side has closed
        except OSError:  # the client disconnected
            self.abort()
            return
        self._set_timer(limits.GOODBYE_TIMEOUT_S, self.abort)

    def _close(self) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            # Only once: asyncio cannot abort a TLS connection that was closed twice.
            self._transport.close()

    @property
    def _can_half_close(self) -> bool:
        return self._transport is not None and self._transport.can_write_eof()

    def _maybe_done(self) -> None:
        if self._is_lost and not self._in_flight and not self.done.done():
            self.done.set_result(None)

    def _set_timer(self, seconds: float, call: Callable[[], None]) -> None:
        self._stop_timer()
        self._timer = self._loop.call_later(seconds, call)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
