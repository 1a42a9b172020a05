"""Mutations of a log: each changes the bytes and the decoded records in the same way."""

import base64
import random
from collections.abc import Callable
from dataclasses import replace

import msgspec

from records.base import Record as OurRecord
from records.envelope import UnknownTag
from records.kafka import codec
from tests.mutated_logs.kafka_bytes import Batch, Record

Log = list[Batch]
Place = tuple[int, int]
"""Numbers of a batch and of a record in it."""

_BORING = {"NoOpRecord"}


def _places(log: Log) -> list[Place]:
    return [
        (number, index)
        for number, batch in enumerate(log)
        if batch.raw is None
        for index, record in enumerate(batch.records)
        if record.type not in _BORING
    ]


def drop(log: Log, rng: random.Random) -> str:
    """Remove a record; the offsets of the records after it go down by one."""
    number, index = rng.choice(_places(log))
    gone = log[number].records.pop(index)
    if not log[number].records:
        del log[number]
    return f"dropped {gone.type}"


def drop_batch(log: Log, rng: random.Random) -> str:
    """Remove a whole batch; the offsets of the batches after it go down."""
    number, _ = rng.choice(_places(log))
    gone = log.pop(number)
    return f"dropped a batch of {gone.count}"


def leave_hole(log: Log, rng: random.Random) -> str:
    """Remove a batch; the batches after it keep their offsets."""
    candidates = [n for n, _ in _places(log) if n + 1 < len(log)]
    number = rng.choice(candidates)
    gone = log.pop(number)
    log[number].shift += gone.count
    return f"dropped a batch of {gone.count}, leaving a hole"


def shift(log: Log, rng: random.Random) -> str:
    """Make the offsets of a batch and of all batches after it too high or too low."""
    number, _ = rng.choice([place for place in _places(log) if place[0] > 0])
    log[number].shift = rng.choice([-1, 1, 7])
    return f"offsets moved by {log[number].shift}"


def repeat(log: Log, rng: random.Random) -> str:
    """Write a record again, right after it or at any later place."""
    number, index = rng.choice(_places(log))
    record = log[number].records[index]
    later = [place for place in _places(log) if place >= (number, index)]
    number, index = rng.choice([(number, index), rng.choice(later)])
    log[number].records.insert(index + 1, record)
    return f"repeated {record.type}"


def repeat_batch(log: Log, rng: random.Random) -> str:
    """Write a batch again, at any later place."""
    number, _ = rng.choice(_places(log))
    batch = log[number].copy()
    log.insert(rng.randrange(number + 1, len(log) + 1), batch)
    _keep_epochs(log)
    return f"repeated a batch of {batch.count}"


def exchange(log: Log, rng: random.Random) -> str:
    """Swap two records, adjacent ones or any."""
    places = _places(log)
    first = rng.randrange(len(places) - 1)
    second = first + 1 if rng.random() < 0.5 else rng.randrange(len(places))
    (a, i), (b, j) = places[first], places[second]
    log[a].records[i], log[b].records[j] = log[b].records[j], log[a].records[i]
    return f"exchanged {log[a].records[i].type} and {log[b].records[j].type}"


_NUMBERS = {
    "FenceBrokerRecord": ("id", "epoch"),
    "UnfenceBrokerRecord": ("id", "epoch"),
    "BrokerRegistrationChangeRecord": ("broker_id", "broker_epoch"),
    "RegisterBrokerRecord": ("broker_id", "broker_epoch"),
    "PartitionRecord": ("partition_id", "leader_epoch"),
    "PartitionChangeRecord": ("partition_id",),
    "ProducerIdsRecord": ("next_producer_id",),
    "RegisterControllerRecord": ("controller_id",),
}
_IDS = ("TopicRecord", "RemoveTopicRecord", "PartitionRecord", "PartitionChangeRecord")


def renumber(log: Log, rng: random.Random) -> str:
    """Change a number in a record by a small amount."""
    number, index = rng.choice([p for p in _places(log) if _at(log, p).type in _NUMBERS])
    record = log[number].records[index]
    name = rng.choice(_NUMBERS[record.type])
    first, *rest = name.split("_")
    decoded_name = first + "".join(map(str.capitalize, rest))
    value = max(record.data[decoded_name] + rng.choice([-1, 1, 2]), 0)
    log[number].records[index] = _edited(record, {name: value}, {decoded_name: value})
    return f"{record.type} with another {decoded_name}"


def rename(log: Log, rng: random.Random) -> str:
    """Change the topic id of a record to that of another topic, or to an unknown one."""
    number, index = rng.choice([p for p in _places(log) if _at(log, p).type in _IDS])
    record = log[number].records[index]
    others = [_at(log, p).data["topicId"] for p in _places(log) if _at(log, p).type in _IDS]
    raw = rng.randbytes(16)
    text = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    if rng.random() < 0.5:
        text = rng.choice(others)
        raw = base64.urlsafe_b64decode(text + "==")
    log[number].records[index] = _edited(record, {"topic_id": raw}, {"topicId": text})
    return f"{record.type} of another topic"


def unknown_type(log: Log, rng: random.Random) -> str:
    """Give a record a type that no release has."""
    return _not_understood(log, rng, 1, 99, "type")


def unknown_version(log: Log, rng: random.Random) -> str:
    """Give a record a version that no release has."""
    return _not_understood(log, rng, 2, 77, "version")


def unknown_tag(log: Log, rng: random.Random) -> str:
    """Give a record a tagged field that no release has."""
    number, index = rng.choice(_places(log))
    record = log[number].records[index]
    found = codec.decode_value(record.value)
    tags = (*found.unknown_tags, UnknownTag(path="", tag=300, value=b"new"))
    value = codec.encode_value(found.record, found.version, tags)
    log[number].records[index] = replace(record, value=value, not_understood=True)
    return f"{record.type} with an unknown tag"


MUTATIONS: tuple[Callable[[Log, random.Random], str], ...] = (
    drop,
    drop_batch,
    leave_hole,
    shift,
    repeat,
    repeat_batch,
    exchange,
    renumber,
    rename,
    unknown_type,
    unknown_version,
    unknown_tag,
)


def _at(log: Log, place: Place) -> Record:
    return log[place[0]].records[place[1]]


def _edited(record: Record, fields: dict[str, object], decoded: dict[str, object]) -> Record:
    found = codec.decode_value(record.value)
    ours: OurRecord = msgspec.structs.replace(found.record, **fields)
    value = codec.encode_value(ours, found.version, found.unknown_tags)
    data = record.data | decoded
    return replace(record, value=value, decoded=record.decoded | {"data": data})


def _not_understood(log: Log, rng: random.Random, byte: int, number: int, what: str) -> str:
    at, index = rng.choice(_places(log))
    record = log[at].records[index]
    value = record.value[:byte] + bytes([number]) + record.value[byte + 1 :]
    log[at].records[index] = replace(record, value=value, not_understood=True, has_effect=False)
    return f"{record.type} of an unknown {what}"


def _keep_epochs(log: Log) -> None:
    """Give each batch the epoch of the one before if its own is lower, because a leader would do
    so.
    """
    epoch = b"\0\0\0\0"
    for batch in log:
        if batch.raw is None and batch.header[12:16] < epoch:
            batch.header = batch.header[:12] + epoch + batch.header[16:]
        epoch = max(epoch, batch.header[12:16])
