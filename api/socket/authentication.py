"""Logins over the socket: SASL between HELLO and WELCOME.

A HELLO with a `mechanism` is followed by AUTHENTICATE frames, each answered by a CHALLENGE; WELCOME
follows the last CHALLENGE. If the listener requires no user, there are no such frames.
"""

import asyncio

from api.security.callers import connected_caller
from api.security.errors import AuthenticationError
from api.security.listeners import ListenerSecurity, logged_in
from api.security.sasl import FAILURE, Attempt, ClientExchange, ClientLogin
from api.socket.frames import LENGTH, FrameError, Kind
from api.socket.handshake import Hello, decode_hello
from api.transport.log_limit import limited_logger
from records.errors import RequestError

_logger = limited_logger(__name__)

_FAILED = "SASL_AUTHENTICATION_FAILED"


def encode_message(kind: Kind, message: bytes) -> bytes:
    """Return an AUTHENTICATE or CHALLENGE frame."""
    return LENGTH.pack(1 + len(message)) + bytes([kind]) + message


def decode_message(kind: Kind, content: bytes) -> bytes:
    """Return the SASL message in a frame of this kind.

    Raises:
        FrameError: the frame is of another kind.
    """
    if content[0] != kind:
        raise FrameError(f"a frame of kind {content[0]} came before the end of the login")
    return content[1:]


class ServerHandshake:
    """The server's side of a handshake: HELLO, the login if the listener requires one, WELCOME.

    Failures are logged here in detail, and raised as errors to send to the client.

    Attributes:
        caller: The caller: first as determined from the connection, then as authenticated.
        hello: The client's first frame, None until it is received.
        is_known: True once no further authentication is required.
        session_ms: Time until the client must log in again, in ms; 0: no limit.
    """

    def __init__(self, security: ListenerSecurity, transport: asyncio.BaseTransport) -> None:
        """Determine the caller from the connection: its address and its certificate.

        Raises:
            RequestError: SASL_AUTHENTICATION_FAILED, no rule maps the certificate to a principal.
        """
        self._authenticator = security.authenticator
        self._attempt: Attempt | None = None
        self.hello: Hello | None = None
        self.is_known = self._authenticator is None
        self.session_ms = 0
        try:
            self.caller = security.connected(transport)
        except RequestError as error:
            address = connected_caller(transport).address
            _logger.warning("%s: %s; the connection is closed", address, error)
            raise

    def take_hello(self, content: bytes) -> None:
        """Process the first frame, and begin a login with the mechanism that the client chose.

        Raises:
            FrameError: the frame is not a HELLO.
            RequestError: SASL_AUTHENTICATION_FAILED or UNSUPPORTED_SASL_MECHANISM.
        """
        self.hello = hello = decode_hello(content)
        if self._authenticator is None:
            return
        offered = self._authenticator.mechanisms
        if hello.mechanism is None:
            self._fail("the client names no user")
            raise RequestError(
                _FAILED,
                "this socket requires a user; write socket+sasl_ssl:// or "
                f"socket+sasl_plaintext://; mechanisms offered: {', '.join(offered)}",
            )
        try:
            self._attempt = self._authenticator.begin(hello.mechanism, self.caller.host or "")
        except AuthenticationError as error:
            self._fail(str(error))
            raise RequestError("UNSUPPORTED_SASL_MECHANISM", str(error)) from error

    async def check(self, content: bytes) -> bytes:
        """Return the CHALLENGE that answers an AUTHENTICATE frame.

        Raises:
            RequestError: SASL_AUTHENTICATION_FAILED; or INVALID_REQUEST, the frame is of another
                kind.
        """
        assert self._attempt is not None and self._authenticator is not None
        try:
            message = decode_message(Kind.AUTHENTICATE, content)
            answer, login = await self._attempt.answer(message)
        except FrameError as error:
            self._fail(str(error))
            raise RequestError("INVALID_REQUEST", str(error)) from error
        except AuthenticationError as error:
            self._fail(str(error))
            raise RequestError(_FAILED, FAILURE) from error
        if login is not None:
            self._authenticator.succeeded += 1
            self.caller = logged_in(self.caller, login)
            self.session_ms = self._authenticator.session_ms(login)
            self.is_known = True
        return encode_message(Kind.CHALLENGE, answer)

    def time_out(self, seconds: float) -> None:
        """Count and log a failed login if the client has not authenticated in time."""
        if not self.is_known:
            self._fail(f"the client did not authenticate within {seconds:g} s")

    def _fail(self, why: str) -> None:
        assert self._authenticator is not None
        self._authenticator.failed += 1
        _logger.warning("%s: authentication has failed: %s", self.caller.address, why)


class ClientHandshake:
    """The client's side of the login of one connection; if no user is configured, it sends nothing.

    Attributes:
        mechanism: The mechanism to put in the HELLO; None if no user is configured.
    """

    def __init__(self, login: ClientLogin | None, address: str) -> None:
        self._exchange = None if login is None else ClientExchange(login)
        self._address = address
        self.mechanism = None if login is None else login.mechanism

    def first(self) -> bytes:
        """Return the AUTHENTICATE frame that follows HELLO; empty if no user is configured."""
        if self._exchange is None:
            return b""
        return encode_message(Kind.AUTHENTICATE, self._exchange.begin())

    def go_on(self, content: bytes) -> bytes:
        """Return the answer to a CHALLENGE; empty after the last one.

        Raises:
            RequestError: SASL_AUTHENTICATION_FAILED, the server does not know the user's key.
            FrameError: there is no login.
        """
        if self._exchange is None:
            raise FrameError("the server sent a CHALLENGE, but there is no login")
        try:
            message = self._exchange.go_on(decode_message(Kind.CHALLENGE, content))
        except AuthenticationError as error:
            raise self._refused(str(error)) from error
        if message is None:
            self._exchange = None
            return b""
        return encode_message(Kind.AUTHENTICATE, message)

    def check_done(self) -> None:
        """Check that the server has proved that it knows the user's key.

        Raises:
            RequestError: SASL_AUTHENTICATION_FAILED.
        """
        if self._exchange is not None:
            raise self._refused("the server asks for no user; leave sasl_ out of the URL")

    def _refused(self, why: str) -> RequestError:
        return RequestError(_FAILED, f"{self._address}: {why}")
