"""A broker's replicas by topic follow every change, and leave earlier ones as they were."""

from collections import Counter
from random import Random

import pytest

from controller.decisions.context.held_replicas import NO_REPLICAS, HeldReplicas
from records.base import Uuid

_TOPICS = [Uuid(bytes([number]) * 16) for number in range(12)]


def _counted(held: HeldReplicas) -> dict[Uuid, int]:
    items = list(held.items())
    assert len(items) == len(set(held)) == len(held)
    assert Counter(held.values()) == Counter(count for _, count in items)
    return dict(items)


@pytest.mark.parametrize("seed", range(50))
def test_numbers_follow_changes_in_any_order(seed: int) -> None:
    random = Random(seed)
    held, expected = NO_REPLICAS, Counter[Uuid]()
    states = [(held, dict(expected))]
    for _ in range(30):
        growths = {}
        for topic_id in random.sample(_TOPICS, random.randint(1, len(_TOPICS))):
            leaves = random.random() < 0.4
            growths[topic_id] = -expected[topic_id] if leaves else random.randint(0, 3)
        held = held.grown(growths)
        expected.update(growths)
        states.append((held, {topic_id: count for topic_id, count in expected.items() if count}))
    for held, numbers in states:
        assert _counted(held) == numbers
        assert bool(held) == bool(numbers)
        for other, other_numbers in states:
            assert (held == other) == (numbers == other_numbers)
            assert (held != other) == (numbers != other_numbers)
        assert held == HeldReplicas.of(numbers) == held
