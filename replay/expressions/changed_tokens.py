"""Determines the tokens (a kind, or a kind and an object's key) that records touch.

Expressions note the tokens that they read. The tokens touched are derived from the changes in the
delta, so none is missed, whichever rule made the change.
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
from replay.image.parts import PARTS
from replay.time_travel.kinds import KINDS
from replay.transactions import MARKERS

_KIND_OF_FIELD = {
    PARTS[part].field or PARTS[part].name: kind.name
    for kind in KINDS.values()
    for part in kind.parts
}
# Those whose objects expressions note one by one, apart from topics.
_KEYED = frozenset({"broker", "controller", "config"})


def touched(delta: MetadataDelta) -> set[Token]:
    """Return the tokens of all changes in a delta not yet applied, and possibly a few others."""
    found: set[Token] = set()
    for field, part in delta.touched_parts():
        if field == "topics":
            _add_topics(found, delta)
            continue
        kind = _KIND_OF_FIELD[field]
        if kind in _KEYED:
            if not part.changed:
                continue  # it was only read
            found.update((kind, key) for key in part.changed)
        if kind == "namespace":
            found.add(NAMES)
        found.add((kind,))
    return found


def _add_topics(found: set[Token], delta: MetadataDelta) -> None:
    topics, before = delta.topics, delta.image
    for topic_id in topics.changed:
        found.add(("topic", topic_id))
        old, new = before.topic(topic_id), topics.topic(topic_id)
        ids: Any = topics.changed_partitions(topic_id)
        if old != new:
            found.add(NAMES)
            # Their names changed, and those of a removed topic are gone.
            ids = {*ids, *(p.partition_id for p in before.partitions(topic_id))}
        found.update([("partition", (topic_id, partition_id)) for partition_id in ids])
        if topics.may_have_new_members(topic_id):
            found.add(PARTITIONS)


def touched_by(
    rows: Iterable[Envelope], types: Set[type[Record]], delta: MetadataDelta
) -> set[Token] | None:
    """Return the tokens that rows touch, without replaying the rows.

    Args:
        rows: Rows outside a transaction.
        types: Types of the records to consider.
        delta: The state before the rows.

    Returns:
        None if the rows must be replayed to determine the tokens.
    """
    found: set[Token] = set()
    for row in rows:
        record = row.payload
        type_ = type(record)
        if type_ in types:
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


# Of the records that most of a log consists of.
_TOKENS: dict[type[Record], Callable[[Any, MetadataDelta], Iterable[Token]]] = {
    PartitionChangeRecord: _of_change,
    PartitionRecord: _of_partition,
    TopicRecord: _of_topic,
    RemoveTopicRecord: _of_removal,
    ConfigRecord: _of_config,
}
