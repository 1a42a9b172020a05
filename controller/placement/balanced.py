"""The default placement: new partitions go where there is least, over all topics.

Leaders and replicas are counted per broker as they stand now, so brokers that joined late catch up
and odd numbers of partitions do not pile up, which the classic placements leave to chance. For
each partition the leader is the broker that is preferred least often; then its followers are those
that hold fewest replicas, in racks not used yet as long as there are some (when every broker has a
rack). Ties are broken by chance anew each time, so that partitions of one leader have different
followers.

A broker that is empty would take a whole topic. So of one topic it takes no more than twice its
fair share, as long as others can take the rest.

Costs O(brokers) a request, and O(log brokers + racks) for each replica, whatever the number of
partitions that exist.
"""

import math
from collections.abc import Sequence

from controller.placement.load_queue import LoadQueue, TieBreaker
from controller.placement.placer import (
    PlacementRng,
    PlacementRun,
    UsableBroker,
    check_counts,
)
from controller.refusals import invalid_replication_factor

# More than one request can place: it may make so many records at most.
_REPLICAS_MAX = 1 << 32


class BalancedPlacer:
    """Places by what each broker leads and holds."""

    def start(self, brokers: Sequence[UsableBroker], rng: PlacementRng) -> PlacementRun:
        """See `Placer.start`: what one topic is given counts for the next."""
        return _Run(brokers, rng)

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
        run = self.start(brokers, rng)
        return run.place(partitions, replication_factor, start_partition_id)


class Followers:
    """Who holds fewest replicas, apart in each rack. A topic begins with `begin_topic`."""

    def __init__(self, brokers: Sequence[UsableBroker], ties: TieBreaker) -> None:
        racks_known = all(broker.rack is not None for broker in brokers)
        self._rack_of = {b.broker_id: b.rack if racks_known else None for b in brokers}
        # Fenced brokers hold replicas that nobody can use yet, so they come after all others.
        last = 1 + max((broker.replicas for broker in brokers), default=0) + _REPLICAS_MAX
        self._load = {b.broker_id: b.replicas + (last if b.fenced else 0) for b in brokers}
        self._queues: dict[str | None, LoadQueue] = {}
        for rack in dict.fromkeys(self._rack_of.values()):
            in_rack = [b for b in self._load if self._rack_of[b] == rack]
            self._queues[rack] = LoadQueue(in_rack, self._load, ties)

    def begin_topic(self, replicas: int) -> None:
        """Forget what brokers were given of the topic before; this one has so many replicas."""
        limit = _limit(replicas, len(self._load))
        for queue in self._queues.values():
            queue.begin_topic(limit)

    def join(self, replicas: list[int], count: int) -> None:
        """Append that many brokers to a partition's replicas, and count them; they must be left."""
        rack_of, queues = self._rack_of, self._queues
        used = {rack_of[r] for r in replicas if r in rack_of}
        for _ in range(count):
            all_used = len(used) == len(queues)
            # Nobody in a rack that is not used yet can be a replica already.
            excluded = replicas if all_used else ()
            found = None
            for rack, queue in queues.items():
                if all_used or rack not in used:
                    entry = queue.least(excluded)
                    if found is None or entry < found:
                        found = entry
            assert found is not None, "there are as many brokers as replicas"
            self.count(found[2])
            used.add(rack_of[found[2]])
            replicas.append(found[2])

    def count(self, broker_id: int) -> None:
        """Count one more replica of the topic on a broker."""
        self._load[broker_id] += 1
        self._queues[self._rack_of[broker_id]].given[broker_id] += 1

    def count_other(self, broker_id: int) -> None:
        """Count one more replica that is not of the topic at hand."""
        if broker_id in self._load:
            self._load[broker_id] += 1


class _Run:
    """Places the topics of one request, one after the other."""

    def __init__(self, brokers: Sequence[UsableBroker], rng: PlacementRng) -> None:
        self._broker_count = len(brokers)
        ties = TieBreaker(rng)
        self._followers = Followers(brokers, ties)
        self._led = {broker.broker_id: broker.leaders for broker in brokers}
        unfenced = [broker.broker_id for broker in brokers if not broker.fenced]
        self._leaders = LoadQueue(unfenced, self._led, ties)
        self._leader_count = len(unfenced)

    def place(
        self, partitions: int, replication_factor: int, start_partition_id: int
    ) -> list[tuple[int, ...]]:
        """See `PlacementRun.place`."""
        check_counts(partitions, replication_factor, self._broker_count)
        if not self._leader_count:
            raise invalid_replication_factor("all brokers are fenced")
        self._leaders.begin_topic(_limit(partitions, self._leader_count))
        self._followers.begin_topic(partitions * replication_factor)
        return [self._place_one(replication_factor) for _ in range(partitions)]

    def count(self, replicas: Sequence[int]) -> None:
        """See `PlacementRun.count`."""
        if replicas[0] in self._led:
            self._led[replicas[0]] += 1
        for broker_id in replicas:
            self._followers.count_other(broker_id)

    def _place_one(self, replication_factor: int) -> tuple[int, ...]:
        leader = self._leaders.least(())[-1]
        self._led[leader] += 1
        self._leaders.given[leader] += 1
        self._followers.count(leader)
        replicas = [leader]
        self._followers.join(replicas, replication_factor - 1)
        return tuple(replicas)


def _limit(count: int, broker_count: int) -> int:
    """Return how many of `count` one broker takes: up to twice its fair share."""
    return max(math.ceil(count / broker_count), 2 * count // broker_count)
