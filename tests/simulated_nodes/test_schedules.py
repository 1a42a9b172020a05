"""Some fault schedules of nodes; `make torture` runs many more."""

from collections import Counter

import pytest

from tests.simulated_nodes.schedule import Schedule

NUMBERS = range(40)

EVENTS = (
    "take-over",
    "take-over by a cut folder",
    "leader paused",
    "next release",
    "retained",
    "restored",
    "trimmed",
    "late",
    "late after a trim",
    "repeated",
)


@pytest.fixture(scope="module")
def schedules() -> dict[int, tuple[list[str], Counter[str]]]:
    made = {number: Schedule(number) for number in NUMBERS}
    return {number: (schedule.run(), schedule.events) for number, schedule in made.items()}


@pytest.mark.parametrize("number", NUMBERS)
def test_whatever_fails_one_history_is_left(
    schedules: dict[int, tuple[list[str], Counter[str]]], number: int
) -> None:
    assert schedules[number][0] == []


def test_everything_that_can_go_wrong_does(
    schedules: dict[int, tuple[list[str], Counter[str]]],
) -> None:
    happened = sum((events for _, events in schedules.values()), Counter[str]())
    assert [event for event in EVENTS if not happened[event]] == []
