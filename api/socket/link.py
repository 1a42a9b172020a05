"""The client's side of a connection: sends frames, and matches answers by correlation id."""

import asyncio
from typing import Any, cast

from api.security.client import PLAIN_TEXT, ConnectionSecurity
from api.security.tls import ended_after_handshake
from api.socket import limits
from api.socket.appends import decode_appended
from api.socket.authentication import ClientHandshake
from api.socket.frames import FrameError, FrameReader, Kind
from api.socket.handshake import (
    Welcome,
    check_welcome,
    decode_welcome,
    encode_hello,
    hello_of_client,
)
from api.socket.refusals import CONNECTION, decode_refused
from api.socket.runs import decode_ran
from api.transport.addresses import disconnected, unanswered
from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError


class Link(asyncio.Protocol):
    """A connection's protocol: sends frames and passes answers to the requests that wait for them.

    Attributes:
        lost: A future that is done once the connection is lost.
        writable: An event that is set while the transport's buffer has room.
    """

    def __init__(self, address: str, security: ConnectionSecurity = PLAIN_TEXT) -> None:
        """Create the protocol, in a running event loop; `address` is used in error messages."""
        self._address = address
        self._login = ClientHandshake(security.login, address)
        self._has_tls = security.tls is not None
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(limits.ANSWER_SIZE_BYTES_MAX)
        self._transport: asyncio.Transport | None = None
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        # The reason why nothing more can be sent; None while it can.
        self._end: MetadataLogError | None = None
        self._welcome: asyncio.Future[Welcome] = self._loop.create_future()
        # Set by `finish` where a connection cannot be half-closed.
        self._is_closing = False
        self.lost: asyncio.Future[None] = self._loop.create_future()
        self.writable = asyncio.Event()
        self.writable.set()

    @property
    def is_open(self) -> bool:
        """True if requests can still be sent."""
        return self._end is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast: not every event loop derives its transports from asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while (content := self._reader.next_frame()) is not None:
                self._handle(content)
        except FrameError as error:
            self._fail(
                UnavailableError(f"{self._address} does not speak the socket protocol: {error}")
            )
            self.abort()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, error: Exception | None) -> None:
        if self._welcome.done():
            self._fail(disconnected(self._address))
        elif self._has_tls:
            self._fail(ended_after_handshake(self._address))
        else:
            schemes = ("kafka", "ssl", "sasl_ssl", "socket+ssl", "socket+sasl_ssl")
            self._fail(unanswered(self._address, *schemes))
        self.lost.set_result(None)

    async def greet(self, cluster_id: str | None, client_id: str | None) -> Welcome:
        """Send HELLO and the login; return the WELCOME. On any error, disconnect.

        Raises:
            UnavailableError, RequestError: as `SocketClient.connect`.
        """
        self.send(encode_hello(hello_of_client(cluster_id, client_id, self._login.mechanism)))
        self._send_login(self._login.first())
        try:
            return await self._welcome
        except BaseException:
            self.abort()
            raise

    def request(self, correlation_id: int, content: bytes) -> asyncio.Future[Any]:
        """Send a request and return a future of its answer."""
        if self._end is not None:
            # A new exception for each call: a shared one would collect all their tracebacks. This
            # request was never sent.
            raise self._end.with_outcome(Outcome.NOTHING)
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._answers[correlation_id] = answer
        self.send(content)
        return answer

    def _send_login(self, message: bytes) -> None:
        if message:
            self.send(message)

    def forget(self, correlation_id: int) -> None:
        """Drop a request that was answered, or whose caller was cancelled."""
        self._answers.pop(correlation_id, None)
        self._maybe_close()

    def send(self, content: bytes) -> None:
        """Queue a frame; all frames of one turn of the event loop are sent in one write."""
        self._unsent.append(content)
        self._unsent_bytes += len(content)
        if (
            self._unsent_bytes >= limits.UNSENT_BYTES_MAX
            or len(self._unsent) >= limits.UNSENT_REQUESTS_MAX
        ):
            self._flush()
        elif len(self._unsent) == 1:
            self._loop.call_soon(self._flush)

    def finish(self) -> None:
        """Send no more; the server answers the requests it has received, and disconnects."""
        if self._end is None:
            self._end = UnavailableError(f"the connection to {self._address} is closed")
            self._flush()
            assert self._transport is not None
            if not self._transport.can_write_eof():
                # TLS has no half-closed connections: the server would drop its answers.
                self._is_closing = True
                self._maybe_close()
                return
            try:
                self._transport.write_eof()
            except OSError:  # the server disconnected
                self.abort()

    def _maybe_close(self) -> None:
        if self._is_closing and not self._answers and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Disconnect immediately."""
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        assert self._transport is not None
        if self._unsent and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()
        self._unsent_bytes = 0

    def _handle(self, content: bytes) -> None:
        if content[0] == Kind.REFUSED:
            refused = decode_refused(content)
            if refused.correlation_id == CONNECTION:
                self._take_goodbye(refused.error)
            elif answer := self._waiting(refused.correlation_id):
                answer.set_exception(refused.error)
        elif not self._welcome.done():
            self._shake_hands(content)
        elif content[0] == Kind.RAN:
            ran = decode_ran(content)
            if answer := self._waiting(ran.correlation_id):
                answer.set_result(ran.answer)
        else:
            appended = decode_appended(content)
            if answer := self._waiting(appended.correlation_id):
                answer.set_result(appended.result)

    def _waiting(self, correlation_id: int) -> asyncio.Future[Any] | None:
        answer = self._answers.get(correlation_id)
        return None if answer is None or answer.done() else answer

    def _shake_hands(self, content: bytes) -> None:
        try:
            if content[0] == Kind.CHALLENGE:
                self._send_login(self._login.go_on(content))
                return
            welcome = decode_welcome(content)
            self._login.check_done()
            check_welcome(welcome)
        except RequestError as error:
            self._welcome.set_exception(error)
        else:
            self._welcome.set_result(welcome)

    def _take_goodbye(self, error: MetadataLogError) -> None:
        """Handle a goodbye: from now on the server accepts no requests.

        The server still answers the requests that it has accepted.
        """
        self._end = self._end or error
        self.writable.set()
        if not self._welcome.done():
            self._welcome.set_exception(error)

    def _fail(self, error: MetadataLogError) -> None:
        """Fail all unanswered requests with an unknown outcome, because the connection is lost."""
        self._end = end = self._end or error
        self.writable.set()
        if not self._welcome.done():
            self._welcome.set_exception(end)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(
                    UnavailableError(
                        f"{end}; the outcome is unknown: what was not answered may have been "
                        "committed",
                        outcome=Outcome.UNKNOWN,
                    )
                )
