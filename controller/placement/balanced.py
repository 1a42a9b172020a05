"""The default placement: new partitions go to the least loaded brokers, counted over all topics.

Leaders and replicas are counted per broker. So new brokers catch up, and odd numbers of partitions
do not accumulate on some brokers as with the classic placements. The leader of each partition is
the broker that is preferred leader of the fewest partitions. Its followers are the brokers with the
fewest replicas, in unused racks as long as there are any (if every broker has a rack). Ties are
broken at random each time, so that partitions with the same leader have different followers.

Without a limit, an empty broker would get a whole topic. So a broker gets at most twice its fair
share of one topic, as long as other brokers can take the rest.

Costs O(brokers) per topic and O(racks) per replica, independent of the number of existing
partitions, and O(distinct loads) each time the least loaded brokers are used up.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

from controller.placement.load_queue import LoadQueue, TieBreaker
from controller.placement.placer import (
    PlacementRng,
    PlacementRun,
    UsableBroker,
    check_counts,
)
from controller.results.refusals import invalid_replication_factor

# Added to the load of a fenced broker, so that it comes last: clients cannot use it yet.
_FENCED = 1 << 48


class BalancedPlacer:
    """Places new partitions on the least loaded brokers, by preferred leaders and by replicas."""

    def start(self, brokers: Sequence[UsableBroker], rng: PlacementRng) -> PlacementRun:
        """Return a placement run for one request.

        The partitions of each topic count as load for the next topic.
        """
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
        """Return the replicas of each new partition, as `Placer.place`.

        `start_partition_id` is ignored; only the load is used.
        """
        run = self.start(brokers, rng)
        return run.place(partitions, replication_factor, start_partition_id)


class Followers:
    """Queues of brokers by number of replicas, one per rack.

    Call `begin_topic` before each topic.
    """

    def __init__(self, brokers: Sequence[UsableBroker], ties: TieBreaker) -> None:
        self._load: dict[int, int] = {}
        by_rack: defaultdict[str | None, list[int]] = defaultdict(list)
        for broker in brokers:
            broker_id = broker.broker_id
            self._load[broker_id] = broker.replicas + (_FENCED if broker.fenced else 0)
            by_rack[broker.rack].append(broker_id)
        racks = [list(self._load)] if None in by_rack else by_rack.values()
        # Fenced brokers are the last resort, so they have no share.
        self._sharers = sum(not broker.fenced for broker in brokers) or len(brokers)
        self._queues: list[LoadQueue] = []
        self._queue_of: dict[int, LoadQueue] = {}
        for broker_ids in racks:
            queue = LoadQueue(broker_ids, self._load, ties)
            self._queues.append(queue)
            for broker_id in broker_ids:
                self._queue_of[broker_id] = queue

    def begin_topic(self, replicas: int) -> None:
        """Reset the counts that are kept per topic.

        Args:
            replicas: The total number of replicas of the new topic.
        """
        limit = _limit(replicas, self._sharers)
        before = self._load.copy()
        for queue in self._queues:
            queue.begin_topic(before, limit)

    def join(self, replicas: list[int], count: int) -> None:
        """Append `count` unused brokers to a partition's replicas, and count them."""
        queues = self._queues
        queues.append(queues.pop(0))  # racks of equal load take turns
        unused = queues.copy()
        for replica in replicas:
            queue = self._queue_of.get(replica)
            if queue in unused:
                unused.remove(queue)
        if len(unused) > count:
            unused = sorted(unused, key=LoadQueue.front)[:count]
        replicas.extend([queue.take() for queue in unused])
        for _ in range(count - len(unused)):
            # Without racks there is nothing to compare, and comparing would double the time.
            least = queues[0]
            if len(queues) > 1:
                least = min(queues, key=lambda queue: queue.front(replicas))
            replicas.append(least.take(replicas))

    def count(self, broker_id: int) -> None:
        """Count one more replica on a broker."""
        if broker_id in self._load:
            self._load[broker_id] += 1


class _Run:
    """Places the topics of one request, one after the other."""

    def __init__(self, brokers: Sequence[UsableBroker], rng: PlacementRng) -> None:
        self._broker_count = len(brokers)
        ties = TieBreaker(rng)
        self._followers = Followers(brokers, ties)
        self._led = {broker.broker_id: broker.leaders for broker in brokers if not broker.fenced}
        self._leaders = LoadQueue(self._led, self._led, ties)

    def place(
        self, partitions: int, replication_factor: int, start_partition_id: int
    ) -> list[tuple[int, ...]]:
        """Return the replicas of each new partition, as `PlacementRun.place`."""
        check_counts(partitions, replication_factor, self._broker_count)
        if not self._led:
            raise invalid_replication_factor("all brokers are fenced")
        self._leaders.begin_topic(self._led.copy(), _limit(partitions, len(self._led)))
        self._followers.begin_topic(partitions * replication_factor)
        return [self._place_one(replication_factor) for _ in range(partitions)]

    def count(self, replicas: Sequence[int]) -> None:
        """Count a manually assigned partition as load, as `PlacementRun.count`."""
        if replicas[0] in self._led:
            self._led[replicas[0]] += 1
        for broker_id in replicas:
            self._followers.count(broker_id)

    def _place_one(self, replication_factor: int) -> tuple[int, ...]:
        leader = self._leaders.take()
        self._followers.count(leader)
        replicas = [leader]
        self._followers.join(replicas, replication_factor - 1)
        return tuple(replicas)


def _limit(count: int, broker_count: int) -> int:
    """Return how many of `count` replicas one broker may get: twice its fair share."""
    return max(math.ceil(count / broker_count), 2 * count // broker_count)
