"""What a controller does without being asked: each event comes again and again, in real time.

The times are those of Kafka's controller (300 s) and of the proposal for fewer partitions.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from controller.controller import Decision
from controller.decisions.context import Context, Settings
from controller.decisions.effective_configs import server_config
from controller.decisions.elections import balance_leaders, elect_unclean_leaders
from controller.decisions.heartbeats import fence_stale_broker
from controller.decisions.modes import advance_removals
from controller.parking import Answer
from controller.result import ControllerResult
from records.envelope import Origin
from records.errors import RequestError

T = TypeVar("T")

log = logging.getLogger(__name__)

REMOVAL_INTERVAL = "delete.topic.partition.interval.delay.ms"
"""Config: how often pending removals of partitions are looked at."""

REMOVAL_INTERVAL_DEFAULT_MS = 300_000
BALANCE_INTERVAL_S = 300.0
_BALANCE_AGAIN_S = 0.01
_SESSION_CHECKS = 18
"""A broker is fenced at most an 18th of the session time-out late: 0.5 s of 9."""


class Submitter(Protocol):
    """What timers need of a service."""

    @property
    def settings(self) -> Settings:
        """What the controller was started with."""

    @property
    def is_active(self) -> bool:
        """Whether decisions are taken."""

    async def submit(self, decide: Decision[T], *, origin: Origin | None = None) -> Answer[T]:
        """Decide, and answer once it is committed."""


class Timers:
    """The timers of one service."""

    def __init__(self, service: Submitter) -> None:
        self._service = service
        self._tasks: list[asyncio.Task[None]] = []
        self._lost = asyncio.Event()

    def start(self) -> None:
        """Let them run."""
        for name, loop in (
            ("sessions", self._sessions),
            ("removals", self._removals),
            ("leaders", self._leaders),
        ):
            self._tasks.append(asyncio.create_task(self._guarded(loop()), name=f"timer: {name}"))

    async def stop(self) -> None:
        """End them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def lost(self) -> None:
        """Return when the controller has lost its log."""
        await self._lost.wait()

    async def _guarded(self, loop: Coroutine[Any, Any, None]) -> None:
        try:
            await loop
        except Exception:
            log.exception("a timer has failed; the service stops")
        self._lost.set()

    async def _try(self, decide: Decision[T]) -> T | None:
        try:
            answer = await self._service.submit(decide, origin=_ORIGIN)
        except RequestError as error:
            # The log could not be written; whether for good is what `is_active` says.
            log.warning("a timer's decision was not taken: %s", error)
            return None
        return answer.response

    async def _sessions(self) -> None:
        pause = self._service.settings.session_timeout_ms / _SESSION_CHECKS / 1_000
        while self._service.is_active:
            await asyncio.sleep(pause)
            while await self._try(fence_stale_broker) is not None:
                pass  # one at a time, so that each choice of leaders sees who else is gone

    async def _removals(self) -> None:
        while self._service.is_active:
            interval_ms = await self._try(_removal_interval)
            await asyncio.sleep((interval_ms or REMOVAL_INTERVAL_DEFAULT_MS) / 1_000)
            await self._try(advance_removals)

    async def _leaders(self) -> None:
        pause = BALANCE_INTERVAL_S
        while self._service.is_active:
            await asyncio.sleep(pause)
            some_left = await self._try(balance_leaders)
            pause = _BALANCE_AGAIN_S if some_left else BALANCE_INTERVAL_S
            await self._try(elect_unclean_leaders)


_ORIGIN = Origin(principal="controller", command="timer")


def _removal_interval(context: Context) -> ControllerResult[int]:
    text = server_config(context, REMOVAL_INTERVAL, str(REMOVAL_INTERVAL_DEFAULT_MS))
    return ControllerResult(response=int(text) if text.isdecimal() else REMOVAL_INTERVAL_DEFAULT_MS)
