"""The beginning of a connection of a listener with SASL.

Only ApiVersions and the SASL requests are answered, one after the other, until the client has
authenticated. Whatever is wrong with a user or a password, the answer is the same and takes the
same time; the reason is in this side's log.

Source: KIP-43, KIP-152; SaslServerAuthenticator of Kafka 4.0 (states, texts).
"""

import asyncio
import struct
from collections.abc import Iterable

from api import limits
from api.connections import Place
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
from api.kafka.streams import receive_frame
from api.kafka.versions import unsupported_versions, versions_response
from api.log_limit import limited_logger
from api.security.errors import AuthenticationError
from api.security.sasl import FAILURE, Attempt, Authenticator, Login

log = limited_logger(__name__)

SASL_APIS = (SASL_HANDSHAKE, SASL_AUTHENTICATE)
_BEFORE_LOGIN = by_key((API_VERSIONS, *SASL_APIS))
_KNOWN = by_key(apis.ALL)
_KEY = struct.Struct(">h")


async def log_in(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    place: Place,
    authenticator: Authenticator,
    listed: Iterable[Api],
    address: str,
) -> Login | None:
    """Authenticate a client; None if it disconnects before.

    Args:
        listed: The requests that the listener takes.
        address: Of the client, for the log.

    Raises:
        AuthenticationError: it has failed, and the client was told.
        MalformedFrameError: something else was sent.
    """
    conversation = _Conversation(reader, writer, place, authenticator, tuple(listed))
    try:
        async with asyncio.timeout(limits.AUTHENTICATION_TIMEOUT_S):
            login = await conversation.run()
    except AuthenticationError:
        authenticator.failed += 1
        raise
    except TimeoutError:
        authenticator.failed += 1
        raise AuthenticationError(
            f"it did not authenticate within {limits.AUTHENTICATION_TIMEOUT_S:g} s"
        ) from None
    if login is not None:
        authenticator.succeeded += 1
        log.debug("%s: authenticated as %s", address, login.principal)
    return login


class _Conversation:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        place: Place,
        authenticator: Authenticator,
        listed: tuple[Api, ...],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._place = place
        self._authenticator = authenticator
        self._listed = listed
        self._attempt: Attempt | None = None
        # After a handshake of version 0 the mechanism's messages come without headers.
        self._is_raw = False

    async def run(self) -> Login | None:
        while True:
            size_max = limits.UNAUTHENTICATED_FRAME_BYTES_MAX
            received = await receive_frame(self._reader, size_max, self._place)
            if received is None:
                return None
            try:
                login = await self._handle(received.raw)
            finally:
                received.release()
            if login is not None:
                return login

    async def _handle(self, raw: bytes) -> Login | None:
        if self._is_raw:
            answer, login = await self._exchanged(raw, None)
            await self._send(frames.LENGTH.pack(len(answer)) + answer)
            return login
        try:
            frame = frames.decode_request(raw, _BEFORE_LOGIN)
        except UnsupportedVersionError as error:
            if error.api != API_VERSIONS:
                raise
            await self._send(unsupported_versions(self._listed, error))
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
            raise AuthenticationError("a second handshake before the end of the first")
        try:
            self._attempt = self._authenticator.begin(mechanism)
        except AuthenticationError:
            code = CODES["UNSUPPORTED_SASL_MECHANISM"]
            await self._answer(frame, SaslHandshakeResponse(error_code=code, mechanisms=offered))
            raise
        self._is_raw = frame.version == 0
        await self._answer(frame, SaslHandshakeResponse(mechanisms=offered))

    async def _authenticate(
        self, frame: RequestFrame, body: SaslAuthenticateRequest
    ) -> Login | None:
        if self._attempt is None:
            code = CODES["ILLEGAL_SASL_STATE"]
            refusal = "SaslHandshake comes before SaslAuthenticate"
            await self._answer(
                frame, SaslAuthenticateResponse(error_code=code, error_message=refusal)
            )
            raise AuthenticationError(refusal)
        answer, login = await self._exchanged(body.auth_bytes, frame)
        await self._answer(frame, SaslAuthenticateResponse(auth_bytes=answer))
        return login

    async def _exchanged(
        self, token: bytes, frame: RequestFrame | None
    ) -> tuple[bytes, Login | None]:
        """Pass a message to the mechanism.

        Args:
            frame: The request to answer a failure to; None: none, the connection is closed.
        """
        assert self._attempt is not None
        try:
            return await self._attempt.answer(token)
        except AuthenticationError:
            if frame is not None:
                refusal = SaslAuthenticateResponse(
                    error_code=CODES["SASL_AUTHENTICATION_FAILED"], error_message=FAILURE
                )
                await self._answer(frame, refusal)
            raise

    async def _answer(self, frame: RequestFrame, response: Response) -> None:
        await self._send(
            frames.encode_response(frame.api, frame.version, frame.correlation_id, response)
        )

    async def _send(self, raw: bytes) -> None:
        self._writer.write(raw)
        await self._writer.drain()


def _wrong_state() -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=CODES["ILLEGAL_SASL_STATE"])


def repeated_login(frame: RequestFrame) -> Response:
    """Return the answer to a SASL request of a client that has authenticated."""
    if frame.api == SASL_HANDSHAKE:
        return _wrong_state()
    return SaslAuthenticateResponse(
        error_code=CODES["ILLEGAL_SASL_STATE"], error_message="the connection has authenticated"
    )


def _check_key(raw: bytes) -> None:
    """Say it clearly if a request came too early.

    Raises:
        AuthenticationError: it is a known request.
    """
    key = _KEY.unpack_from(raw)[0] if len(raw) >= _KEY.size else None
    if key in _KNOWN and key not in _BEFORE_LOGIN:
        raise AuthenticationError(
            f"{_KNOWN[key].name} came before authentication; does the client use SASL?"
        )
