"""Client side of opening a connection: TLS, then SASL, with its renewal (KIP-368)."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from api.kafka import frames
from api.kafka.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE, Api
from api.kafka.errors import name_of
from api.kafka.fields import Request, Response
from api.kafka.frames import MalformedFrameError
from api.kafka.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from api.kafka.streams import close_writer, read_frame
from api.security.client import CONNECT_TIMEOUT_S, ConnectionSecurity, open_stream
from api.security.errors import AuthenticationError
from api.security.sasl import ClientExchange, ClientLogin
from api.transport.addresses import unanswered
from records.errors import Outcome, RequestError, UnavailableError

_ANSWER_SIZE_BYTES_MAX = 65_536

_EARLIEST, _LATEST = 0.85, 0.95
"""A session is renewed after a part of its lifetime, chosen at random between these bounds so that
clients do not renew together. Source: SaslClientAuthenticator of Kafka 4.0."""


async def open_authenticated(
    host: str, port: int, client_id: str | None, security: ConnectionSecurity
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, int]:
    """Connect and authenticate.

    Returns:
        The stream, and the lifetime of the session in ms (0: unlimited).

    Raises:
        UnavailableError: no answer in time, or one side refuses the other's certificate.
        RequestError: SASL_AUTHENTICATION_FAILED or UNSUPPORTED_SASL_MECHANISM.
    """
    reader, writer = await open_stream(host, port, security.tls)
    if security.login is None:
        return reader, writer, 0
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            stream = _Stream(reader, writer, client_id, f"{host}:{port}")
            session_ms = await log_in(stream.ask, security.login, f"{host}:{port}")
    except TimeoutError:
        await close_writer(writer)
        raise UnavailableError(f"{host}:{port} did not authenticate in time") from None
    except BaseException:
        await close_writer(writer)
        raise
    return reader, writer, session_ms


Ask = Callable[[Api, int, Request], Awaitable[Response]]
"""Sends a request of a version, and returns the response."""


async def log_in(ask: Ask, login: ClientLogin, address: str) -> int:
    """Authenticate with SASL; also renews the session of an authenticated connection (KIP-368).

    Returns:
        The lifetime of the session in ms (0: unlimited).

    Raises:
        UnavailableError: no answer.
        RequestError: SASL_AUTHENTICATION_FAILED or UNSUPPORTED_SASL_MECHANISM.
    """
    handshake = await ask(SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism=login.mechanism))
    assert isinstance(handshake, SaslHandshakeResponse)
    if handshake.error_code:
        raise _refused(
            address,
            name_of(handshake.error_code),
            f"{login.mechanism} is not offered; use one of: {', '.join(handshake.mechanisms)}",
        )
    exchange = ClientExchange(login)
    message: bytes | None = exchange.begin()
    session_ms = 0
    while message is not None:
        answer = await ask(SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=message))
        assert isinstance(answer, SaslAuthenticateResponse)
        if answer.error_code:
            name = name_of(answer.error_code)
            raise _refused(address, name, answer.error_message or name)
        session_ms = answer.session_lifetime_ms
        try:
            message = exchange.go_on(answer.auth_bytes)
        except AuthenticationError as error:
            raise _refused(address, "SASL_AUTHENTICATION_FAILED", str(error)) from error
    return session_ms


def _refused(address: str, code: str, why: str) -> RequestError:
    return RequestError(code, f"{address}: {why}", outcome=Outcome.NOTHING)


class _Stream:
    """Sends requests on a stream, each after the response to the previous request."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        client_id: str | None,
        address: str,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._address = address

    async def ask(self, api: Api, version: int, body: Request) -> Response:
        self._writer.write(frames.encode_request(api, version, 0, body, self._client_id))
        try:
            await self._writer.drain()
            raw = await read_frame(self._reader, _ANSWER_SIZE_BYTES_MAX)
            if raw is None:
                raise unanswered(self._address, "kafka")
            return frames.decode_response(raw, api, version)
        except (OSError, MalformedFrameError) as error:
            raise UnavailableError(f"{self._address}: {error}") from error


class SessionRenewal:
    """Renews the SASL session of a connection, when a request is sent late in the session.

    The session of an idle connection is not renewed: the server closes a connection with an ended
    session only when a request arrives.
    """

    def __init__(self, login: ClientLogin, address: str, session_ms: int) -> None:
        """Start with a session that lasts `session_ms`; 0 means that the session never ends."""
        self._login, self._address = login, address
        self._turn = asyncio.Lock()
        self._renew_at: float | None = None
        self._begin(session_ms)

    async def renew_in_time(self, ask: Ask) -> None:
        """Renew the session if renewal is due; concurrent requests wait for it.

        Raises:
            UnavailableError, RequestError: as `log_in`.
        """
        if not self._is_due and not self._turn.locked():
            return
        async with self._turn:
            if self._is_due:
                self._begin(await log_in(ask, self._login, self._address))

    @property
    def _is_due(self) -> bool:
        return self._renew_at is not None and asyncio.get_running_loop().time() >= self._renew_at

    def _begin(self, session_ms: int) -> None:
        now = asyncio.get_running_loop().time()
        part = random.uniform(_EARLIEST, _LATEST)
        self._renew_at = now + part * session_ms / 1_000 if session_ms else None
