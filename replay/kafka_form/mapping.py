"""Maps each record of a log (not a mirror) to Kafka's form: a record that Kafka knows, or a NoOp.

Record types that Kafka lacks become NoOps by default.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from records import configs, control, partitions, security, topics
from records.base import Record
from records.envelope import Envelope
from records.errors import CorruptLogError
from records.kafka import codec
from records.registry import RECORD_TYPES, schema
from replay.image.configs import NAMESPACE, TOPIC
from replay.image.partitions import READ_WRITE
from replay.kafka_form.names import Names, is_in_namespace

OWN_FEATURES = frozenset({"namespace.version", "partition.mode.version"})
"""Features that Kafka lacks."""

ACL_RESOURCE_TYPE_MAX = 7
"""Kafka's ACL resource types go up to USER."""

NO_OP = control.NoOpRecord()
NO_OP_VERSION = 0


class KafkaForm:
    """Maps the batches of a log in order, starting outside a transaction.

    Attributes:
        names: The names after the rows mapped so far.
        before: The names before the open transaction; None if none is open.
    """

    def __init__(self, names: Names, before: Names | None = None) -> None:
        """Continue from the names at an offset."""
        self.names = names
        self.before = before
        # The batch, and how many of its rows were read.
        self._rows: Sequence[Envelope] = ()
        self._read = 0

    def copy(self) -> "KafkaForm":
        """Return an independent mapper that continues from the same names."""
        return KafkaForm(self.names, self.before)

    def mapped(self, rows: Sequence[Envelope]) -> Iterator[Envelope]:
        """Yield a batch's rows in Kafka's form, each at its offset."""
        rules = _rules()
        self._rows = rows
        for number, row in enumerate(rows, 1):
            rule = rules.get(type(row.payload))
            if rule is None:
                yield row
                continue
            self._read = number
            payload = rule(self, row.payload)
            yield row if payload is row.payload else _replaced(row, payload)

    def name_to_be(self, full: str) -> str | None:
        """Return Kafka's name of the topic that a later row of the batch creates as `full`."""
        for row in self._rows[self._read :]:
            if isinstance(row.payload, topics.TopicRecord):
                names = self.names.with_topic(row.payload).topics[row.payload.topic_id]
                if names.full == full:
                    return names.kafkas
        return None


def _replaced(row: Envelope, payload: Record) -> Envelope:
    version = NO_OP_VERSION if payload is NO_OP else row.record_version
    return msgspec.structs.replace(row, payload=payload, record_version=version, extra=None)


Rule = Callable[[KafkaForm, Any], Record]


def _no_op(_: KafkaForm, __: Record) -> Record:
    return NO_OP


def _namespace(form: KafkaForm, record: topics.NamespaceRecord) -> Record:
    form.names = form.names.with_namespace(record)
    return NO_OP


def _topic(form: KafkaForm, record: topics.TopicRecord) -> Record:
    form.names = form.names.with_topic(record)
    name = form.names.kafkas(record.topic_id)
    if record.namespace_id is None and name == record.name:
        return record
    return topics.TopicRecord(name=name, topic_id=record.topic_id)


def _move(form: KafkaForm, record: topics.MoveTopicRecord) -> Record:
    form.names = form.names.with_move(record)
    return NO_OP


def _remove_topic(form: KafkaForm, record: topics.RemoveTopicRecord) -> Record:
    form.names = form.names.without_topic(record)
    return record


def _partition(_: KafkaForm, record: partitions.PartitionRecord) -> Record:
    if record.mode == READ_WRITE:
        return record
    return msgspec.structs.replace(record, mode=READ_WRITE)


def _partition_change(_: KafkaForm, record: partitions.PartitionChangeRecord) -> Record:
    # A change of the mode alone leaves one without fields, which adds one to the partition epoch.
    return record if record.mode is None else msgspec.structs.replace(record, mode=None)


def _clear_elr(form: KafkaForm, record: partitions.ClearElrRecord) -> Record:
    if not record.topic_name:
        return record
    # The record means a topic of the default namespace.
    is_other = is_in_namespace(record.topic_name)
    name = None if is_other else form.names.of_full_name(record.topic_name)
    return _named(record, "topic_name", name)


def _config(form: KafkaForm, record: configs.ConfigRecord) -> Record:
    if record.resource_type == NAMESPACE:
        return NO_OP
    if record.resource_type != TOPIC:
        return record
    full = record.resource_name
    # Configs may come before their topic.
    name = form.names.of_full_name(full) or form.name_to_be(full)
    return _named(record, "resource_name", name)


def _named(record: Record, field: str, name: str | None) -> Record:
    if name is None:
        return NO_OP
    is_same = getattr(record, field) == name
    return record if is_same else msgspec.structs.replace(record, **{field: name})


def _feature(_: KafkaForm, record: configs.FeatureLevelRecord) -> Record:
    return NO_OP if record.name in OWN_FEATURES else record


def _acl(form: KafkaForm, record: security.AccessControlEntryRecord) -> Record:
    if record.resource_type <= ACL_RESOURCE_TYPE_MAX:
        return record
    form.names = form.names.with_own_acl(record.id)
    return NO_OP


def _remove_acl(form: KafkaForm, record: security.RemoveAccessControlEntryRecord) -> Record:
    if record.id not in form.names.own_acls:
        return record
    form.names = form.names.without_own_acl(record.id)
    return NO_OP


def _begin(form: KafkaForm, record: control.BeginTransactionRecord) -> Record:
    form.before = form.names
    return record


def _end(form: KafkaForm, record: control.EndTransactionRecord) -> Record:
    form.before = None
    return record


def _abort(form: KafkaForm, record: control.AbortTransactionRecord) -> Record:
    if form.before is not None:
        form.names, form.before = form.before, None
    return record


def _unknown(_: KafkaForm, record: control.UnknownRecord) -> Record:
    """Keep an unknown record of Kafka's as it is; observers may not understand it either.

    A known record that a base stores only for its unknown tags becomes a NoOp: the base has another
    record with the known fields.
    """
    try:
        if record.control_key is None:
            found = codec.decode_value(record.value).record
        else:
            found = codec.decode_control(record.control_key, record.value).record
    except CorruptLogError:
        return NO_OP
    return record if isinstance(found, control.UnknownRecord) else NO_OP


def _kept(_: KafkaForm, record: Record) -> Record:
    return record


_RULES: Mapping[type[Record], Rule] = {
    topics.NamespaceRecord: _namespace,
    topics.TopicRecord: _topic,
    topics.MoveTopicRecord: _move,
    topics.RemoveTopicRecord: _remove_topic,
    partitions.PartitionRecord: _partition,
    partitions.PartitionChangeRecord: _partition_change,
    partitions.ClearElrRecord: _clear_elr,
    configs.ConfigRecord: _config,
    configs.FeatureLevelRecord: _feature,
    security.AccessControlEntryRecord: _acl,
    security.RemoveAccessControlEntryRecord: _remove_acl,
    control.BeginTransactionRecord: _begin,
    control.EndTransactionRecord: _end,
    control.AbortTransactionRecord: _abort,
    control.UnknownRecord: _unknown,
    # Becomes as many NoOps, in batches.py.
    control.NoOpRunRecord: _kept,
}


@functools.cache
def _rules() -> Mapping[type[Record], Rule]:
    """Return the rules by record type; records of other types stay as they are."""
    own = [cls for cls in RECORD_TYPES if "kafka" not in schema(cls.__name__)]
    return {**dict.fromkeys(own, _no_op), **_RULES}
