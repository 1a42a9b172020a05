"""Answers 11 to 20 to docs/auditors_questions.md, by plain Python over fastavro alone."""

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.replay.audit.questions.events import Asked, Rows, id_text, is_down, lives, partitions


def registered_brokers(asked: Asked) -> Rows:
    epochs: dict[int, int] = {}
    for each in asked.of("RegisterBrokerRecord", "UnregisterBrokerRecord"):
        epochs.pop(each.fields["broker_id"], None)
        if each.name == "RegisterBrokerRecord":
            epochs[each.fields["broker_id"]] = each.fields["broker_epoch"]
    return list(epochs.items())


def starts(asked: Asked) -> Rows:
    return list(Counter(e.fields["broker_id"] for e in asked.of("RegisterBrokerRecord")).items())


def _now(asked: Asked) -> dict[tuple[str, int], dict[str, Any]]:
    return {
        (id_text(topic_id), number): states[-1].fields
        for (topic_id, number), states in partitions(asked).items()
        if states[-1].fields
    }


def leaderships(asked: Asked) -> Rows:
    leaders = (fields["leader"] for fields in _now(asked).values())
    return list(Counter(leader for leader in leaders if leader >= 0).items())


def leaderless(asked: Asked) -> Rows:
    return [key for key, fields in _now(asked).items() if is_down(fields)]


def not_preferred(asked: Asked) -> Rows:
    return [
        (*key, fields["leader"])
        for key, fields in _now(asked).items()
        if fields["leader"] not in (-1, fields["replicas"][0])
    ]


def shrinks(asked: Asked) -> Rows:
    rows = []
    for (topic_id, number), states in partitions(asked).items():
        # Without a leader, a partition may have no replica in sync; one that is gone has no fields.
        isrs: list[Any] = [state.fields.get("isr") for state in states]
        count = sum(None not in pair and len(pair[1]) < len(pair[0]) for pair in pairwise(isrs))
        if count:
            rows.append((f"{id_text(topic_id)}/{number}", count))
    return rows


def size_at_point(asked: Asked) -> Rows:
    before = asked._replace(events=[e for e in asked.events if e.offset <= asked.point])
    topics = sum(end is None for *_, end in lives(before))
    return [(topics, len(_now(before)))]


def created_topics(asked: Asked) -> Rows:
    return [
        (began.offset, name, began.principal)
        for name, _, began, _ in lives(asked)
        if began.name == "TopicRecord" and began.offset >= asked.point
    ]


def names_held_again(asked: Asked) -> Rows:
    held: dict[str, set[bytes]] = defaultdict(set)
    for name, topic_id, _, _ in lives(asked):
        held[name].add(topic_id)
    return [(name, len(topics)) for name, topics in held.items() if len(topics) > 1]


def broker_configs(asked: Asked) -> Rows:
    values = {
        (e.fields["resource_name"], e.fields["name"]): e.fields["value"]
        for e in asked.of("ConfigRecord")
        if e.fields["resource_type"] == 4
    }
    return [key for key, value in values.items() if value is not None]


MORE: tuple[Callable[[Asked], Rows], ...] = (
    registered_brokers,
    starts,
    leaderships,
    leaderless,
    not_preferred,
    shrinks,
    size_at_point,
    created_topics,
    names_held_again,
    broker_configs,
)
"""By a question's number, less eleven."""
