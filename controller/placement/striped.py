"""KRaft's placement: partitions are striped over the racks, and within each rack over its brokers.

The racks form a ring, and so do the unfenced and the fenced brokers of each rack. Each partition
starts one rack further than the partition before, and one broker further in each rack. In order of
priority, the placement spreads replicas over racks, spreads them over brokers, and prefers unfenced
brokers. Existing load is ignored.

Source: StripedReplicaPlacer of Kafka 4.0.
"""

from collections.abc import Sequence

from controller.placement.placer import (
    IndependentRun,
    PlacementRng,
    PlacementRun,
    UsableBroker,
    check_counts,
)
from controller.results.refusals import invalid_replication_factor


class StripedPlacer:
    """Places new partitions as Kafka's controller does."""

    def start(self, brokers: Sequence[UsableBroker], rng: PlacementRng) -> PlacementRun:
        """Return a placement run for one request."""
        return IndependentRun(self, brokers, rng)

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

        `start_partition_id` is ignored, as in Kafka.
        """
        check_counts(partitions, replication_factor, len(brokers))
        if all(broker.fenced for broker in brokers):
            raise invalid_replication_factor("all brokers are fenced")
        racks = _RackRing(brokers, rng)
        return [racks.place(replication_factor) for _ in range(partitions)]


class _BrokerRing:
    """Ring of the fenced or of the unfenced brokers of one rack.

    A partition gets each broker at most once. The start advances by one when a partition gets its
    first broker from the ring.
    """

    def __init__(self, broker_ids: list[int], rng: PlacementRng) -> None:
        self.broker_ids = sorted(broker_ids)
        self._start = rng.randrange(len(broker_ids)) if broker_ids else 0
        self._taken = 0
        self._round = 0

    def next(self, round_: int) -> int | None:
        """Return a broker not yet used in this round, or None if there is none left."""
        if not self.broker_ids:
            return None
        if self._round != round_:
            self._round = round_
            self._taken = 0
            self._start = (self._start + 1) % len(self.broker_ids)
        if self._taken == len(self.broker_ids):
            return None
        broker_id = self.broker_ids[(self._start + self._taken) % len(self.broker_ids)]
        self._taken += 1
        return broker_id


class _Rack:
    """The brokers of one rack."""

    def __init__(self, brokers: list[UsableBroker], rng: PlacementRng) -> None:
        self.fenced = _BrokerRing([b.broker_id for b in brokers if b.fenced], rng)
        self.unfenced = _BrokerRing([b.broker_id for b in brokers if not b.fenced], rng)

    def next(self, round_: int) -> int | None:
        """Return a broker not yet used in this round, unfenced ones first, or None."""
        broker_id = self.unfenced.next(round_)
        return self.fenced.next(round_) if broker_id is None else broker_id

    def shuffle(self, rng: PlacementRng) -> None:
        rng.shuffle(self.fenced.broker_ids)
        rng.shuffle(self.unfenced.broker_ids)


class _RackRing:
    """Ring of all racks, in sorted order until the first shuffle."""

    def __init__(self, brokers: Sequence[UsableBroker], rng: PlacementRng) -> None:
        by_rack: dict[str | None, list[UsableBroker]] = {}
        for broker in brokers:
            by_rack.setdefault(broker.rack, []).append(broker)
        names = sorted(by_rack, key=lambda rack: (rack is not None, rack or ""))
        self._racks = [_Rack(by_rack[name], rng) for name in names]
        self._unfenced_count = sum(not broker.fenced for broker in brokers)
        self._start = rng.randrange(len(self._racks))
        self._round = 0
        self._rng = rng

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """Return the replicas of the next partition."""
        self._shuffle_when_all_led()
        leader, leader_rack = self._leader()
        replicas = [leader]
        rack = self._start
        while len(replicas) < replication_factor:
            # The leader's rack has already provided a broker in this first round.
            if rack == leader_rack:
                leader_rack = None
            elif (broker_id := self._racks[rack].next(self._round)) is not None:
                replicas.append(broker_id)
            rack = (rack + 1) % len(self._racks)
        self._round += 1
        self._start = (self._start + 1) % len(self._racks)
        return tuple(replicas)

    def _leader(self) -> tuple[int, int | None]:
        """Return an unfenced broker from the first rack that has one, and that rack's position."""
        rack = self._start
        while (broker_id := self._racks[rack].unfenced.next(self._round)) is None:
            rack = (rack + 1) % len(self._racks)
        return broker_id, rack

    def _shuffle_when_all_led(self) -> None:
        """Shuffle racks and brokers once each unfenced broker leads one of the partitions.

        Otherwise the pattern of replicas would repeat.
        """
        if self._round == self._unfenced_count and self._unfenced_count > 1:
            self._rng.shuffle(self._racks)
            for rack in self._racks:
                rack.shuffle(self._rng)
            self._round = 0
