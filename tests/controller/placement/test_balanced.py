"""The placement that balances the load of brokers."""

from random import Random

import pytest

from controller.placement.balanced import BalancedPlacer
from controller.placement.placer import UsableBroker
from controller.placement.registry import PLACERS, placer_named
from records.errors import RequestError


def _place(brokers: list[UsableBroker], partitions: int, rf: int, seed: int = 1) -> list[list[int]]:
    placed = BalancedPlacer().place(
        brokers=brokers,
        partitions=partitions,
        replication_factor=rf,
        start_partition_id=0,
        rng=Random(seed),
    )
    return [list(replicas) for replicas in placed]


def _brokers(*loads: tuple[int, int], racks: str = "") -> list[UsableBroker]:
    return [
        UsableBroker(
            broker_id=n, leaders=leaders, replicas=replicas, rack=racks[n] if racks else None
        )
        for n, (leaders, replicas) in enumerate(loads)
    ]


def test_a_topic_goes_where_there_is_least() -> None:
    brokers = _brokers((5, 9), (0, 1), (1, 2), (7, 9))
    assert _place(brokers, 1, 2) == [[1, 2]]


@pytest.mark.parametrize("seed", range(20))
def test_leaders_and_replicas_of_many_topics_are_even(seed: int) -> None:
    rng = Random(seed)
    leaders, replicas = [0] * 7, [0] * 7
    for _ in range(100):
        brokers = _brokers(*zip(leaders, replicas, strict=True))
        for placed in _place(brokers, rng.choice((1, 3, 8, 20)), rng.choice((2, 3)), seed):
            leaders[placed[0]] += 1
            for broker_id in placed:
                replicas[broker_id] += 1
    assert max(leaders) - min(leaders) <= 1
    assert max(replicas) - min(replicas) <= 2


@pytest.mark.parametrize("racks", ["", "aabbcc"])
def test_topics_of_one_request_fill_up_what_was_uneven(racks: str) -> None:
    leaders, replicas = [0, 9, 3, 7, 1, 5], [40, 9, 31, 7, 22, 15]
    run = BalancedPlacer().start(
        _brokers(*zip(leaders, replicas, strict=True), racks=racks), Random(1)
    )
    for partitions in [1, 2, 3, 12, 50] * 10:
        for placed in run.place(partitions, 2, 0):
            assert len(set(placed)) == 2
            leaders[placed[0]] += 1
            for broker_id in placed:
                replicas[broker_id] += 1
    assert max(leaders) - min(leaders) <= 1
    assert max(replicas) - min(replicas) <= 2


def test_no_broker_holds_a_partition_twice() -> None:
    for placed in _place(_brokers(*[(0, 0)] * 5), 200, 5):
        assert sorted(placed) == [0, 1, 2, 3, 4]


def test_an_empty_broker_takes_twice_its_share_and_no_more() -> None:
    brokers = _brokers(*[(1_000, 3_000)] * 9, (0, 0))
    placed = _place(brokers, 30, 3)
    assert sum(replicas[0] == 9 for replicas in placed) == 6
    assert sum(9 in replicas for replicas in placed) == 18


def test_each_partition_is_in_as_many_racks_as_it_can_be() -> None:
    brokers = _brokers(*[(0, 0)] * 7, racks="aabbbcc")
    for placed in _place(brokers, 300, 4):
        assert {"aabbbcc"[broker_id] for broker_id in placed} == {"a", "b", "c"}
    for placed in _place(brokers, 300, 2):
        assert len({"aabbbcc"[broker_id] for broker_id in placed}) == 2


def test_racks_are_ignored_when_a_broker_has_none() -> None:
    brokers = [
        UsableBroker(broker_id=0, rack="a"),
        UsableBroker(broker_id=1, rack="a"),
        UsableBroker(broker_id=2, replicas=100, leaders=100),
    ]
    assert sorted(_place(brokers, 1, 2)[0]) == [0, 1]


def test_a_fenced_broker_never_leads_and_follows_last() -> None:
    brokers = [
        UsableBroker(broker_id=0, leaders=50, replicas=50),
        UsableBroker(broker_id=1, leaders=50, replicas=50),
        UsableBroker(broker_id=2, fenced=True),
    ]
    for placed in _place(brokers, 20, 2):
        assert sorted(placed) == [0, 1]
    for placed in _place(brokers, 20, 3):
        assert placed[0] != 2


def test_followers_of_one_leader_differ() -> None:
    followers = {placed[1] for placed in _place(_brokers(*[(0, 0)] * 6), 60, 2) if placed[0] == 0}
    assert len(followers) >= 3


@pytest.mark.parametrize(
    ("partitions", "rf", "code"),
    [(0, 1, "INVALID_PARTITIONS"), (1, 0, "INVALID_REPLICATION_FACTOR"),
     (1, 3, "INVALID_REPLICATION_FACTOR")],
)  # fmt: skip
def test_counts_that_cannot_be_are_refused(partitions: int, rf: int, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        _place(_brokers((0, 0), (0, 0)), partitions, rf)
    assert caught.value.code == code


def test_all_brokers_fenced_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        _place([UsableBroker(broker_id=0, fenced=True)], 1, 1)
    assert caught.value.code == "INVALID_REPLICATION_FACTOR"


def test_placements_have_names() -> None:
    assert list(PLACERS) == ["balanced", "striped", "classic", "classic-rack-unaware"]
    assert placer_named("balanced") is PLACERS["balanced"]
    with pytest.raises(RequestError, match="choose balanced, striped"):
        placer_named("random")


def test_fenced_brokers_follow_last_however_many_they_are() -> None:
    brokers = [UsableBroker(broker_id=n, fenced=n >= 3) for n in range(10)]
    for placed in _place(brokers, 30, 3):
        assert sorted(placed) == [0, 1, 2]
