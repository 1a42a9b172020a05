"""Determines the tokens (a kind, or a kind and an object's key) that records touch.

An expression must be evaluated again only if a record touches a token that the expression has read.
Touched tokens are derived from the changes in the delta, so none is missed, whichever rule made the
change.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

from records.base import Record
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord, PartitionRecord
from records.topics import RemoveTopicRecord, TopicRecord
from replay.expressions.values import Token
from replay.expressions.vocabulary import NAMES, PARTITIONS
from replay.image.configs import TOPIC
from replay.image.delta import MetadataDelta
from replay.time_travel.affected import AFFECTED, Keys
from replay.time_travel.effects import touched_keys
from replay.transactions import MARKERS

# Those whose objects expressions note one by one.
_KEYED = frozenset({"topic", "partition", "broker", "controller", "config"})


def touched(delta: MetadataDelta) -> set[Token]:
    """Return the tokens that a delta's changes touch, and possibly a few others.

    Call this before `apply`.
    """
    found: set[Token] = set()
    for kind, keys in touched_keys(delta).items():
        if kind in _KEYED:
            found.update((kind, key) for key in keys)
        if kind == "topic":
            for topic_id in keys:
                _add_members(found, delta, topic_id)
        elif kind != "partition":
            found.add((kind,))
            if kind == "namespace":
                found.add(NAMES)
    return found


def _add_members(found: set[Token], delta: MetadataDelta, topic_id: Any) -> None:
    topics, before = delta.topics, delta.image
    if before.topic(topic_id) != topics.topic(topic_id):
        found.add(NAMES)  # with those of its partitions
        found.update(("partition", (topic_id, p.partition_id)) for p in before.partitions(topic_id))
    if topics.may_have_new_members(topic_id):
        found.add(PARTITIONS)


def touched_by(
    rows: Iterable[Envelope],
    types: Set[type[Record]],
    matters: Callable[[Any], bool],
    delta: MetadataDelta,
) -> set[Token] | None:
    """Return the tokens that rows touch, without replaying the rows.

    Args:
        rows: Rows outside a transaction.
        types: Types of the records to consider.
        matters: True for the changes of partitions to consider.
        delta: The state before the rows.

    Returns:
        None if the rows must be replayed to determine the tokens.
    """
    found: set[Token] = set()
    for row in rows:
        record = row.payload
        type_ = type(record)
        if type_ in types:
            if type_ is PartitionChangeRecord and not matters(record):
                continue
            tokens = _TOKENS.get(type_)
            if tokens is None:
                return None
            found.update(tokens(record, delta))
        elif type_ in MARKERS:
            return None
    return found


def _of_change(record: PartitionChangeRecord, _: MetadataDelta) -> Iterable[Token]:
    topic_id = record.topic_id
    return ("partition", (topic_id, record.partition_id)), ("topic", topic_id)


def _of_partition(record: PartitionRecord, _: MetadataDelta) -> Iterable[Token]:
    topic_id = record.topic_id
    return ("partition", (topic_id, record.partition_id)), ("topic", topic_id), PARTITIONS


def _of_topic(record: TopicRecord, _: MetadataDelta) -> Iterable[Token]:
    return ("topic", record.topic_id), NAMES


def _of_removal(record: RemoveTopicRecord, before: MetadataDelta) -> Iterator[Token]:
    yield from (("topic", record.topic_id), NAMES, PARTITIONS, ("config",), ("removal",))
    for partition in before.topics.partitions(record.topic_id):
        yield "partition", (record.topic_id, partition.partition_id)
    topic = before.topics.topic(record.topic_id)
    if topic is not None:
        yield "config", (TOPIC, before.full_name(topic))


def _of_config(record: ConfigRecord, _: MetadataDelta) -> Iterable[Token]:
    return ("config", (record.resource_type, record.resource_name)), ("config",)


def _of_object(kind: str, keys: Keys) -> Callable[[Any, MetadataDelta], Iterable[Token]]:
    """Return the tokens of records that name the one object they change."""
    return lambda record, before: ((kind,), *((kind, key) for key in keys(record, before.image)))


# Of the records that most of a log consists of, and of those that would need an image each.
_TOKENS: dict[type[Record], Callable[[Any, MetadataDelta], Iterable[Token]]] = {
    PartitionChangeRecord: _of_change,
    PartitionRecord: _of_partition,
    TopicRecord: _of_topic,
    RemoveTopicRecord: _of_removal,
    ConfigRecord: _of_config,
    **{
        type_: _of_object(kind, keys)
        for type_, kinds in AFFECTED.items()
        for kind, keys in kinds.items()
        if kind in ("broker", "controller")
    },
}
