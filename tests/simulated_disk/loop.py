"""An event loop without a clock, a selector or threads: every run is the same.

Time stands still until `advance`, or until only timers are left. Work for a thread is run at once.
A callback belongs to the process of its context, if `PROCESS` is set there. A paused process runs
no callbacks, while time goes on for the others, as with SIGSTOP.
"""

import asyncio
import contextlib
import heapq
import itertools
from asyncio import AbstractEventLoop, Future, Handle, Task, TimerHandle
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextvars import Context, ContextVar
from typing import Any, TypeVar, TypeVarTuple, cast

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

PROCESS: ContextVar[object] = ContextVar("PROCESS", default=None)


class Stuck(Exception):
    """No callback is left to run, and the awaited result has not come."""


class SimulatedLoop:
    """Runs callbacks in the order in which they were scheduled.

    It has those methods of an `AbstractEventLoop` that tasks, futures, timers and executors need.

    Attributes:
        errors: Exceptions that were never retrieved.
        at_rest: Called whenever no callback is left to run before the time moves on.
    """

    def __init__(self) -> None:
        self._ready: deque[Handle] = deque()
        self._timers: list[tuple[float, int, TimerHandle]] = []
        self._numbers = itertools.count()
        self._paused: dict[object, list[Handle]] = {}
        self._now = 0.0
        self.at_rest: Callable[[], None] = _nothing
        self.errors: list[BaseException] = []

    @property
    def _self(self) -> AbstractEventLoop:
        return cast(AbstractEventLoop, self)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run until a coroutine is done.

        Raises:
            Stuck: it waits for something that never happens.
        """
        task = Task(coroutine, loop=self._self)
        self._run_while(lambda: not task.done())
        if not task.done():
            raise Stuck
        return task.result()

    def advance(self, seconds: float) -> None:
        """Advance the time, and run the callbacks that become due."""
        until = self._now + seconds
        self._run_while(lambda: bool(self._ready or self._due(until)), until)
        with self._running():
            self.at_rest()
        self._now = until

    def forget(self) -> None:
        """Drop all waiting callbacks, as if the process had died."""
        self._ready.clear()
        self._timers.clear()
        self._paused.clear()

    def pause(self, process: object) -> None:
        """Hold all callbacks of a process back."""
        self._paused.setdefault(process, [])

    def resume(self, process: object) -> None:
        """Run the callbacks of a process that were held back, and go on with it."""
        self._ready.extend(self._paused.pop(process, ()))

    def is_paused(self, process: object) -> bool:
        return process in self._paused

    def _run_while(self, wanted: Callable[[], bool], until: float | None = None) -> None:
        with self._running():
            while wanted():
                if not self._ready and not self._fire_timer(until):
                    return
                handle = self._ready.popleft()
                if self._paused and (held := self._held_back(handle)) is not None:
                    held.append(handle)
                elif not handle.cancelled():
                    handle._run()

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        """Be the loop that runs while the body runs."""
        asyncio._set_running_loop(self._self)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    def _held_back(self, handle: Handle) -> list[Handle] | None:
        return self._paused.get(handle._context.get(PROCESS))  # type: ignore[attr-defined]

    def _due(self, until: float) -> bool:
        return bool(self._timers) and self._timers[0][0] <= until

    def _fire_timer(self, until: float | None) -> bool:
        self.at_rest()
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers or (until is not None and not self._due(until)):
            return False
        when, _, timer = heapq.heappop(self._timers)
        self._now = max(self._now, when)
        self._ready.append(timer)
        return True

    # What asyncio asks of a loop.

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def create_future(self) -> Future[Any]:
        return Future(loop=self._self)

    def create_task(self, coro: Any, **options: Any) -> Task[Any]:
        return Task(coro, loop=self._self, **options)

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle:
        handle = Handle(callback, args, self._self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        timer = TimerHandle(when, callback, args, self._self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def _timer_handle_cancelled(self, handle: TimerHandle) -> None:
        """Do nothing: a cancelled timer is skipped when it is the next."""

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> Future[T]:
        future: Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.errors.append(error)


def _nothing() -> None:
    """Nobody looks."""
