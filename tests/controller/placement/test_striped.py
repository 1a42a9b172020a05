from collections import Counter
from random import Random

import pytest

from controller.placement.placer import UsableBroker
from controller.placement.striped import StripedPlacer
from records.errors import RequestError


def _place(
    brokers: list[UsableBroker], *, partitions: int = 1, replication_factor: int = 1, seed: int = 0
) -> list[tuple[int, ...]]:
    return StripedPlacer().place(
        brokers=brokers,
        partitions=partitions,
        replication_factor=replication_factor,
        start_partition_id=0,
        rng=Random(seed),
    )


def _brokers(*racks: str, fenced: tuple[int, ...] = ()) -> list[UsableBroker]:
    return [
        UsableBroker(broker_id=n, rack=rack, fenced=n in fenced) for n, rack in enumerate(racks)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_a_fenced_broker_never_leads_and_is_used_last(seed: int) -> None:
    brokers = _brokers("a", "a", "b", "b", fenced=(1, 3))
    for replicas in _place(brokers, partitions=30, replication_factor=3, seed=seed):
        assert replicas[0] in (0, 2)
        assert {0, 2} < set(replicas)


@pytest.mark.parametrize("seed", range(20))
def test_replicas_of_a_partition_lie_in_different_racks_while_there_are_some(seed: int) -> None:
    brokers = _brokers("a", "b", "c", "a", "b", "c")
    racks = {broker.broker_id: broker.rack for broker in brokers}
    for replicas in _place(brokers, partitions=40, replication_factor=3, seed=seed):
        assert len({racks[replica] for replica in replicas}) == 3


def test_leaders_are_spread_evenly_even_past_the_shuffle() -> None:
    leaders = [replicas[0] for replicas in _place(_brokers(*"aaaa"), partitions=40)]
    assert Counter(leaders) == {0: 10, 1: 10, 2: 10, 3: 10}


def test_no_replica_is_placed_twice() -> None:
    for replicas in _place(_brokers(*"aabbc"), partitions=50, replication_factor=5):
        assert sorted(replicas) == [0, 1, 2, 3, 4]


def test_a_single_unfenced_broker_leads_every_partition() -> None:
    placed = _place(_brokers("a", "a", fenced=(1,)), partitions=5, replication_factor=2)
    assert placed == [(0, 1)] * 5


@pytest.mark.parametrize(
    ("brokers", "partitions", "replication_factor", "code"),
    [
        (_brokers("a"), 0, 1, "INVALID_PARTITIONS"),
        (_brokers("a"), 1, 0, "INVALID_REPLICATION_FACTOR"),
        (_brokers("a", "a"), 1, 3, "INVALID_REPLICATION_FACTOR"),
        (_brokers("a", "a", fenced=(0, 1)), 1, 1, "INVALID_REPLICATION_FACTOR"),
        ([], 1, 1, "INVALID_REPLICATION_FACTOR"),
    ],
)
def test_what_cannot_be_placed_is_refused(
    brokers: list[UsableBroker], partitions: int, replication_factor: int, code: str
) -> None:
    with pytest.raises(RequestError) as refusal:
        _place(brokers, partitions=partitions, replication_factor=replication_factor)
    assert refusal.value.code == code


def test_fenced_brokers_count_towards_the_largest_replication_factor() -> None:
    (replicas,) = _place(_brokers("a", "a", "a", fenced=(1, 2)), replication_factor=3)
    assert replicas[0] == 0
