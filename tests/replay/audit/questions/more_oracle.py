"""Answers 21 to 30 to docs/auditors_questions.md, by plain Python over fastavro alone."""

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.replay.audit.questions.events import (
    Asked,
    Event,
    Rows,
    id_text,
    is_down,
    lives,
    partitions,
)


def rights(asked: Asked) -> Rows:
    held: dict[bytes, Event] = {}
    for each in asked.of("AccessControlEntryRecord", "RemoveAccessControlEntryRecord"):
        held.pop(each.fields["id"], None)
        if each.name == "AccessControlEntryRecord":
            held[each.fields["id"]] = each
    return [(*_entry(each), each.offset, each.principal) for each in held.values()]


def rights_taken(asked: Asked) -> Rows:
    held: dict[bytes, Event] = {}
    found = []
    for each in asked.of("AccessControlEntryRecord", "RemoveAccessControlEntryRecord"):
        if each.name == "AccessControlEntryRecord":
            held[each.fields["id"]] = each
        else:
            taken = held.pop(each.fields["id"])
            found.append((each.offset, *_entry(taken), each.principal))
    return found


def _entry(acl: Event) -> tuple[str, str]:
    return acl.fields["principal"], acl.fields["resource_name"]


def unavailability_of_a_team(asked: Asked) -> Rows:
    names = {topic_id: name for name, topic_id, _, end in lives(asked) if end is None}
    sums: Counter[bytes] = Counter()
    for (topic_id, _), states in partitions(asked).items():
        name = names.get(topic_id, "").rpartition(":")[2]
        if name.startswith(asked.team):
            for state, following in zip(states, [*states[1:], None], strict=True):
                if is_down(state.fields):
                    until = asked.end_ms if following is None else following.since.ms
                    sums[topic_id] += max(until - max(state.since.ms, asked.start_ms), 0)
    return [(id_text(topic_id), ms) for topic_id, ms in sums.items() if ms]


def drifted_configs(asked: Asked) -> Rows:
    before: dict[tuple[str, str], str | None] = defaultdict(lambda: None)
    now: dict[tuple[str, str], str | None] = defaultdict(lambda: None)
    for each in asked.of("ConfigRecord"):
        if each.fields["resource_type"] == 4:
            key = each.fields["resource_name"], each.fields["name"]
            now[key] = each.fields["value"]
            if each.offset < asked.point:
                before[key] = each.fields["value"]
    return [key for key in now if now[key] != before[key]]


def unclean_elections(asked: Asked) -> Rows:
    return [
        (state.since.offset, f"{id_text(topic_id)}/{number}")
        for (topic_id, number), states in partitions(asked).items()
        for before, state in pairwise(states)
        if (_recovery(before.fields), _recovery(state.fields)) == (0, 1)
    ]


def _recovery(fields: dict[str, Any]) -> int | None:
    found: int | None = fields.get("leader_recovery_state")
    return found


def times_fenced(asked: Asked) -> Rows:
    since: dict[int, int] = {}
    sums: Counter[int] = Counter()
    for each in asked.events:
        fields = each.fields
        match each.name:
            case "RegisterBrokerRecord" | "UnregisterBrokerRecord":
                broker, fenced = fields["broker_id"], bool(fields.get("fenced"))
            case "FenceBrokerRecord" | "UnfenceBrokerRecord":
                broker, fenced = fields["id"], each.name == "FenceBrokerRecord"
            case "BrokerRegistrationChangeRecord" if fields["fenced"]:
                broker, fenced = fields["broker_id"], fields["fenced"] == 1
            case _:
                continue
        if not fenced and broker in since:
            sums[broker] += max(each.ms - since.pop(broker), 0)
        elif fenced:
            since.setdefault(broker, each.ms)
    for broker, ms in since.items():
        sums[broker] += max(asked.end_ms - ms, 0)
    return list(sums.items())


def moves(asked: Asked) -> Rows:
    rows = []
    for (topic_id, number), states in partitions(asked).items():
        pairs = pairwise(state.fields.get("replicas") for state in states)
        count = sum(None not in pair and pair[0] != pair[1] for pair in pairs)
        if count:
            rows.append((f"{id_text(topic_id)}/{number}", count))
    return rows


def replicas(asked: Asked) -> Rows:
    held: Counter[int] = Counter()
    for states in partitions(asked).values():
        held.update(states[-1].fields.get("replicas", ()))
    return list(held.items())


def feature_levels(asked: Asked) -> Rows:
    levels: dict[str, int] = {}
    found = []
    for each in asked.of("FeatureLevelRecord"):
        name, level = each.fields["name"], each.fields["feature_level"]
        before = levels.pop(name, None)
        if level:
            levels[name] = level
            if level != before:
                found.append((each.offset, name, before, level))
    return found


def topics_by_day(asked: Asked) -> Rows:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for each in asked.of("TopicRecord", "RemoveTopicRecord"):
        day = datetime.datetime.fromtimestamp(each.ms / 1_000, datetime.UTC).date().isoformat()
        counts[day][each.name == "RemoveTopicRecord"] += 1
    return [(day, *both) for day, both in counts.items()]


MORE: tuple[Callable[[Asked], Rows], ...] = (
    rights,
    rights_taken,
    unavailability_of_a_team,
    drifted_configs,
    unclean_elections,
    times_fenced,
    moves,
    replicas,
    feature_levels,
    topics_by_day,
)
"""By a question's number, less twenty-one."""
