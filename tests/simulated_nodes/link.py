"""A node's way to the store: it is slow, is cut, and loses what it carries."""

import asyncio
from collections import Counter
from random import Random

from records.errors import Outcome, UnavailableError


class Link:
    """The connections of one process.

    Attributes:
        is_cut: No request arrives, and no answer.
        is_dead: The process has ended.
        fates: What happens to the next writes of groups; each store knows its own.
        lease_fates: The same for those of the lease.
        delay_s: Time that each request takes on its way.
    """

    def __init__(self, random: Random, events: Counter[str]) -> None:
        self.random = random
        self._events = events
        self.is_cut = False
        self.is_dead = False
        self.fates: list[str] = []
        self.lease_fates: list[str] = []
        self.delay_s = 0.0

    def heal(self) -> None:
        """End all faults."""
        self.is_cut, self.delay_s = False, 0.0
        self.fates.clear()
        self.lease_fates.clear()

    def next_fate(self, what: str) -> str | None:
        """Return what happens to a write: of a `group`, a `claim` or the `lease`."""
        fates = self.lease_fates if what == "lease" else self.fates
        fate = fates.pop(0) if fates else None
        if fate is not None:
            self._events[f"{what}: {fate}"] += 1
        return fate

    async def reach(self) -> None:
        """Let a request arrive.

        Raises:
            UnavailableError: with outcome NOTHING, it does not.
        """
        if self.is_dead or self.is_cut:
            await asyncio.sleep(0.01)
            raise UnavailableError("the store cannot be reached")
        await asyncio.sleep(self.delay_s + self.random.uniform(0.000_1, 0.004))
        if self.is_dead or self.is_cut:
            raise UnavailableError("the store cannot be reached")

    async def come_back(self) -> None:
        """Let an answer arrive.

        Raises:
            UnavailableError: with outcome UNKNOWN, it does not.
        """
        await asyncio.sleep(self.random.uniform(0.000_1, 0.004))
        if self.is_dead or self.is_cut:
            raise lost_answer()


def lost_answer() -> UnavailableError:
    return UnavailableError("the answer was lost", outcome=Outcome.UNKNOWN)
