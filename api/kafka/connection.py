"""The side of a connection that asks: requests out, responses in, matched by their numbers."""

import asyncio
import itertools
from typing import Self, TypeVar, cast

from api.kafka import frames
from api.kafka.apis import BY_REQUEST, Api
from api.kafka.fields import Request, Response
from api.kafka.frames import MalformedFrameError
from api.kafka.streams import close_writer, read_frame
from records.errors import Outcome, UnavailableError

R = TypeVar("R", bound=Response)

_CONNECT_TIMEOUT_S = 5.0
REQUEST_TIMEOUT_S = 30.0


class Connection:
    """Sends requests; many may be under way at once."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str | None
    ) -> None:
        """Take over a stream on which no request is under way."""
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._numbers = itertools.count()
        self._waiting: dict[int, tuple[Api, int, asyncio.Future[Response]]] = {}
        self._task = asyncio.create_task(self._read(), name="kafka responses")

    @classmethod
    async def open(cls, host: str, port: int, client_id: str | None = None) -> Self:
        """Connect.

        Raises:
            UnavailableError: nobody answers there.
        """
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                reader, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as error:
            why = str(error) or "time out"
            raise UnavailableError(
                f"{host}:{port} does not answer ({why}); is the service running?"
            ) from error
        return cls(reader, writer, client_id)

    @property
    def is_open(self) -> bool:
        """Whether requests can still be sent."""
        return not self._task.done()

    async def ended(self) -> None:
        """Return when no response can come any more."""
        await asyncio.wait([self._task])

    async def request(
        self,
        body: Request,
        response: type[R],
        *,
        version: int | None = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> R:
        """Send a request and wait for its response.

        Args:
            response: The class that the request is answered with.
            version: None is the newest that we know.

        Raises:
            UnavailableError: no response came, the outcome is unknown; or the connection was closed
                before, and nothing was sent.
            RequestError: this version cannot say what the request says.
        """
        api = BY_REQUEST[type(body)]
        assert response is api.response
        used = api.max_version if version is None else version
        number = next(self._numbers) & 0x7FFFFFFF
        frame = frames.encode_request(api, used, number, body, self._client_id)
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        if not self.is_open:
            raise UnavailableError("the connection is closed; connect again")
        self._waiting[number] = api, used, future
        try:
            self._writer.write(frame)
            async with asyncio.timeout(timeout_s):
                await self._writer.drain()
                return cast(R, await future)
        except OSError as error:  # a time-out is one too
            raise UnavailableError(
                f"{api.name}: no answer ({str(error) or 'time out'}); the outcome is unknown",
                outcome=Outcome.UNKNOWN,
            ) from error
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """Close; requests under way fail."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await close_writer(self._writer)

    async def _read(self) -> None:
        problem = "the other side closed the connection"
        try:
            while (frame := await read_frame(self._reader)) is not None:
                self._answer(frame)
        except MalformedFrameError as error:
            problem = str(error)
        finally:
            for _, _, future in self._waiting.values():
                if not future.done():
                    future.set_exception(
                        UnavailableError(
                            f"{problem}; the outcome is unknown", outcome=Outcome.UNKNOWN
                        )
                    )

    def _answer(self, frame: bytes) -> None:
        number = frames.correlation_id_of(frame)
        if number not in self._waiting:
            return  # the asker has given up
        api, version, future = self._waiting[number]
        if not future.done():
            future.set_result(frames.decode_response(frame, api, version))
