"""Kafka's two placements before KRaft; its reassignment tool still uses them.

Leaders are assigned round robin from a random start. Followers are at a distance from the leader
that grows by one after each round, so that partitions with the same leader have different
followers.

Source: Kafka's AdminUtils (KIP-36 for racks).
"""

from collections.abc import Sequence

from controller.placement.placer import (
    IndependentRun,
    PlacementRng,
    PlacementRun,
    UsableBroker,
    check_counts,
)
from controller.results.refusals import invalid_assignment


class ClassicPlacer:
    """Kafka's classic placement: rack-aware if every broker has a rack, rack-unaware if none has.

    `rack_aware=False` ignores racks. `fixed_start` replaces the two random numbers (position of the
    first leader, distance of the first follower), for tests and reproducible results.
    """

    def __init__(self, *, rack_aware: bool = True, fixed_start: int | None = None) -> None:
        self._rack_aware = rack_aware
        self._fixed_start = fixed_start

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

        Fenced brokers are used like any other, as in the classic tools.

        Raises:
            RequestError: also INVALID_REPLICA_ASSIGNMENT if only some brokers have a rack.
        """
        check_counts(partitions, replication_factor, len(brokers))
        fixed = self._fixed_start
        start_index = rng.randrange(len(brokers)) if fixed is None else fixed
        replica_shift = rng.randrange(len(brokers)) if fixed is None else fixed
        broker_ids = sorted(broker.broker_id for broker in brokers)
        racks = _racks(brokers) if self._rack_aware else {}
        partition_ids = range(start_partition_id, start_partition_id + partitions)
        if not racks:
            return rack_unaware(
                broker_ids, partition_ids, replication_factor, start_index, replica_shift
            )
        return rack_aware(racks, partition_ids, replication_factor, start_index, replica_shift)


def rack_unaware(
    broker_ids: Sequence[int],
    partition_ids: range,
    replication_factor: int,
    start_index: int,
    replica_shift: int,
) -> list[tuple[int, ...]]:
    """Return the replicas of each partition, over `broker_ids` in the given order.

    Args:
        start_index: Position of the broker that leads partition 0.
        replica_shift: Distance of the first follower in the first round.
    """
    count = len(broker_ids)
    placed = []
    for partition_id, shift in _shifted(partition_ids, count, replica_shift):
        first = (partition_id + start_index) % count
        followers = [
            broker_ids[_follower(first, shift, j, count)] for j in range(replication_factor - 1)
        ]
        placed.append((broker_ids[first], *followers))
    return placed


def rack_aware(
    racks: dict[int, str],
    partition_ids: range,
    replication_factor: int,
    start_index: int,
    replica_shift: int,
) -> list[tuple[int, ...]]:
    """Return the replicas of each partition, in different racks as long as there are enough.

    Args:
        racks: Rack of each broker.
        start_index, replica_shift: As for `rack_unaware`.
    """
    broker_ids = rack_alternated(racks)
    rack_count = len(set(racks.values()))
    placed = []
    for partition_id, shift in _shifted(partition_ids, len(broker_ids), replica_shift):
        first = (partition_id + start_index) % len(broker_ids)
        # A follower is found within one round of all brokers, so `step` stays small.
        step = 0
        replicas = [broker_ids[first]]
        while len(replicas) < replication_factor:
            index = _follower(first, shift * rack_count, step, len(broker_ids))
            step += 1
            if _welcome(broker_ids[index], replicas, racks, rack_count):
                replicas.append(broker_ids[index])
        placed.append(tuple(replicas))
    return placed


def rack_alternated(racks: dict[int, str]) -> list[int]:
    """Return all brokers, alternating between racks; racks and their brokers in sorted order."""
    by_rack: dict[str, list[int]] = {}
    for broker_id in sorted(racks):
        by_rack.setdefault(racks[broker_id], []).append(broker_id)
    rings = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(map(len, rings))
    return [ring[turn] for turn in range(longest) for ring in rings if turn < len(ring)]


def _racks(brokers: Sequence[UsableBroker]) -> dict[int, str]:
    """Return the rack of each broker; empty if no broker has one."""
    racks = {broker.broker_id: broker.rack for broker in brokers if broker.rack is not None}
    if racks and len(racks) < len(brokers):
        lacking = sorted(broker.broker_id for broker in brokers if broker.rack is None)
        raise invalid_assignment(
            f"brokers {lacking} have no rack, but others have one; give every broker a rack, or "
            "choose a placement without racks",
        )
    return racks


def _shifted(partition_ids: range, broker_count: int, shift: int) -> list[tuple[int, int]]:
    """Return each partition with its follower shift, which grows after each round of leaders."""
    shifted = []
    for partition_id in partition_ids:
        if partition_id > 0 and partition_id % broker_count == 0:
            shift += 1
        shifted.append((partition_id, shift))
    return shifted


def _follower(first: int, shift: int, number: int, broker_count: int) -> int:
    """Return the position of a follower; it always differs from the leader's, `first`."""
    if broker_count == 1:
        return first
    return (first + 1 + (shift + number) % (broker_count - 1)) % broker_count


def _welcome(broker_id: int, replicas: list[int], racks: dict[int, str], rack_count: int) -> bool:
    """True if a broker may be added: not a replica yet, and in an unused rack if there is one.

    The classic rule also allows a broker twice once every broker is used. That cannot happen here,
    as the replication factor is never larger than the number of brokers.
    """
    used_racks = {racks[replica] for replica in replicas}
    if racks[broker_id] in used_racks and len(used_racks) < rack_count:
        return False
    return broker_id not in replicas
