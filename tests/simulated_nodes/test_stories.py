"""The stories of seeds 000 and 003 come to the same on nodes, wherever the leader ends."""

from functools import cache

import pytest

from tests.samples import cases, sampled
from tests.simulated_nodes.stage import BEFORE, FailOver, OneLog, ThreeNodes, Told, carry_out
from tests.simulated_nodes.stories import SEED_000, SEED_003

STORIES = {"000": SEED_000, "003": SEED_003}


@cache
def on_one_log(seed: str) -> Told:
    place = OneLog()
    try:
        return carry_out(place, STORIES[seed])
    finally:
        place.end()


def on_nodes(seed: str, fail_overs: dict[int, FailOver]) -> Told:
    place = ThreeNodes(fail_overs)
    try:
        told = carry_out(place, STORIES[seed])
        assert place.problems() == []
        assert len(place.checks.leaders) > place.ended >= len(fail_overs)
        return told
    finally:
        place.end()


def steps(seed: str, how: FailOver) -> list[int]:
    """Return the steps at which the leader can end like this; none leads before the first."""
    story = STORIES[seed]
    return [number for number in range(1, len(story)) if story[number].command or how in BEFORE]


@pytest.mark.parametrize("how", FailOver)
@pytest.mark.parametrize("seed", STORIES)
def test_a_fail_over_at_every_step_changes_nothing(seed: str, how: FailOver) -> None:
    everywhere = dict.fromkeys(steps(seed, how), how)
    assert on_nodes(seed, everywhere) == on_one_log(seed)


EACH = [(seed, number, how) for seed in STORIES for how in FailOver for number in steps(seed, how)]


@sampled
def test_a_fail_over_at_any_one_step_changes_nothing() -> None:
    for seed, number, how in EACH[:: cases(1, 20)]:
        assert on_nodes(seed, {number: how}) == on_one_log(seed), (seed, number, how)


def test_nothing_is_left_out_of_what_is_compared() -> None:
    refused = {"000": 3, "003": 2}
    for seed, story in STORIES.items():
        told = on_one_log(seed)
        assert len(told.answers) == sum(bool(step.command) for step in story)
        assert sum('"refusal":{' in answer for answer in told.answers) == refused[seed]
        assert any(line.startswith("RegisterBrokerRecord") for line in told.image)
    assert sum(line.startswith("PartitionRecord") for line in on_one_log("003").image) == 3
