"""Delivers notifications: at least once to each receiver, in order, again and again if it fails."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from api.alerts.notification import Notification, Status
from api.alerts.receivers import TROUBLES, Receiver
from api.alerts.state import StateFile, Waiting

log = logging.getLogger(__name__)

_FIRST_S, _LONGEST_S = 1.0, 300.0
"""From one attempt to the next: it doubles, and is cut at random by up to a half."""

GIVE_UP_S = 24 * 3600
"""A notification that a receiver did not take for so long is dropped."""

WAITING_MAX = 1_000
"""While so many wait, nothing more is checked: the log itself keeps what is not told yet."""


class Outbox:
    """Sends what waits in a state file.

    Attributes:
        has_fired: Set when an alert that fires was delivered since the start, and nothing waits.
    """

    def __init__(
        self,
        file: StateFile,
        receivers: Mapping[str, Receiver],
        timeout_s: float,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Send to receivers by name; what waits for others is dropped.

        Args:
            timeout_s: How long a receiver may take.
            clock: Returns seconds since 1970.
        """
        self._file, self._receivers, self._timeout_s = file, receivers, timeout_s
        self._clock = clock
        self._changed = asyncio.Condition()
        self.has_fired = asyncio.Event()
        self._fired = False
        waiting = [each for each in file.state.waiting if each.receiver in receivers]
        if len(waiting) < len(file.state.waiting):
            file.save(waiting=tuple(waiting))

    async def add(self, found: Sequence[Notification], **changes: Any) -> None:
        """Save notifications as waiting for every receiver, with other changes of the state."""
        now_ms = int(self._clock() * 1_000)
        new = [
            Waiting(receiver=name, since_ms=now_ms, notification=each)
            for each in found
            for name in self._receivers
        ]
        async with self._changed:
            self._file.save(waiting=(*self._file.state.waiting, *new), **changes)
            self._changed.notify_all()

    async def room(self) -> None:
        """Return once there is room for more."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._file.state.waiting) < WAITING_MAX)

    async def run(self) -> None:
        """Deliver, without end."""
        async with asyncio.TaskGroup() as tasks:
            for name, receiver in self._receivers.items():
                tasks.create_task(self._deliver(name, receiver))

    async def _deliver(self, name: str, receiver: Receiver) -> None:
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._next(name) is not None)
            waiting = self._next(name)
            assert waiting is not None
            await self._send(receiver, waiting)
            async with self._changed:
                rest = [each for each in self._file.state.waiting if each is not waiting]
                self._file.save(waiting=tuple(rest))
                self._changed.notify_all()
            self._note(waiting.notification)

    def _next(self, name: str) -> Waiting | None:
        waiting = self._file.state.waiting
        return next((each for each in waiting if each.receiver == name), None)

    def _note(self, told: Notification) -> None:
        self._fired |= told.status is Status.FIRING
        if self._fired and not self._file.state.waiting:
            self.has_fired.set()

    async def _send(self, receiver: Receiver, waiting: Waiting) -> None:
        """Send a notification until it is taken, or too old."""
        told, failures = waiting.notification, 0
        while True:
            try:
                async with asyncio.timeout(self._timeout_s):
                    await receiver.send(told)
                return
            except TimeoutError:
                trouble = f"no answer within {self._timeout_s:g} s"
            except BrokenPipeError:
                raise
            except TROUBLES as error:
                trouble = str(error)
            what = f"{waiting.receiver}: alert {told.id} of {told.check} ({told.status})"
            if self._clock() - waiting.since_ms / 1_000 > GIVE_UP_S:
                log.error("%s is given up after a day: %s", what, trouble)
                return
            wait_s = min(_FIRST_S * 2.0**failures, _LONGEST_S) * random.uniform(0.5, 1.0)
            failures = min(failures + 1, 10)
            log.warning("%s was not taken: %s; again in %.0f s", what, trouble, wait_s)
            await asyncio.sleep(wait_s)
