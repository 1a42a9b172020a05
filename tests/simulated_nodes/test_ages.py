"""How old nodes say that their answers may be."""

from collections.abc import Iterator

import pytest

from api.service.service import Service
from tests.simulated_nodes.machine import LEASE_MS, SimulatedNode
from tests.simulated_nodes.schedule import Schedule


@pytest.fixture(params=[0, 1], ids=["PostgreSQL", "bucket"])
def schedule(request: pytest.FixtureRequest) -> Iterator[Schedule]:
    schedule = Schedule(request.param)
    with schedule.running():
        schedule.loop.advance(2.0)
        yield schedule
        assert schedule.checks.problems == []


async def _lag_ms(node: SimulatedNode) -> int | None:
    """Return the lag with which a node answers a question; None if it answers as a leader."""

    async def ask(service: Service) -> int | None:
        return None if service.standing is None else service.standing.lag_ms

    return await node.call(ask)


def test_a_leader_that_was_suspended_beyond_its_lease_says_so(schedule: Schedule) -> None:
    (leader,) = [node for node in schedule.nodes if node.leads]
    asked = schedule.loop.create_task(_lag_ms(leader))
    schedule.loop.advance(0.1)
    assert asked.result() is None
    leader.pause()
    asked = schedule.loop.create_task(_lag_ms(leader))  # the first that it does when it goes on
    schedule.loop.advance(10.0)
    leader.resume()
    schedule.loop.advance(1.0)
    assert asked.result() is not None
    assert 10_000 - LEASE_MS <= asked.result() <= 10_000


def test_a_standby_counts_from_when_it_asked_the_store(schedule: Schedule) -> None:
    standby = next(node for node in schedule.nodes if not node.leads)
    standby.log.delay_s = 0.7
    schedule.loop.advance(5.0)
    lags = []
    for _ in range(40):
        asked = schedule.loop.create_task(_lag_ms(standby))
        schedule.loop.advance(0.1)
        lags.append(asked.result())
    # It asks for the end, and has the answer so much later.
    assert min(lag for lag in lags if lag is not None) >= 700
