"""What is left in memory of a schedule, and of the times in which a node has led."""

import gc
import weakref
from collections import Counter
from random import Random

from api.nodes.operations import ask_to_hand_over
from tests.simulated_nodes.schedule import Schedule

_PACKAGES = ("api.", "controller.", "metadata_log.", "_asyncio")
_KEPT = ("_Commit", "Group")
"""A service keeps its last images, up to a number; the simulated store keeps all groups."""

_TERMS = 6


def test_nothing_is_left_of_a_schedule() -> None:
    schedule = Schedule(1)
    assert schedule.run(range(4)) == []
    left = weakref.ref(schedule)
    del schedule
    gc.collect()
    assert left() is None


def test_a_process_keeps_nothing_of_the_times_in_which_it_led() -> None:
    schedule = Schedule(0)
    with schedule.running():
        schedule.loop.advance(2.0)
        _take_turns(schedule)  # caches are filled, and all listeners were used
        before, terms = _objects(), schedule.events["take-over"]
        _take_turns(schedule)
        assert schedule.events["take-over"] - terms == _TERMS
        more = _objects() - before
    assert {name: count for name, count in more.items() if count >= _TERMS} == {}


def _take_turns(schedule: Schedule) -> None:
    """Let the nodes lead one after the other, while clients ask."""
    for term in range(_TERMS):
        next_leader = next(node for node in schedule.nodes[term % 3 :] if not node.leads)
        schedule.loop.create_task(ask_to_hand_over(next_leader.log, next_leader.number))
        for _ in range(5):
            schedule.loop.create_task(schedule.clients.ask(Random(term)))
        schedule.loop.advance(2.0)
        assert next_leader.leads


def _objects() -> Counter[str]:
    """Count the objects of this program, and tasks, by their types."""
    gc.collect()
    types = [type(each) for each in gc.get_objects()]
    names = [f"{each.__module__}.{each.__qualname__}" for each in types]
    return Counter(
        name for name in names if name.startswith(_PACKAGES) and not name.endswith(_KEPT)
    )
