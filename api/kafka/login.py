"""The client's side of the beginning of a connection: TLS, then SASL."""

import asyncio

from api.addresses import unanswered
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
from records.errors import Outcome, RequestError, UnavailableError

_ANSWER_SIZE_BYTES_MAX = 65_536


async def open_authenticated(
    host: str, port: int, client_id: str | None, security: ConnectionSecurity
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect, and authenticate.

    Raises:
        UnavailableError: no answer in time, or one side refuses the other's certificate.
        RequestError: SASL_AUTHENTICATION_FAILED or UNSUPPORTED_SASL_MECHANISM.
    """
    reader, writer = await open_stream(host, port, security.tls)
    if security.login is None:
        return reader, writer
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            login = _Login(reader, writer, client_id, f"{host}:{port}")
            await login.run(security.login)
    except TimeoutError:
        await close_writer(writer)
        raise UnavailableError(f"{host}:{port} did not authenticate in time") from None
    except BaseException:
        await close_writer(writer)
        raise
    return reader, writer


class _Login:
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

    async def run(self, login: ClientLogin) -> None:
        handshake = await self._ask(
            SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism=login.mechanism)
        )
        assert isinstance(handshake, SaslHandshakeResponse)
        if handshake.error_code:
            raise self._refused(
                name_of(handshake.error_code),
                f"{login.mechanism} is not offered; {', '.join(handshake.mechanisms)} are",
            )
        exchange = ClientExchange(login)
        message: bytes | None = exchange.begin()
        while message is not None:
            answer = await self._ask(
                SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=message)
            )
            assert isinstance(answer, SaslAuthenticateResponse)
            if answer.error_code:
                name = name_of(answer.error_code)
                raise self._refused(name, answer.error_message or name)
            try:
                message = exchange.go_on(answer.auth_bytes)
            except AuthenticationError as error:
                raise self._refused("SASL_AUTHENTICATION_FAILED", str(error)) from error

    async def _ask(self, api: Api, version: int, body: Request) -> Response:
        self._writer.write(frames.encode_request(api, version, 0, body, self._client_id))
        try:
            await self._writer.drain()
            raw = await read_frame(self._reader, _ANSWER_SIZE_BYTES_MAX)
            if raw is None:
                raise unanswered(self._address, "kafka")
            return frames.decode_response(raw, api, version)
        except (OSError, MalformedFrameError) as error:
            raise UnavailableError(f"{self._address}: {error}") from error

    def _refused(self, code: str, why: str) -> RequestError:
        return RequestError(code, f"{self._address}: {why}", outcome=Outcome.NOTHING)
