from random import Random

import pytest

from controller.placement.classic import ClassicPlacer
from controller.placement.placer import UsableBroker
from records.errors import RequestError

_TWO_RACKS = [UsableBroker(broker_id=n, rack="ab"[n % 2]) for n in range(4)]
_NO_RACKS = [UsableBroker(broker_id=n) for n in range(5)]
_SOME_RACKS = [UsableBroker(broker_id=0, rack="a"), UsableBroker(broker_id=1)]


def _place(placer: ClassicPlacer, brokers: list[UsableBroker]) -> list[tuple[int, ...]]:
    return placer.place(
        brokers=brokers, partitions=6, replication_factor=2, start_partition_id=0, rng=Random(1)
    )


def test_followers_move_one_further_when_the_leaders_have_gone_round() -> None:
    placed = _place(ClassicPlacer(fixed_start=0), _NO_RACKS)
    assert placed == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)]


def test_racks_are_used_when_every_broker_has_one() -> None:
    racks = {broker.broker_id: broker.rack for broker in _TWO_RACKS}
    for leader, follower in _place(ClassicPlacer(), _TWO_RACKS):
        assert racks[leader] != racks[follower]


def test_racks_can_be_ignored() -> None:
    placed = _place(ClassicPlacer(rack_aware=False, fixed_start=1), _TWO_RACKS)
    assert (1, 3) in placed


def test_brokers_with_and_without_racks_are_refused_together() -> None:
    with pytest.raises(RequestError, match=r"brokers \[1\] have no rack") as refusal:
        _place(ClassicPlacer(), _SOME_RACKS)
    assert refusal.value.code == "INVALID_REPLICA_ASSIGNMENT"
    assert _place(ClassicPlacer(rack_aware=False), _SOME_RACKS)
