"""How long nobody leads while one node hands over to another, in virtual time."""

import pytest

from api.nodes.operations import ask_to_hand_over
from tests.simulated_nodes.schedule import LEASE_MS, Schedule, SimulatedNode

LOOK_S = LEASE_MS / 8_000
STEP_S = 0.001


def _gap_s(number: int, *, by_operator: bool) -> float:
    """Return how long nobody led."""
    schedule = Schedule(number)
    nodes = schedule.nodes
    try:
        for node in nodes:
            node.start()
        schedule.loop.advance(3.0)
        (first,) = [node for node in nodes if node.leads]
        if by_operator:
            chosen = next(node for node in nodes if node is not first)
            schedule.loop.create_task(ask_to_hand_over(chosen.log, chosen.number))
        else:
            first.stop()
        return _until_another_leads(schedule, first)
    finally:
        for node in nodes:
            node.end(loses_power=False)
        schedule.loop.advance(5.0)


def _until_another_leads(schedule: Schedule, first: SimulatedNode) -> float:
    steps = 0
    for _ in range(10_000):
        schedule.loop.advance(STEP_S)
        leading = [node for node in schedule.nodes if node.leads]
        if leading and leading != [first]:
            return steps * STEP_S
        steps += not leading
    raise AssertionError("nobody leads")


@pytest.mark.parametrize("by_operator", [False, True])
def test_the_next_leader_does_not_wait_for_its_next_look(*, by_operator: bool) -> None:
    gaps = [_gap_s(number, by_operator=by_operator) for number in range(6)]
    assert max(gaps) < LOOK_S / 2, gaps
