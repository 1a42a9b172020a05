"""The answers to docs/auditors_questions.md, by plain Python over fastavro alone."""

import datetime
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.replay.audit.questions.events import Asked, Rows, id_text, is_down, lives, partitions
from tests.replay.audit.questions.more_oracle import MORE as TO_THIRTY
from tests.replay.audit.questions.state_oracle import MORE as TO_TWENTY


def deleted_topics(asked: Asked) -> Rows:
    return [
        (end.offset, name, end.principal)
        for name, _, _, end in lives(asked)
        if end is not None and end.name == "RemoveTopicRecord"
    ]


def topic_lives(asked: Asked) -> Rows:
    return [
        (name, id_text(topic_id), began.offset, end and end.offset)
        for name, topic_id, began, end in lives(asked)
    ]


def changed_configs(asked: Asked) -> Rows:
    values: dict[tuple[Any, ...], str | None] = {}
    found = []
    for each in asked.of("ConfigRecord", "RemoveTopicRecord", "TopicRecord", "MoveTopicRecord"):
        if each.name != "ConfigRecord":
            continue
        fields = each.fields
        key = (fields["resource_type"], fields["resource_name"], fields["name"])
        if values.get(key) != fields["value"] and each.offset >= asked.point:
            found.append((each.offset, fields["name"], each.principal))
        values[key] = fields["value"]
    return found


def topics_outside_hours(asked: Asked) -> Rows:
    found = []
    for name, _, began, end in lives(asked):
        for each, record in ((began, "TopicRecord"), (end, "RemoveTopicRecord")):
            if each is not None and each.name == record and _is_outside(each.ms):
                found.append((each.offset, name))
    return found


def _is_outside(ms: int) -> bool:
    time = datetime.datetime.fromtimestamp(ms / 1_000, datetime.UTC)
    return time.isoweekday() > 5 or not 8 <= time.hour <= 17


def times_fenced(asked: Asked) -> Rows:
    fenced: dict[int, bool] = {}
    times: Counter[int] = Counter()
    for each in asked.events:
        fields = each.fields
        match each.name:
            case "RegisterBrokerRecord":
                broker, now = fields["broker_id"], fields["fenced"]
            case "FenceBrokerRecord" | "UnfenceBrokerRecord":
                broker, now = fields["id"], each.name == "FenceBrokerRecord"
            case "BrokerRegistrationChangeRecord" if fields["fenced"]:
                broker, now = fields["broker_id"], fields["fenced"] == 1
            case "UnregisterBrokerRecord":
                fenced.pop(fields["broker_id"], None)
                continue
            case _:
                continue
        times[broker] += now and fenced.get(broker) is False
        fenced[broker] = now
    return [(broker, count) for broker, count in times.items() if count]


def unavailability(asked: Asked) -> Rows:
    rows = []
    for (topic_id, number), states in partitions(asked).items():
        outages = ms = 0
        was_down = False
        for state, following in zip(states, [*states[1:], None], strict=True):
            now_down = is_down(state.fields)
            outages += now_down and not was_down
            until = asked.end_ms if following is None else following.since.ms
            ms += max(until - state.since.ms, 0) if now_down else 0
            was_down = now_down
        if outages:
            rows.append((f"{id_text(topic_id)}/{number}", outages, ms))
    return rows


def leader_changes(asked: Asked) -> Rows:
    rows = []
    for (topic_id, number), states in partitions(asked).items():
        leaders = [state.fields.get("leader") for state in states]
        pairs = pairwise(leaders)
        count = sum(None not in pair and pair[0] != pair[1] for pair in pairs)
        if count:
            rows.append((f"{id_text(topic_id)}/{number}", count))
    return rows


def data_at_risk(asked: Asked) -> Rows:
    return [
        (id_text(topic_id), number, fields["isr"][0])
        for (topic_id, number), states in partitions(asked).items()
        if (fields := states[-1].fields) and len(fields["isr"]) == 1 < len(fields["replicas"])
    ]


def readers(asked: Asked) -> Rows:
    acls: dict[bytes, dict[str, Any]] = {}
    for each in asked.of("AccessControlEntryRecord", "RemoveAccessControlEntryRecord"):
        if each.offset <= asked.point:
            acls.pop(each.fields["id"], None)
            if each.name == "AccessControlEntryRecord":
                acls[each.fields["id"]] = each.fields
    return [
        (acl["principal"], acl["host"])
        for acl in acls.values()
        if (acl["permission_type"], acl["resource_type"]) == (3, 2)
        and acl["operation"] in (2, 3)
        and _covers(acl, asked.topic)
    ]


def _covers(acl: dict[str, Any], topic: str) -> bool:
    name = acl["resource_name"]
    return topic.startswith(name) if acl["pattern_type"] == 4 else name in (topic, "*")


def orphans(asked: Asked) -> Rows:
    brokers = set()
    for each in asked.of("RegisterBrokerRecord", "UnregisterBrokerRecord"):
        brokers.discard(each.fields["broker_id"])
        if each.name == "RegisterBrokerRecord":
            brokers.add(each.fields["broker_id"])
    return [
        (id_text(topic_id), number, broker)
        for (topic_id, number), states in partitions(asked).items()
        for broker in states[-1].fields.get("replicas", ())
        if broker not in brokers
    ]


ORACLE: tuple[Callable[[Asked], Rows], ...] = (
    deleted_topics,
    topic_lives,
    changed_configs,
    topics_outside_hours,
    times_fenced,
    unavailability,
    leader_changes,
    data_at_risk,
    readers,
    orphans,
    *TO_TWENTY,
    *TO_THIRTY,
)
"""By a question's number, less one."""
