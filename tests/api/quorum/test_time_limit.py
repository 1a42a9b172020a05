"""How long a reader waits for an answer of a quorum."""

import asyncio
from pathlib import Path

from api.quorum.observer import Observer
from api.quorum.requests import Position
from api.quorum.time_limit import LEAST_S, MOST_S, TimeLimit
from api.security.client import ConnectionSecurity
from tests.stand_in_quorum import FETCH, Quorum, Silent, Slow


def test_it_grows_while_answers_are_late_and_shrinks_once_they_are_fast() -> None:
    limit = TimeLimit()
    seen = []
    for _ in range(6):
        seen.append(limit.seconds)
        limit.missed()
    assert seen == [LEAST_S, 2 * LEAST_S, 4 * LEAST_S, 8 * LEAST_S, MOST_S, MOST_S]
    limit.kept(15.0)
    assert limit.seconds == 30.0
    limit.kept(25.0)
    assert limit.seconds == 30.0
    limit.kept(0.5)
    assert limit.seconds == LEAST_S


def test_silent_leader_of_long_ago_costs_nothing_now(partition: Path) -> None:
    async def read(quorum: Quorum) -> list[float]:
        host, port = quorum.bootstrap.split(":")
        address = (host, int(port))
        async with Observer(
            [address], cluster_id=quorum.cluster_id, security=ConnectionSecurity, give_up_s=20.0
        ) as observer:
            observer._limit = TimeLimit(0.1)
            for _ in range(3):
                quorum.fail(Silent(), key=FETCH)
            limits = []
            for _ in range(2):
                await observer.fetch(Position(), max_wait_ms=0)
                limits.append(observer._limit.seconds)
        return limits

    with Quorum(partition) as quorum:
        limits = asyncio.run(read(quorum))
        assert len(quorum.asked(FETCH)) >= 5
    assert limits[-1] < 0.8


def test_answer_of_a_follower_does_not_shorten_the_time_of_the_leader(partition: Path) -> None:
    async def read(quorum: Quorum) -> None:
        follower, leader = (quorum.address(node_id).split(":") for node_id in (2, 1))
        addresses = [(host, int(port)) for host, port in (follower, leader)]
        async with Observer(
            addresses, cluster_id=quorum.cluster_id, security=ConnectionSecurity, give_up_s=20.0
        ) as observer:
            observer._limit = TimeLimit(0.1)
            await observer.fetch(Position(), max_wait_ms=0)

    with Quorum(partition, nodes=3) as quorum:
        quorum.fail(Slow(0.25), key=FETCH, node_id=1, times=100)
        asyncio.run(read(quorum))
        assert 3 <= len(quorum.asked(FETCH)) < 20
