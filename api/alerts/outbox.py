"""Delivers notifications to each receiver: in order, at least once, with retries."""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from api.alerts.notification import Notification, Status
from api.alerts.receivers import TROUBLES, Receiver
from api.alerts.state import StateFile, Waiting
from records.errors import UnavailableError

log = logging.getLogger(__name__)

_FIRST_S, _LONGEST_S = 1.0, 300.0
"""First and longest pause between attempts; it doubles, and is cut at random by up to half."""

GIVE_UP_S = 24 * 3600
"""A notification that a receiver has not accepted for this long is dropped."""

_MARK_S = 1.0

WAITING_MAX = 1_000
"""While so many notifications wait, checking pauses; the log keeps the unchecked records."""


class Outbox:
    """Sends the waiting notifications of a state file.

    Sent notifications are removed from the file when none waits for their receiver, otherwise once
    a second: a thousand alerts at once take a few writes of the file, not a thousand.

    Attributes:
        has_fired: Set when a firing alert was delivered since the start, and none waits.
    """

    def __init__(
        self,
        file: StateFile,
        receivers: Mapping[str, Receiver],
        timeout_s: float,
    ) -> None:
        """Send to the given receivers, by name; notifications for any other receiver are dropped.

        Args:
            timeout_s: How long a receiver may take.
        """
        self._file, self._receivers, self._timeout_s = file, receivers, timeout_s
        self._changed = asyncio.Condition()
        self.has_fired = asyncio.Event()
        self._fired = False
        self._queues: dict[str, deque[Waiting]] = {name: deque() for name in receivers}
        for each in file.state.waiting:
            if each.receiver in self._queues:
                self._queues[each.receiver].append(each)
        self._saved_at = 0.0

    @property
    def count(self) -> int:
        """How many notifications wait; one that waits for two receivers counts twice."""
        return sum(map(len, self._queues.values()))

    def save(self, **changes: Any) -> None:
        """Save the waiting notifications and other fields of the state; as `StateFile.save`."""
        self._saved_at = time.time()
        self._file.save(waiting=tuple(chain.from_iterable(self._queues.values())), **changes)

    async def add(self, found: Sequence[Notification], **changes: Any) -> None:
        """Save notifications as waiting for every receiver, with other fields of the state.

        Raises:
            UnavailableError: the disk is full; nothing was added.
        """
        now_ms = int(time.time() * 1_000)
        async with self._changed:
            before = {name: queue.copy() for name, queue in self._queues.items()}
            for name, queue in self._queues.items():
                queue.extend(
                    Waiting(receiver=name, since_ms=now_ms, notification=each) for each in found
                )
            try:
                self.save(**changes)
            except UnavailableError:
                self._queues = before
                raise
            self._changed.notify_all()

    async def room(self) -> None:
        """Wait until fewer than WAITING_MAX notifications wait."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.count < WAITING_MAX)

    async def run(self) -> None:
        """Deliver, without end."""
        async with asyncio.TaskGroup() as tasks:
            for name, receiver in self._receivers.items():
                tasks.create_task(self._deliver(name, receiver))

    async def _deliver(self, name: str, receiver: Receiver) -> None:
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._queues[name])
                waiting = self._queues[name][0]
            await self._send(receiver, waiting)
            async with self._changed:
                self._queues[name].popleft()
                if not self._queues[name] or time.time() - self._saved_at >= _MARK_S:
                    self.save()
                self._changed.notify_all()
            self._fired |= waiting.notification.status is Status.FIRING
            if self._fired and not self.count:
                self.has_fired.set()

    async def _send(self, receiver: Receiver, waiting: Waiting) -> None:
        """Send a notification until it is accepted or too old."""
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
            if time.time() - waiting.since_ms / 1_000 > GIVE_UP_S:
                log.error("%s is given up after a day: %s", what, trouble)
                return
            wait_s = min(_FIRST_S * 2.0**failures, _LONGEST_S) * random.uniform(0.5, 1.0)
            failures = min(failures + 1, 10)
            log.warning("%s was not taken: %s; again in %.0f s", what, trouble, wait_s)
            await asyncio.sleep(wait_s)
