"""Client side of Kafka connections: sends requests, and matches responses by correlation id."""

import asyncio
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeVar, cast

import msgspec

from api.kafka import frames
from api.kafka.apis import BY_REQUEST, Api
from api.kafka.envelopes import sealed
from api.kafka.errors import name_of
from api.kafka.fields import Request, Response
from api.kafka.frames import MalformedFrameError, RequestFrame
from api.kafka.login import SessionRenewal, open_authenticated
from api.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from api.kafka.messages.envelope import EnvelopeResponse
from api.kafka.streams import close_writer, read_frame
from api.large_work import in_thread
from api.security.client import PLAIN_TEXT, ConnectionSecurity
from api.security.tls import ended_after_handshake
from api.transport.addresses import disconnected, unanswered
from api.transport.shutdown import cancel_all
from controller.authorization.caller import Caller
from records.errors import Outcome, RequestError, UnavailableError

R = TypeVar("R", bound=Response)

REQUEST_TIMEOUT_S = 30.0


class Forwarded(msgspec.Struct, frozen=True):
    """The body of the controller's response to a forwarded request, unchanged.

    `committed_offset` is the last offset that was committed meanwhile, -1 for none.
    """

    body: bytes
    committed_offset: int


_ANSWERS_S = 1.0


class Connection:
    """Client side of a Kafka connection; several requests may be in flight."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        client_id: str | None,
        address: str,
        renewal: SessionRenewal | None = None,
    ) -> None:
        """Use an open stream with no requests in flight; `address` is only for error messages."""
        self._renewal = renewal
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._address = address
        self._numbers = itertools.count()
        # By correlation id: how to decode the response, and the future to resolve.
        self._waiting: dict[int, tuple[Callable[[bytes], Any], asyncio.Future[Any]]] = {}
        self._task = asyncio.create_task(self._read(), name="kafka responses")

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        client_id: str | None = None,
        security: ConnectionSecurity = PLAIN_TEXT,
    ) -> Self:
        """Connect and authenticate.

        Raises:
            UnavailableError: the address does not answer, or one side refuses the other's
                certificate.
            RequestError: SASL_AUTHENTICATION_FAILED or UNSUPPORTED_SASL_MECHANISM.
        """
        address = f"{host}:{port}"
        reader, writer, session_ms = await open_authenticated(host, port, client_id, security)
        renewal = None
        if security.login is not None and session_ms:
            renewal = SessionRenewal(security.login, address, session_ms)
        return cls(reader, writer, client_id, address, renewal)

    @property
    def is_open(self) -> bool:
        """True if requests can still be sent."""
        return not self._task.done()

    async def ended(self) -> None:
        """Wait until the connection can receive no more responses."""
        await asyncio.wait([self._task])

    async def request(
        self,
        body: Request,
        response: type[R],
        *,
        version: int | None = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
        is_large: bool = False,
    ) -> R:
        """Send a request and wait for its response.

        Args:
            is_large: Encode the request, and decode the response, in a thread.
            response: The class of the response.
            version: Version of the request; None: the newest version that `Api` supports.

        Raises:
            UnavailableError: no response arrived, so the outcome is unknown; or the connection was
                already closed, and nothing was sent.
            RequestError: the request has a field that the version lacks.
        """
        api = BY_REQUEST[type(body)]
        assert response is api.response
        used = api.max_version if version is None else version
        number = self._next_number()
        encode = partial(frames.encode_request, api, used, number, body, self._client_id)
        decode = partial(frames.decode_response, api=api, version=used)
        if is_large:
            raw = await self._ask(api.name, number, await in_thread(encode), bytes, timeout_s)
            try:
                return cast(R, await in_thread(partial(decode, raw)))
            except MalformedFrameError as error:
                raise _unanswered(str(error)) from error
        return cast(R, await self._ask(api.name, number, encode(), decode, timeout_s))

    async def newest_versions(self, timeout_s: float = REQUEST_TIMEOUT_S) -> dict[int, int]:
        """Return the newest version that the server supports of each request, by request key.

        Raises:
            UnavailableError: no response arrived.
        """
        request = ApiVersionsRequest()
        versions = await self.request(request, ApiVersionsResponse, timeout_s=timeout_s)
        return {each.api_key: each.max_version for each in versions.api_keys}

    async def forward(
        self,
        frame: RequestFrame,
        caller: Caller,
        *,
        request_id: str | None = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> Forwarded:
        """Forward a client's request in an envelope, unchanged.

        Args:
            request_id: As for `sealed`.

        Raises:
            RequestError: NOT_CONTROLLER, another node leads; or the controller does not accept
                requests forwarded by this broker.
            UnavailableError: no response arrived, or the controller lost its log while it handled a
                request with an id; the outcome is unknown.
        """
        envelope = sealed(frame, caller, request_id)
        response = await self.request(envelope, EnvelopeResponse, timeout_s=timeout_s)
        if name_of(response.error_code) == "REQUEST_TIMED_OUT":
            raise UnavailableError(
                "the controller does not know what became of the request", outcome=Outcome.UNKNOWN
            )
        if name_of(response.error_code) == "NOT_CONTROLLER":
            raise RequestError(
                "NOT_CONTROLLER",
                "the node that this broker asked does not lead",
                outcome=Outcome.NOTHING,
            )
        if response.error_code or response.response_data is None:
            # As in Kafka the broker's lack of a right is not told as one of the client's.
            raise RequestError(
                "UNKNOWN_SERVER_ERROR",
                "the controller refuses what this broker forwards: "
                f"{name_of(response.error_code)}; see the broker's rights and release",
                outcome=Outcome.NOTHING,
            )
        body = frames.raw_response_body(response.response_data, frame.api, frame.version)
        return Forwarded(body, response.committed_offset)

    async def forward_plainly(
        self, frame: RequestFrame, *, timeout_s: float = REQUEST_TIMEOUT_S
    ) -> bytes:
        """Forward a client's request to a controller that does not support envelopes.

        The controller treats the broker as the sender; of the client, only the client id is sent.
        Return the body of the response; raise the same as `forward`.
        """
        api, version, number = frame.api, frame.version, self._next_number()
        raw = frames.encode_raw_request(api, version, number, frame.raw_body, frame.client_id)
        decode = partial(frames.raw_response_body, api=api, version=version)
        return cast(bytes, await self._ask(api.name, number, raw, decode, timeout_s))

    def _next_number(self) -> int:
        return next(self._numbers) & 0x7FFFFFFF

    async def _ask(
        self,
        name: str,
        number: int,
        frame: bytes,
        decode: Callable[[bytes], Any],
        timeout_s: float,
    ) -> Any:
        if self._renewal is not None:
            await self._renewal.renew_in_time(self._ask_for_login)
        return await self._exchange(name, number, frame, decode, timeout_s)

    async def _ask_for_login(self, api: Api, version: int, body: Request) -> Response:
        number = self._next_number()
        frame = frames.encode_request(api, version, number, body, self._client_id)
        decode = partial(frames.decode_response, api=api, version=version)
        found = await self._exchange(api.name, number, frame, decode, REQUEST_TIMEOUT_S)
        return cast(Response, found)

    async def _exchange(
        self,
        name: str,
        number: int,
        frame: bytes,
        decode: Callable[[bytes], Any],
        timeout_s: float,
    ) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if not self.is_open:
            raise disconnected(self._address)
        self._waiting[number] = decode, future
        try:
            self._writer.write(frame)
            async with asyncio.timeout(timeout_s):
                await self._writer.drain()
                return await future
        except TimeoutError as error:
            raise _unanswered(f"{name}: no answer from {self._address} in time") from error
        except OSError as error:
            raise _unanswered(str(disconnected(self._address))) from error
        finally:
            self._waiting.pop(number, None)
            if future.done() and not future.cancelled():
                # Asyncio logs an exception that is never retrieved: if the write has failed first.
                future.exception()

    async def close(self) -> None:
        """Close the connection; requests in flight fail."""
        await cancel_all(self._task)
        await close_writer(self._writer)

    async def close_after_answers(self) -> None:
        """Close the connection once all requests in flight are answered, or after a second."""
        if waiting := [future for _, future in self._waiting.values()]:
            await asyncio.wait(waiting, timeout=_ANSWERS_S)
        await self.close()

    async def _read(self) -> None:
        if self._writer.get_extra_info("ssl_object") is None:
            problem = unanswered(self._address, "socket", "ssl", "sasl_ssl")
        else:
            problem = ended_after_handshake(self._address)
        try:
            while (frame := await read_frame(self._reader)) is not None:
                if self._answer(frame):
                    problem = disconnected(self._address)
        except MalformedFrameError as error:
            problem = UnavailableError(str(error))
        finally:
            for _, future in self._waiting.values():
                if not future.done():
                    future.set_exception(_unanswered(str(problem)))

    def _answer(self, frame: bytes) -> bool:
        """Resolve the pending request that a response answers; False if none is waiting."""
        number = frames.correlation_id_of(frame)
        if number not in self._waiting:
            return False  # its caller has given up, or this is no Kafka
        decode, future = self._waiting[number]
        if not future.done():
            future.set_result(decode(frame))
        return True


def _unanswered(problem: str) -> UnavailableError:
    return UnavailableError(f"{problem}; the outcome is unknown", outcome=Outcome.UNKNOWN)
