"""Nodes whose disks are full, in each of the ways in which a node can hear of it."""

from collections.abc import Iterator
from random import Random

import pytest

from api.nodes.operations import ask_to_hand_over
from tests.simulated_nodes.full_disk import WAYS
from tests.simulated_nodes.machine import SimulatedNode
from tests.simulated_nodes.schedule import Schedule

each_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture
def schedule() -> Iterator[Schedule]:
    schedule = Schedule(1)
    with schedule.running():
        schedule.loop.advance(2.0)
        yield schedule
        assert schedule.checks.problems == []


def _leader(schedule: Schedule) -> SimulatedNode:
    (leader,) = [node for node in schedule.nodes if node.leads]
    return leader


def _change(schedule: Schedule) -> int:
    """Let a client change something; return the end of what is committed."""
    schedule.loop.create_task(schedule.clients.create_new(Random(0)))
    schedule.loop.advance(10.0)
    made = [call for call in schedule.clients.calls if call.name.startswith("new")]
    assert isinstance(made[-1].told, int)
    return schedule.checks.committed_end()


def _answers_up_to(node: SimulatedNode) -> int:
    assert node.problem() is None
    assert node.service is not None
    return node.service.image.provenance.next_offset


@each_way
def test_changes_go_on_while_the_disk_of_the_leader_is_full(schedule: Schedule, way: str) -> None:
    full = _leader(schedule)
    WAYS[way](full.disk, Random(0))
    end_offset = _change(schedule)
    assert _change(schedule) > end_offset
    full.make_room()
    schedule.loop.advance(3.0)
    assert min(_answers_up_to(node) for node in schedule.nodes) > end_offset


@each_way
def test_a_leader_that_cannot_close_its_folder_stands_by(schedule: Schedule, way: str) -> None:
    full = _leader(schedule)
    other = next(node for node in schedule.nodes if node is not full)
    schedule.loop.create_task(ask_to_hand_over(other.log, other.number))
    schedule.loop.advance(0.01)
    WAYS[way](full.disk, Random(0))
    schedule.loop.advance(2.0)
    assert not full.leads
    full.make_room()
    end_offset = _change(schedule)
    schedule.loop.advance(3.0)
    assert _answers_up_to(full) >= end_offset


@each_way
def test_a_standby_outlives_a_full_disk(schedule: Schedule, way: str) -> None:
    full = next(node for node in schedule.nodes if not node.leads)
    WAYS[way](full.disk, Random(0))
    end_offset = _change(schedule)
    full.make_room()
    schedule.loop.advance(3.0)
    assert _answers_up_to(full) >= end_offset


@each_way
def test_a_process_that_is_to_end_does_so_though_its_disk_is_full(
    schedule: Schedule, way: str
) -> None:
    for node in schedule.nodes:
        WAYS[way](node.disk, Random(0))
        task = node._task
        assert task is not None
        task.cancel()
        schedule.loop.advance(5.0)
        assert task.done(), node.number
