"""Timers of the controller: periodic decisions, submitted when they are due.

After a timer is submitted, it is due again after its interval; after a pause if it has more to do,
and after a minute if it failed. The pause grows with the time of the decision, so that requests and
heartbeats are answered between long decisions. Time comes only from the clock, so a test or a
simulation advances the clock and calls `run_due`; `run` sleeps in between.

Source: docs/kafka_rules.md, sections 1 (failed events), 5 (rebalance, unclean sweep) and 8
(sessions); KIP-694 (check of delayed removals).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from controller.asked.asked import BoundDecision
from controller.controller import Controller
from controller.decider import Decision
from controller.decisions.brokers.heartbeats import fence_stale_broker, stale_reason
from controller.decisions.config_definitions.brokers import (
    REMOVAL_INTERVAL,
)
from controller.decisions.config_definitions.definition import whole_number
from controller.decisions.configs.effective import server_config
from controller.decisions.context.context import Settings
from controller.decisions.partitions.elections import balance_leaders, elect_unclean_leaders
from controller.decisions.security.tokens import check_interval_ms, remove_expired_tokens
from controller.decisions.topics.partition_removal import advance_removals
from metadata_log.writer.clock import Clock
from records.envelope import Origin
from records.errors import MetadataLogError

log = logging.getLogger(__name__)

# How late an expired session may be noticed.
_SESSION_CHECK_MS = 1_000
_HOUSEKEEPING_MS = 300_000
_MORE_TO_DO_MS = 10
# Pause after a decision with more to do, as a share of its time: a broker of 120,000 replicas
# leaves them in 120 steps, between which an answer takes several turns of the event loop.
_PAUSE_SHARE = 0.1
_AFTER_FAILURE_MS = 60_000


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    """A periodic decision.

    `has_more` is called with the response and returns True if there is more to do, so that each
    decision stays small. `interval_ms` is called at every check, so that a changed config applies
    immediately, even to the current interval. `reason` returns what the records' origin says.
    """

    name: str
    decide: Decision[Any]
    interval_ms: Callable[[Controller], int]
    has_more: Callable[[Any], bool]
    reason: Callable[[Settings], str]

    def origin(self, settings: Settings) -> Origin:
        """Return the origin of the timer's records."""
        return Origin(principal="controller", command=self.name, reason=self.reason(settings))


def _removal_interval_ms(controller: Controller) -> int:
    interval_ms = whole_number(server_config(controller.view, REMOVAL_INTERVAL, ""))
    return _HOUSEKEEPING_MS if interval_ms is None else max(interval_ms, 1)


TIMERS = (
    Timer(
        name="fence stale broker",
        decide=fence_stale_broker,
        interval_ms=lambda _: _SESSION_CHECK_MS,
        has_more=lambda broker_id: broker_id is not None,
        reason=lambda settings: stale_reason(settings.session_timeout_ms),
    ),
    Timer(
        name="advance removals",
        decide=advance_removals,
        interval_ms=_removal_interval_ms,
        has_more=lambda _: False,
        reason=lambda _: "partitions wait for removal",
    ),
    Timer(
        name="balance leaders",
        decide=balance_leaders,
        interval_ms=lambda _: _HOUSEKEEPING_MS,
        has_more=bool,
        reason=lambda _: "partitions are not led by their preferred replica",
    ),
    Timer(
        name="elect unclean leaders",
        decide=elect_unclean_leaders,
        interval_ms=lambda _: _HOUSEKEEPING_MS,
        has_more=lambda _: False,
        reason=lambda _: "topics that would rather lose records than have no leader",
    ),
    Timer(
        name="remove expired tokens",
        decide=remove_expired_tokens,
        interval_ms=lambda controller: check_interval_ms(controller.settings),
        has_more=bool,
        reason=lambda _: "the time of delegation tokens is over",
    ),
)


_PAUSE_MS = 100
"""A wait that takes this much longer than requested counts as a pause of this process."""


_WAIT_MAX_MS = 200
"""Longest wait. If this process pauses, at most this much counts against the brokers' sessions.
It is also the longest time until a changed config applies.
"""


class _Wait(msgspec.Struct, frozen=True):
    """The wait for a timer: its start, ms since 1970, and its duration.

    A duration of None means the timer's interval.
    """

    start_ms: int
    duration_ms: int | None = None


class Timers:
    """Submits each timer's decision when it is due."""

    def __init__(self, controller: Controller, clock: Clock) -> None:
        """Start the intervals of all timers now."""
        self._controller = controller
        self._clock = clock
        start = _Wait(clock.now_ms())
        self._waits = {timer.name: start for timer in TIMERS}

    @property
    def next_due_ms(self) -> int:
        """Return when `run_due` must be called next, by current configs; ms since 1970."""
        return min([self._due_ms(timer) for timer in TIMERS])

    async def run_due(self) -> list[str]:
        """Submit the timers that are due, one after the other; return their names.

        A timer that failed is due again after a minute; no timer is due while the controller is not
        active.
        """
        decided = []
        for timer in TIMERS:
            if self._due_ms(timer) <= self._clock.now_ms() and self._controller.is_active:
                start_ms = self._clock.now_ms()
                self._waits[timer.name] = _Wait(start_ms, await self._decide(timer))
                decided.append(timer.name)
        return decided

    async def run(self, sleep_ms: Callable[[int], Awaitable[None]] | None = None) -> None:
        """Run until the controller has resigned.

        Args:
            sleep_ms: Function to wait with; None means the event loop's sleep.
        """
        wait = sleep_ms or _sleep_ms
        while not self._controller.has_resigned:
            left_ms = self.next_due_ms - self._clock.now_ms()
            wait_ms = min(max(left_ms, _MORE_TO_DO_MS), _WAIT_MAX_MS)
            start_ms = self._clock.now_ms()
            await wait(wait_ms)
            pause_ms = self._clock.now_ms() - start_ms - wait_ms
            if pause_ms >= _PAUSE_MS:
                # The loop was blocked, or the process or its machine was stopped: heartbeats wait
                # in the connections, and are read after this.
                self._controller.paused(pause_ms)
            await self.run_due()

    def _due_ms(self, timer: Timer) -> int:
        wait = self._waits[timer.name]
        if wait.duration_ms is None:
            return wait.start_ms + timer.interval_ms(self._controller)
        return wait.start_ms + wait.duration_ms

    async def _decide(self, timer: Timer) -> int | None:
        """Submit a timer's decision.

        Returns:
            The time from the start of the decision until the timer is due again, in ms; None for
            the timer's interval.
        """
        start_ms = self._clock.now_ms()
        try:
            answer = await self._controller.submit(
                BoundDecision(timer.name, timer.decide),
                origin=timer.origin(self._controller.settings),
            )
        except MetadataLogError:
            return _AFTER_FAILURE_MS
        except Exception:
            log.exception("%s failed by a mistake of its own", timer.name)
            return _AFTER_FAILURE_MS
        if not timer.has_more(answer.response):
            return None
        took_ms = self._clock.now_ms() - start_ms
        return took_ms + max(_MORE_TO_DO_MS, int(took_ms * _PAUSE_SHARE))


async def _sleep_ms(duration_ms: int) -> None:
    await asyncio.sleep(duration_ms / 1_000)
