"""The answers to docs/auditors_questions.md, by plain Python over fastavro alone."""

import base64
import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import fastavro

Rows = list[tuple[Any, ...]]


class Event(NamedTuple):
    """A record that took effect."""

    offset: int
    ms: int
    principal: str | None
    name: str
    fields: dict[str, Any]


class Asked(NamedTuple):
    """What a question is asked about.

    Attributes:
        events: All records that took effect, in order.
        end_ms: Time of the last record.
        point: An offset.
        topic: A topic's name.
    """

    events: list[Event]
    end_ms: int
    point: int
    topic: str

    def of(self, *names: str) -> Iterator[Event]:
        return (each for each in self.events if each.name in names)


def read(log: Path, point: int, topic: str) -> Asked:
    """Read all segments of a log that is not being written."""
    rows = [row for path in sorted(log.glob("*.avro")) for row in _rows(path)]
    events: list[Event] = []
    waiting: list[Event] | None = None
    for each in map(_event, rows):
        if each.name == "BeginTransactionRecord":
            waiting = []
        elif each.name in ("EndTransactionRecord", "AbortTransactionRecord"):
            events += (waiting or []) if each.name == "EndTransactionRecord" else []
            waiting = None
        else:
            (events if waiting is None else waiting).append(each)
    return Asked(events, _last_ms(rows[-1]), point, topic)


def _rows(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        yield from fastavro.reader(file, return_record_name=True, return_record_name_override=True)


def _event(row: Any) -> Event:
    name, fields = row["payload"]
    origin = row["origin"] or {}
    return Event(row["offset"], row["timestamp"], origin.get("principal"), name, fields)


def _last_ms(row: Any) -> int:
    name, fields = row["payload"]
    return int(fields["last_timestamp"] if name == "NoOpRunRecord" else row["timestamp"])


def _id(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).decode()[:22]


def _lives(asked: Asked) -> Iterator[tuple[str, bytes, Event, Event | None]]:
    """Yield each name of a topic with its id, and the records that gave and took it."""
    spaces: dict[bytes, str] = {}
    held: dict[bytes, tuple[str, Event]] = {}
    for each in asked.of("NamespaceRecord", "TopicRecord", "MoveTopicRecord", "RemoveTopicRecord"):
        if each.name == "NamespaceRecord":
            spaces[each.fields["namespace_id"]] = each.fields["name"]
            continue
        topic_id = each.fields["topic_id"]
        if topic_id in held:
            name, began = held.pop(topic_id)
            yield name, topic_id, began, each
        if each.name != "RemoveTopicRecord":
            space = spaces.get(each.fields["namespace_id"])
            name = each.fields["name"] if space is None else f"{space}:{each.fields['name']}"
            held[topic_id] = name, each
    for topic_id, (name, began) in held.items():
        yield name, topic_id, began, None


def deleted_topics(asked: Asked) -> Rows:
    return [
        (end.offset, name, end.principal)
        for name, _, _, end in _lives(asked)
        if end is not None and end.name == "RemoveTopicRecord"
    ]


def topic_lives(asked: Asked) -> Rows:
    return [
        (name, _id(topic_id), began.offset, end and end.offset)
        for name, topic_id, began, end in _lives(asked)
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
    for name, _, began, end in _lives(asked):
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


class Partition(NamedTuple):
    """A partition's state from a record on; no fields if it is gone."""

    since: Event
    fields: dict[str, Any]


def _partitions(asked: Asked) -> dict[tuple[bytes, int], list[Partition]]:
    """Return, by partition, its states in order."""
    found: dict[tuple[bytes, int], list[Partition]] = defaultdict(list)
    for each in asked.events:
        fields = each.fields
        if each.name == "PartitionRecord":
            found[fields["topic_id"], fields["partition_id"]].append(Partition(each, fields))
        elif each.name == "PartitionChangeRecord":
            states = found[fields["topic_id"], fields["partition_id"]]
            states.append(Partition(each, states[-1].fields | _set(fields)))
        elif each.name == "RemoveTopicRecord":
            for (topic_id, _), states in found.items():
                if topic_id == fields["topic_id"] and states[-1].fields:
                    states.append(Partition(each, {}))
        elif each.name == "RemovePartitionsRecord":
            for number in fields["partition_ids"]:
                found[fields["topic_id"], number].append(Partition(each, {}))
    return found


def _set(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a PartitionChangeRecord sets."""
    found = {name: fields[name] for name in ("isr", "replicas") if fields[name] is not None}
    return found if fields["leader"] == -2 else found | {"leader": fields["leader"]}


def unavailability(asked: Asked) -> Rows:
    rows = []
    for (topic_id, number), states in _partitions(asked).items():
        outages = ms = 0
        was_down = False
        for state, following in zip(states, [*states[1:], None], strict=True):
            is_down = state.fields.get("leader") == -1
            outages += is_down and not was_down
            until = asked.end_ms if following is None else following.since.ms
            ms += max(until - state.since.ms, 0) if is_down else 0
            was_down = is_down
        if outages:
            rows.append((f"{_id(topic_id)}/{number}", outages, ms))
    return rows


def leader_changes(asked: Asked) -> Rows:
    rows = []
    for (topic_id, number), states in _partitions(asked).items():
        leaders = [state.fields.get("leader") for state in states]
        pairs = pairwise(leaders)
        count = sum(None not in pair and pair[0] != pair[1] for pair in pairs)
        if count:
            rows.append((f"{_id(topic_id)}/{number}", count))
    return rows


def data_at_risk(asked: Asked) -> Rows:
    return [
        (_id(topic_id), number, fields["isr"][0])
        for (topic_id, number), states in _partitions(asked).items()
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
        (_id(topic_id), number, broker)
        for (topic_id, number), states in _partitions(asked).items()
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
)
"""By a question's number, less one."""
