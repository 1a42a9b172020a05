"""The default placement: new partitions go where there is least, over all topics.

Leaders and replicas are counted per broker as they stand now, so brokers that joined late catch up
and odd numbers of partitions do not pile up, which the classic placements leave to chance. For
each partition the leader is the broker that is preferred least often; then its followers are those
that hold fewest replicas, in racks not used yet as long as there are some (when every broker has a
rack). Ties are broken by chance anew each time, so that partitions of one leader have different
followers.

A broker that is empty would take a whole topic. So of one topic it takes no more than twice its
fair share, as long as others can take the rest.

Costs O(brokers + replicas placed * log brokers), whatever the number of partitions that exist.
"""

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Sequence

from controller.placement.placer import PlacementRng, UsableBroker, check_counts
from controller.refusals import invalid_replication_factor

_Load = tuple[int, int]
_TIE_BREAKERS = 1 << 30


class BalancedPlacer:
    """Places by what each broker leads and holds."""

    def place(
        self,
        *,
        brokers: Sequence[UsableBroker],
        partitions: int,
        replication_factor: int,
        start_partition_id: int,
        rng: PlacementRng,
    ) -> list[tuple[int, ...]]:
        """See `Placer.place`. `start_partition_id` has no influence: the load tells it all."""
        check_counts(partitions, replication_factor, len(brokers))
        if all(broker.fenced for broker in brokers):
            raise invalid_replication_factor("all brokers are fenced")
        followers = Followers(brokers, rng, replicas=partitions * replication_factor)
        leaders = _Leaders(brokers, followers, rng, partitions=partitions)
        placed = []
        for _ in range(partitions):
            replicas = [leaders.take()]
            while len(replicas) < replication_factor:
                replicas.append(followers.take(replicas))
            placed.append(tuple(replicas))
        return placed


class Followers:
    """Who holds fewest replicas, apart in each rack."""

    def __init__(
        self, brokers: Sequence[UsableBroker], rng: PlacementRng, *, replicas: int
    ) -> None:
        """Prepare to place that many `replicas` of one topic on usable brokers."""
        racks_known = all(broker.rack is not None for broker in brokers)
        self.held = {broker.broker_id: broker.replicas for broker in brokers}
        self._fenced = {broker.broker_id: broker.fenced for broker in brokers}
        self._racks = {b.broker_id: b.rack if racks_known else None for b in brokers}
        limit = _limit(replicas, len(brokers))
        self._queues = {
            rack: _Queue((b for b in self._racks if self._racks[b] == rack), self._load, limit, rng)
            for rack in dict.fromkeys(self._racks.values())
        }

    def take(self, replicas: Collection[int]) -> int:
        """Return a broker to join `replicas`, and count it; there must be one left."""
        used = {self._racks[replica] for replica in replicas if replica in self._racks}
        queues = [queue for rack, queue in self._queues.items() if rack not in used]
        found = min(
            filter(None, (queue.least(replicas) for queue in queues or self._queues.values()))
        )
        self.count(found[-1])
        return found[-1]

    def count(self, broker_id: int) -> None:
        """Count one more replica on a broker."""
        self.held[broker_id] += 1
        self._queues[self._racks[broker_id]].given[broker_id] += 1

    def _load(self, broker_id: int) -> _Load:
        """Fenced brokers come last: they hold replicas that nobody can use yet."""
        return self._fenced[broker_id], self.held[broker_id]


class _Leaders:
    """Who is preferred as leader least often, and among those holds fewest replicas."""

    def __init__(
        self,
        brokers: Sequence[UsableBroker],
        followers: Followers,
        rng: PlacementRng,
        *,
        partitions: int,
    ) -> None:
        """Prepare to place the leaders of that many `partitions` of one topic."""
        self._followers = followers
        self._led = {broker.broker_id: broker.leaders for broker in brokers if not broker.fenced}
        self._queue = _Queue(self._led, self._load, _limit(partitions, len(self._led)), rng)

    def take(self) -> int:
        """Return the leader of the next partition, and count it here and among the replicas."""
        found = self._queue.least(())
        assert found is not None, "one broker is unfenced"
        broker_id = found[-1]
        self._led[broker_id] += 1
        self._queue.given[broker_id] += 1
        self._followers.count(broker_id)
        return broker_id

    def _load(self, broker_id: int) -> _Load:
        return self._led[broker_id], self._followers.held[broker_id]


class _Queue:
    """Brokers in the order of their load, which only grows.

    `given` is what each has been given of this topic. Entries of the heap may be older than the
    load; they are put right when they come to the front.
    """

    def __init__(
        self,
        broker_ids: Iterable[int],
        load: Callable[[int], _Load],
        limit: int,
        rng: PlacementRng,
    ) -> None:
        self._load = load
        self._limit = limit
        self._rng = rng
        self._heap = [self._entry(broker_id) for broker_id in broker_ids]
        heapq.heapify(self._heap)
        self.given = {broker_id: 0 for *_, broker_id in self._heap}
        # Those at their limit; asked when nobody else is left.
        self._sated: list[int] = []

    def least(self, excluded: Collection[int]) -> tuple[bool, _Load, int, int] | None:
        """Return the best broker not excluded: whether sated, load, tie-breaker, id."""
        passed = []
        found = None
        while self._heap and found is None:
            entry = self._front()
            if entry is None:
                continue
            passed.append(entry)
            if entry[-1] not in excluded:
                found = (False, *entry)
        for entry in passed:
            heapq.heappush(self._heap, entry)
        if found is None:
            sated = (b for b in self._sated if b not in excluded)
            found = min(((True, *self._entry(b)) for b in sated), default=None)
        return found

    def _front(self) -> tuple[_Load, int, int] | None:
        """Take the first entry off the heap; None when it was no longer right."""
        entry = heapq.heappop(self._heap)
        broker_id = entry[-1]
        if self.given[broker_id] >= self._limit:
            self._sated.append(broker_id)
            return None
        if entry[0] != self._load(broker_id):
            heapq.heappush(self._heap, self._entry(broker_id))
            return None
        return entry

    def _entry(self, broker_id: int) -> tuple[_Load, int, int]:
        return self._load(broker_id), self._rng.randrange(_TIE_BREAKERS), broker_id


def _limit(count: int, broker_count: int) -> int:
    """Return how many of `count` one broker takes: up to twice its fair share."""
    return max(math.ceil(count / broker_count), 2 * count // broker_count)
