"""The records of a log that took effect, read with fastavro alone, and the states they make."""

import base64
from collections import defaultdict, deque
from collections.abc import Iterator
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
        start_ms: Time of its record.
        topic: A topic's name.
        team: The beginning of the names of a team's topics.
    """

    events: list[Event]
    end_ms: int
    point: int
    start_ms: int
    topic: str
    team: str

    def of(self, *names: str) -> Iterator[Event]:
        return (each for each in self.events if each.name in names)


def read(log: Path, point: int, topic: str, team: str) -> Asked:
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
    (start_ms,) = deque((row["timestamp"] for row in rows if row["offset"] <= point), maxlen=1)
    return Asked(events, _last_ms(rows[-1]), point, start_ms, topic, team)


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


def id_text(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).decode()[:22]


def lives(asked: Asked) -> Iterator[tuple[str, bytes, Event, Event | None]]:
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


class Partition(NamedTuple):
    """A partition's state from a record on; no fields if it is gone."""

    since: Event
    fields: dict[str, Any]


def partitions(asked: Asked) -> dict[tuple[bytes, int], list[Partition]]:
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


def is_down(fields: dict[str, Any]) -> bool:
    """True if a partition has no leader, and is not offline (mode -1) to be removed."""
    return fields.get("leader") == -1 and fields["mode"] != -1


def _set(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a PartitionChangeRecord sets."""
    names = ("isr", "replicas", "mode")
    found = {name: fields[name] for name in names if fields[name] is not None}
    if fields["leader_recovery_state"] != -1:
        found["leader_recovery_state"] = fields["leader_recovery_state"]
    return found if fields["leader"] == -2 else found | {"leader": fields["leader"]}
