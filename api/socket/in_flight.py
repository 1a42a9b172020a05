"""The requests of a connection that are not answered yet."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from api.connections import Place
from api.log_limit import limited_logger
from api.socket.refusals import Refused, encode_refused
from api.socket.room import Room
from records.errors import MetadataLogError, Outcome, UnavailableError

_logger = limited_logger(__name__)


class InFlight:
    """Runs requests concurrently, and sends each answer as soon as it is available."""

    def __init__(
        self, rooms: tuple[Room, ...], send: Callable[[bytes], None], ended: Callable[[], None]
    ) -> None:
        """Start without requests.

        Args:
            rooms: The limits for requests in flight: of this connection, and of the whole server.
            send: Sends an answer frame.
            ended: Called when a request or login has ended.
        """
        self._rooms = rooms
        self._send, self._ended = send, ended
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._count = 0

    def __bool__(self) -> bool:
        """True if a request or login is in flight."""
        return bool(self._tasks)

    def is_full(self, when_free: Callable[[], None]) -> bool:
        """True if no request may be started now; `when_free` is then called once one may be."""
        for room in self._rooms:
            if room.is_full:
                room.when_free(when_free)
                return True
        return False

    def start(
        self, answering: Awaitable[bytes], correlation_id: int, size_bytes: int, place: Place
    ) -> None:
        """Await the answer to a request and send it; on an error, send an error frame instead.

        Args:
            size_bytes: Size of the request, which counts towards the limits until it is answered.
            place: The connection's place, which records that a request is in flight.
        """
        place.request_begun()
        for room in self._rooms:
            room.take(size_bytes)
        self._count = number = self._count + 1
        self._tasks[number] = self._loop.create_task(
            self._answer(answering, correlation_id, size_bytes, place, number)
        )

    def start_login(self, checking: Coroutine[Any, Any, None]) -> None:
        """Run a step of a login in the background; the step sends its own answer."""
        self._count = number = self._count + 1
        self._tasks[number] = self._loop.create_task(self._log_in(checking, number))

    async def _answer(
        self,
        answering: Awaitable[bytes],
        correlation_id: int,
        size_bytes: int,
        place: Place,
        number: int,
    ) -> None:
        try:
            answer = await answering
        except MetadataLogError as error:
            answer = encode_refused(Refused(correlation_id=correlation_id, error=error))
        except Exception:
            _logger.exception("request %d failed", correlation_id)
            unknown = UnavailableError(
                "the server failed; the outcome is unknown, see its log", outcome=Outcome.UNKNOWN
            )
            answer = encode_refused(Refused(correlation_id=correlation_id, error=unknown))
        finally:
            del self._tasks[number]
            place.request_ended()
            for room in self._rooms:
                room.give_back(size_bytes)
        self._send(answer)
        self._ended()

    async def _log_in(self, checking: Coroutine[Any, Any, None], number: int) -> None:
        try:
            await checking
        finally:
            del self._tasks[number]
        self._ended()
