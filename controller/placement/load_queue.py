"""Brokers in the order of their load, for a load that only grows.

Entries of the heap may be older than the load. One that has become too light is put right when it
comes to the front, so counting costs nothing where it happens.
"""

import heapq
from collections.abc import Collection, Mapping

from controller.placement.placer import PlacementRng

_MASK = (1 << 30) - 1

Entry = tuple[int, int, int]
"""Load, tie-breaker, broker id."""

_SATED = 1 << 60
"""Added to the load of a broker that has had its share, so that it comes after all others."""


class TieBreaker:
    """Cheap chance: one number from outside, and what a linear congruence makes of it."""

    def __init__(self, rng: PlacementRng) -> None:
        self._state = rng.randrange(_MASK)

    def next(self) -> int:
        """Return a number below 2**20."""
        self._state = (self._state * 1_103_515_245 + 12_345) & _MASK
        return self._state >> 10


class LoadQueue:
    """Some brokers, the least loaded first.

    `given` is what each has been given of the topic at hand; who reaches the limit comes last.
    """

    def __init__(
        self, broker_ids: Collection[int], loads: Mapping[int, int], ties: TieBreaker
    ) -> None:
        """Order brokers.

        Args:
            loads: By broker id; counted up by whoever owns it.
        """
        self._broker_ids = broker_ids
        self._loads = loads
        self._ties = ties
        self._heap: list[Entry] = [self._entry(broker_id) for broker_id in broker_ids]
        heapq.heapify(self._heap)
        self._limit = 0
        self._sated: list[int] = []
        self.given: dict[int, int] = {}

    def begin_topic(self, limit: int) -> None:
        """Let everybody take part again."""
        for broker_id in self._sated:
            heapq.heappush(self._heap, self._entry(broker_id))
        self._sated = []
        self._limit = limit
        self.given = dict.fromkeys(self._broker_ids, 0)

    def least(self, excluded: Collection[int]) -> Entry:
        """Return the first entry that is not excluded; one past every load if there is none."""
        heap, loads, given, limit = self._heap, self._loads, self.given, self._limit
        passed: list[Entry] = []
        while heap:
            entry = heap[0]
            broker_id = entry[2]
            if given[broker_id] >= limit:
                heapq.heappop(heap)
                self._sated.append(broker_id)
            elif entry[0] != loads[broker_id]:
                heapq.heapreplace(heap, self._entry(broker_id))
            elif broker_id in excluded:
                passed.append(heapq.heappop(heap))
            else:
                break
        else:
            entry = self._least_sated(excluded)
        for each in passed:
            heapq.heappush(heap, each)
        return entry

    def _least_sated(self, excluded: Collection[int]) -> Entry:
        left = [self._entry(b) for b in self._sated if b not in excluded]
        load, tie, broker_id = min(left, default=(_SATED, 0, -1))
        return load + _SATED, tie, broker_id

    def _entry(self, broker_id: int) -> Entry:
        return self._loads[broker_id], self._ties.next(), broker_id
