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


@pytest.mark.parametrize("lifetime", [0, 10, 300])
def test_topics_that_are_gone_take_no_memory(lifetime: int) -> None:
    kept = lifetime + 1
    held, last = HeldReplicas.of({_topic(each): 3 for each in range(kept)}), kept + 2_000
    for number in range(kept, last):
        held = held.grown({_topic(number): 3})
        held = held.grown({_topic(number - kept): -3})
    assert _counted(held) == {_topic(each): 3 for each in range(last - kept, last)}
    assert len(held._base) + len(held._changes) < 4 * kept + 200


def test_a_number_that_is_as_before_is_no_change() -> None:
    held = HeldReplicas.of({_TOPICS[0]: 3})
    for topic_id in _TOPICS[:2]:
        held = held.grown({topic_id: 2}).grown({topic_id: -2})
    assert _counted(held) == {_TOPICS[0]: 3}
    assert not held._changes


def _topic(number: int) -> Uuid:
    return Uuid(number.to_bytes(16))
