"""Priority queue of brokers by load, for loads that only grow.

Brokers of equal load share a bucket; the least loaded brokers are ready, in random order. Loads may
also be increased outside the queue: such a broker is moved to its bucket only when it reaches the
front, so increasing a load costs nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from controller.placement.placer import PlacementRng

_MASK = (1 << 30) - 1

_SATED = 1 << 60
"""Added to the load of a broker that has had its share of the topic, so that it comes last."""

NOBODY = 1 << 61
"""Load at the front of a queue without brokers; larger than every other load."""


class TieBreaker:
    """Cheap random numbers: one seed, expanded by a linear congruential generator."""

    def __init__(self, rng: PlacementRng) -> None:
        self._state = rng.randrange(_MASK)

    def next(self, _: object = None) -> int:
        """Return a number below 2**20; used as a sort key, it shuffles."""
        self._state = state = (self._state * 1_103_515_245 + 12_345) & _MASK
        return state >> 10


class LoadQueue:
    """Queue of brokers, the least loaded first; those that had their share of the topic come last.

    Invariant: each ready broker had load `ready_load` when it became ready, and no bucket is for a
    lower load.
    """

    __slots__ = (
        "_before",
        "_buckets",
        "_limit",
        "_loads",
        "_passed",
        "_ready",
        "_ready_load",
        "_sated",
        "_ties",
    )

    def __init__(self, broker_ids: Iterable[int], loads: dict[int, int], ties: TieBreaker) -> None:
        """Order brokers by load.

        Args:
            loads: Load by broker id; may also be increased from outside.
        """
        self._loads = loads
        self._ties = ties
        self._buckets: defaultdict[int, list[int]] = defaultdict(list)
        for broker_id in broker_ids:
            self._buckets[loads[broker_id]].append(broker_id)
        self._ready: list[int] = []
        self._ready_load = 0
        self._passed: list[int] = []
        self._sated: list[int] = []
        self._before: Mapping[int, int] = loads
        self._limit = 1

    def begin_topic(self, before: Mapping[int, int], limit: int) -> None:
        """Start the placement of a topic, with a new share for each broker.

        Args:
            before: Load by broker id, before the topic.
            limit: Share of each broker: how much the topic may add to its load.
        """
        self._before = before
        self._limit = limit
        if self._sated:
            self._put_back(self._sated)

    def front(self, excluded: Collection[int] = ()) -> int:
        """Return the load of the first broker that is not excluded.

        If that broker already has its share, the result is higher than any real load. If all
        brokers are excluded, it is NOBODY.
        """
        broker_id = self._pop(excluded)
        if broker_id is None:
            return NOBODY
        self._ready.append(broker_id)
        return self._ready_load

    def take(self, excluded: Collection[int] = ()) -> int:
        """Return the first broker not excluded (there must be one), and add 1 to its load."""
        broker_id = self._pop(excluded)
        assert broker_id is not None, "not all brokers are excluded"
        loads = self._loads
        loads[broker_id] = load = loads[broker_id] + 1
        self._put(broker_id, load)
        return broker_id

    def _pop(self, excluded: Collection[int]) -> int | None:
        if self._passed:
            self._put_back(self._passed)
        loads = self._loads
        while True:
            ready, ready_load = self._ready, self._ready_load
            while ready:
                broker_id = ready.pop()
                load = loads[broker_id]
                if load != ready_load:
                    self._put(broker_id, load)
                elif broker_id in excluded:
                    self._passed.append(broker_id)
                else:
                    return broker_id
            if not self._buckets:
                return self._pop_sated(excluded)
            self._ready_load = least = min(self._buckets)
            self._ready = self._buckets.pop(least)
            self._ready.sort(key=self._ties.next)

    def _pop_sated(self, excluded: Collection[int]) -> int | None:
        left = [b for b in self._sated if b not in excluded]
        if not left:
            return None
        least = min(left, key=lambda b: (self._loads[b], self._ties.next()))
        self._sated.remove(least)
        self._ready_load = self._loads[least] + _SATED
        return least

    def _put(self, broker_id: int, load: int) -> None:
        if load - self._before[broker_id] >= self._limit:
            self._sated.append(broker_id)
        else:
            self._buckets[load].append(broker_id)

    def _put_back(self, broker_ids: list[int]) -> None:
        """Put brokers back into the queue.

        If one of them has less load than the ready brokers, these are put back, too, so that the
        least loaded brokers are ready next.
        """
        loads = self._loads
        back = broker_ids.copy()
        broker_ids.clear()
        if min([loads[broker_id] for broker_id in back]) < self._ready_load:
            back += self._ready
            self._ready.clear()
        for broker_id in back:
            self._put(broker_id, loads[broker_id])
