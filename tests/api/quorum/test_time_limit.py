"""How long a reader waits for an answer of a quorum."""

import asyncio
from pathlib import Path

from api.quorum.observer import Observer
from api.quorum.requests import Position
from api.quorum.time_limit import LEAST_S, MOST_S, TimeLimit
from api.security.client import ConnectionSecurity
from tests.stand_in_quorum import FETCH, Quorum, Silent


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
