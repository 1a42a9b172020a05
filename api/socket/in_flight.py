"""The requests of a connection that are not answered yet."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from api.socket.refusals import Refused, encode_refused
from api.socket.requests import PlainAppend, Question
from api.transport.connections import Place
from api.transport.log_limit import limited_logger
from records.errors import MetadataLogError, Outcome, UnavailableError

_logger = limited_logger(__name__)


class InFlightLimit:
    """Counts requests in flight and their bytes; one per connection, one for the whole server.

    Once full, it counts as full until half of each limit is free again: stopping and starting a
    reader at each request would cost more than it saves.
    """

    def __init__(self, requests_max: int, bytes_max: int) -> None:
        self._requests_max = requests_max
        self._bytes_max = bytes_max
        # A dict, because it is ordered: first come, first called, and only once.
        self._waiting: dict[Callable[[], None], None] = {}
        self.requests = 0
        self.size_bytes = 0
        self.is_full = False

    def take(self, size_bytes: int) -> None:
        """Count one more request."""
        self.requests += 1
        self.size_bytes += size_bytes
        if self.requests >= self._requests_max or self.size_bytes >= self._bytes_max:
            self.is_full = True

    def give_back(self, size_bytes: int) -> None:
        """Count one request less; if half is free again, call the callbacks of `when_free`."""
        self.requests -= 1
        self.size_bytes -= size_bytes
        if (
            self.is_full
            and 2 * self.requests <= self._requests_max
            and 2 * self.size_bytes <= self._bytes_max
        ):
            self.is_full = False
            waiting, self._waiting = self._waiting, {}
            for call in waiting:
                call()

    def when_free(self, call: Callable[[], None]) -> None:
        """Call `call` once, as soon as half of each limit is free."""
        self._waiting[call] = None


class Changes:
    """Counts unanswered changes, so that a question can wait for all changes sent before it.

    A change is counted under the number of questions that were sent before it.

    Appends are many and questions few, so a change costs two steps in a dictionary, and a question
    one future, however many changes are in flight.
    """

    def __init__(self) -> None:
        """Start without changes."""
        self._questions = 0
        # In the order of the numbers: a number is only added while it is the largest.
        self._unanswered: dict[int, int] = {}
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def begin(self) -> int:
        """Count a change; return the number to pass to `end` once the change is answered."""
        number = self._questions
        self._unanswered[number] = self._unanswered.get(number, 0) + 1
        return number

    def end(self, number: int) -> None:
        """Count a change as answered; wake the questions that waited only for this change."""
        left = self._unanswered[number] - 1
        if left:
            self._unanswered[number] = left
            return
        del self._unanswered[number]
        oldest = next(iter(self._unanswered), self._questions)
        while self._waiting and self._waiting[0][0] <= oldest:
            _, answered = self._waiting.popleft()
            if not answered.done():  # the question was abandoned
                answered.set_result(None)

    def answered(self) -> asyncio.Future[None] | None:
        """Return a future of all changes that began before now; None if none is unanswered."""
        if not self._unanswered:
            return None
        self._questions += 1
        answered = asyncio.get_running_loop().create_future()
        self._waiting.append((self._questions, answered))
        return answered


class InFlight:
    """Runs requests concurrently, and sends each answer as soon as it is available."""

    def __init__(
        self,
        limits: tuple[InFlightLimit, ...],
        send: Callable[[bytes], None],
        ended: Callable[[], None],
    ) -> None:
        """Start without requests.

        Args:
            limits: The limits for requests in flight: of this connection, and of the whole server.
            send: Sends an answer frame.
            ended: Called when a request or login has ended.
        """
        self._limits = limits
        self._send, self._ended = send, ended
        self._loop = asyncio.get_running_loop()
        # Kept here, because asyncio keeps no task alive.
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last_task = 0
        # Appends that begin together, before any request that came after them; None: none wait.
        self._waiting: list[tuple[PlainAppend, _Request]] | None = None
        self._count = 0
        self._changes = Changes()

    def __bool__(self) -> bool:
        """True if a request or login is in flight."""
        return self._count > 0

    def is_full(self, when_free: Callable[[], None]) -> bool:
        """True if no request may be started now; `when_free` is then called once it is allowed."""
        for limit in self._limits:
            if limit.is_full:
                limit.when_free(when_free)
                return True
        return False

    def start(
        self,
        answering: Awaitable[bytes] | PlainAppend | Question,
        correlation_id: int,
        size_bytes: int,
        place: Place,
    ) -> None:
        """Send the answer to a request once it is available, or an error frame instead.

        Args:
            size_bytes: Size of the request, which counts towards the limits until it is answered.
            place: The connection's place, which records that a request is in flight.
        """
        place.request_begun()
        for limit in self._limits:
            limit.take(size_bytes)
        if isinstance(answering, Question):
            question = answering.answer(self._changes.answered())
            self._start_task(
                self._answer(question, _Request(correlation_id, size_bytes, place, change=None))
            )
            return
        request = _Request(correlation_id, size_bytes, place, self._changes.begin())
        if not isinstance(answering, PlainAppend):
            self._start_task(self._answer(answering, request))
            return
        self._count += 1
        if self._waiting is None:
            self._waiting = []
            self._loop.call_soon(self._begin, self._waiting)
        self._waiting.append((answering, request))

    def start_login(self, checking: Coroutine[Any, Any, None]) -> None:
        """Run a step of a login in the background; the step sends its own answer."""
        self._start_task(self._log_in(checking))

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        self._waiting = None  # later appends must not overtake this request
        self._count += 1
        self._last_task = number = self._last_task + 1
        task = self._tasks[number] = self._loop.create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(number))

    def _begin(self, appends: list[tuple[PlainAppend, "_Request"]]) -> None:
        """Begin the appends received in one turn of the event loop."""
        if self._waiting is appends:
            self._waiting = None
        for append, request in appends:
            try:
                future = append.begin()
            except Exception as error:
                self._end(request, _refused(request, error))
            else:
                future.add_done_callback(partial(self._committed, append, request))

    def _committed(
        self, append: PlainAppend, request: "_Request", future: asyncio.Future[Any]
    ) -> None:
        try:
            answer = append.answer(future.result())
        except (Exception, asyncio.CancelledError) as error:
            answer = _refused(request, error)
        self._end(request, answer)

    async def _answer(self, answering: Awaitable[bytes], request: "_Request") -> None:
        try:
            answer = await answering
        except Exception as error:
            answer = _refused(request, error)
        finally:
            self._give_back(request)
        self._send(answer)
        self._ended()

    def _end(self, request: "_Request", answer: bytes) -> None:
        self._give_back(request)
        self._send(answer)
        self._ended()

    def _give_back(self, request: "_Request") -> None:
        self._count -= 1
        request.place.request_ended()
        for limit in self._limits:
            limit.give_back(request.size_bytes)
        if request.change is not None:
            self._changes.end(request.change)

    async def _log_in(self, checking: Coroutine[Any, Any, None]) -> None:
        try:
            await checking
        finally:
            self._count -= 1
        self._ended()


class _Request(msgspec.Struct, frozen=True):
    """A request that is not answered yet; `size_bytes` counts towards the limits.

    `change` is the number of `Changes.begin`; None for a question.
    """

    correlation_id: int
    size_bytes: int
    place: Place
    change: int | None


def _refused(request: _Request, error: BaseException) -> bytes:
    """Return the frame with the error of a request."""
    if not isinstance(error, MetadataLogError):
        _logger.error("request %d failed", request.correlation_id, exc_info=error)
        error = UnavailableError(
            "the server failed; the outcome is unknown; see the server's log",
            outcome=Outcome.UNKNOWN,
        )
    return encode_refused(Refused(correlation_id=request.correlation_id, error=error))
