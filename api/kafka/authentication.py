"""SASL authentication of a new connection, on the server's side.

Until the client has authenticated, only ApiVersions and the SASL requests are answered, one after
the other. If the login fails, the client gets the same response after the same time whether the
user or the password is wrong; the reason is only in the server's log messages.

Source: KIP-43, KIP-152; SaslServerAuthenticator of Kafka 4.0 (states, texts).
"""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from api.kafka import apis, frames
from api.kafka.apis import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, Api, by_key
from api.kafka.errors import CODES
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame, UnsupportedVersionError
from api.kafka.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from api.kafka.streams import Received, receive_frame
from api.kafka.versions import unsupported_versions, versions_response
from api.security.errors import AuthenticationError
from api.security.sasl import FAILURE, Attempt, Authenticator, Login
from api.transport import limits
from api.transport.connections import Place
from api.transport.log_limit import limited_logger

log = limited_logger(__name__)

SASL_APIS = (SASL_HANDSHAKE, SASL_AUTHENTICATE)
_BEFORE_LOGIN = by_key((API_VERSIONS, *SASL_APIS))
_KNOWN = by_key(apis.ALL)
_KEY = struct.Struct(">h")
_TELLS_SESSION = 1
"""The first version of SaslAuthenticate that returns the lifetime of a session."""


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """The client of a connection.

    Attributes:
        send: Sends a response, after the responses to earlier requests.
        address: The client's address, for log messages.
        host: The client's address without the port.
    """

    reader: asyncio.StreamReader
    place: Place
    send: Callable[[bytes], Awaitable[None]]
    address: str
    host: str


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A successful login and the time until which it is valid.

    Attributes:
        ends_at: Time by which the client must log in again, by the event loop's clock; None if the
            session never ends.
    """

    login: Login
    mechanism: str
    ends_at: float | None = None

    @property
    def has_ended(self) -> bool:
        """True if the session is over."""
        return self.ends_at is not None and asyncio.get_running_loop().time() > self.ends_at

    def end(self) -> AuthenticationError:
        """Return the error for a client that sends requests after its session has ended."""
        return AuthenticationError(
            f"the session of {self.login.principal} has ended, and the client did not "
            "authenticate again"
        )


async def log_in(
    client: Client,
    authenticator: Authenticator,
    listed: Iterable[Api],
    *,
    before: Session | None = None,
    first: Received | None = None,
) -> Session | None:
    """Authenticate a client; return None if it disconnects first.

    Args:
        listed: The requests that the listener supports.
        before: The session to renew; the principal and mechanism must stay the same.
        first: The first frame, if it was already received.

    Raises:
        AuthenticationError: authentication failed or timed out, or the client sent a known request
            that is not allowed before login.
        MalformedFrameError: a frame is not a known request.
    """
    conversation = _Conversation(client, authenticator, tuple(listed), before)
    try:
        async with asyncio.timeout(limits.AUTHENTICATION_TIMEOUT_S):
            session = await conversation.run(first)
    except AuthenticationError:
        authenticator.failed += 1
        raise
    except TimeoutError:
        authenticator.failed += 1
        raise AuthenticationError(
            f"the client did not log in within {limits.AUTHENTICATION_TIMEOUT_S:g} s"
        ) from None
    if session is not None:
        authenticator.succeeded += 1
        log.debug("%s: authenticated as %s", client.address, session.login.principal)
    return session


class _Conversation:
    def __init__(
        self,
        client: Client,
        authenticator: Authenticator,
        listed: tuple[Api, ...],
        before: Session | None,
    ) -> None:
        self._client = client
        self._before = before
        self._authenticator = authenticator
        self._listed = listed
        self._attempt: Attempt | None = None
        # After a handshake of version 0 the mechanism's messages come without headers.
        self._is_raw = False

    async def run(self, first: Received | None) -> Session | None:
        client = self._client
        size_max = limits.UNAUTHENTICATED_FRAME_BYTES_MAX
        received = first or await receive_frame(client.reader, size_max, client.place)
        while received is not None:
            try:
                session = await self._handle(received.raw)
            finally:
                received.release()
            if session is not None:
                return session
            received = await receive_frame(client.reader, size_max, client.place)
        return None

    async def _handle(self, raw: bytes) -> Session | None:
        if self._is_raw:
            answer, login = await self._exchanged(raw, None)
            await self._client.send(frames.LENGTH.pack(len(answer)) + answer)
            return None if login is None else self._session(login)[0]
        try:
            frame = frames.decode_request(raw, _BEFORE_LOGIN)
        except UnsupportedVersionError as error:
            if error.api != API_VERSIONS:
                raise
            await self._client.send(unsupported_versions(self._listed, error))
            return None
        except frames.MalformedFrameError:
            _check_key(raw)
            raise
        match frame.body:
            case SaslHandshakeRequest():
                await self._choose(frame, frame.body.mechanism)
            case SaslAuthenticateRequest():
                return await self._authenticate(frame, frame.body)
            case _:
                await self._answer(frame, versions_response(self._listed))
        return None

    async def _choose(self, frame: RequestFrame, mechanism: str) -> None:
        offered = self._authenticator.mechanisms
        if self._attempt is not None:
            await self._answer(frame, _wrong_state())
            raise AuthenticationError(
                "the client sent a second handshake before the end of the first"
            )
        try:
            self._attempt = self._authenticator.begin(mechanism, self._client.host)
        except AuthenticationError:
            code = CODES["UNSUPPORTED_SASL_MECHANISM"]
            await self._answer(frame, SaslHandshakeResponse(error_code=code, mechanisms=offered))
            raise
        self._is_raw = frame.version == 0
        await self._answer(frame, SaslHandshakeResponse(mechanisms=offered))

    async def _authenticate(
        self, frame: RequestFrame, body: SaslAuthenticateRequest
    ) -> Session | None:
        if self._attempt is None:
            code = CODES["ILLEGAL_SASL_STATE"]
            refusal = "SaslHandshake comes before SaslAuthenticate"
            await self._answer(
                frame, SaslAuthenticateResponse(error_code=code, error_message=refusal)
            )
            raise AuthenticationError(refusal)
        answer, login = await self._exchanged(body.auth_bytes, frame)
        session, session_ms = (None, 0) if login is None else self._session(login)
        response = SaslAuthenticateResponse(
            auth_bytes=answer,
            session_lifetime_ms=session_ms if frame.version >= _TELLS_SESSION else 0,
        )
        await self._answer(frame, response)
        return session

    def _session(self, login: Login) -> tuple[Session, int]:
        """Return the session of a login, and its lifetime in ms (0: unlimited)."""
        assert self._attempt is not None
        session_ms = self._authenticator.session_ms(login)
        ends_at = None
        if session_ms:
            ends_at = asyncio.get_running_loop().time() + session_ms / 1_000
        mechanism = self._attempt.mechanism
        return Session(login=login, mechanism=mechanism, ends_at=ends_at), session_ms

    async def _exchanged(
        self, token: bytes, frame: RequestFrame | None
    ) -> tuple[bytes, Login | None]:
        """Return the mechanism's reply to a client's message, and the login once it is complete.

        Args:
            frame: The request to which an error response is sent if the login fails; None if the
                client's SASL messages have no headers, so that no error response can be sent.
        """
        assert self._attempt is not None
        message = FAILURE
        try:
            answer, login = await self._attempt.answer(token)
            if self._before is not None and login is not None:
                message = "Cannot change principal or mechanism during re-authentication"
                _check_unchanged(self._before, login, self._attempt.mechanism)
        except AuthenticationError:
            if frame is not None:
                refusal = SaslAuthenticateResponse(
                    error_code=CODES["SASL_AUTHENTICATION_FAILED"], error_message=message
                )
                await self._answer(frame, refusal)
            raise
        return answer, login

    async def _answer(self, frame: RequestFrame, response: Response) -> None:
        await self._client.send(
            frames.encode_response(frame.api, frame.version, frame.correlation_id, response)
        )


def _check_unchanged(before: Session, login: Login, mechanism: str) -> None:
    if (login.principal, mechanism) != (before.login.principal, before.mechanism):
        raise AuthenticationError(
            f"this connection is authenticated as {before.login.principal} by {before.mechanism}, "
            f"and cannot become {login.principal} by {mechanism}; open a new connection"
        )


def _wrong_state() -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=CODES["ILLEGAL_SASL_STATE"])


def repeated_login(frame: RequestFrame) -> Response:
    """Return the error response to a SASL request of a client that is already authenticated."""
    if frame.api == SASL_HANDSHAKE:
        return _wrong_state()
    return SaslAuthenticateResponse(
        error_code=CODES["ILLEGAL_SASL_STATE"], error_message="the connection has authenticated"
    )


def _check_key(raw: bytes) -> None:
    """Refuse a frame that is a known request not allowed before login, with a clear error.

    Raises:
        AuthenticationError: the frame is such a request.
    """
    key = _KEY.unpack_from(raw)[0] if len(raw) >= _KEY.size else None
    if key in _KNOWN and key not in _BEFORE_LOGIN:
        raise AuthenticationError(
            f"{_KNOWN[key].name} came before authentication; does the client use SASL?"
        )
