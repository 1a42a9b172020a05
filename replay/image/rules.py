"""Replay rules: for each record type, the function that applies a record to the deltas."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from records import brokers, configs, control, partitions, security, topics
from records.base import Record, Uuid
from records.errors import ContradictionError
from replay.image.configs import TOPIC
from replay.image.part_deltas import PartDeltas
from replay.image.provenance import has_unknown_tags

RULES_VERSION = 4
"""Version of these rules: stored images of another version are rebuilt."""

R = TypeVar("R", bound=Record)
Rule = Callable[[R, int], object]
"""Applies a record at an offset (UNKNOWN: from a base checkpoint without offsets)."""


def _create_topic(delta: PartDeltas, record: topics.TopicRecord, offset: int) -> None:
    _check_namespace(delta, record.namespace_id)
    delta.topics.create_topic(record, offset)


def _move_topic(delta: PartDeltas, record: topics.MoveTopicRecord, offset: int) -> None:
    _check_namespace(delta, record.namespace_id)
    old, new = delta.topics.move_topic(record, offset)
    delta.configs.move((TOPIC, delta.full_name(old)), (TOPIC, delta.full_name(new)), offset)


def _remove_topic(delta: PartDeltas, record: topics.RemoveTopicRecord, _: int) -> None:
    topic = delta.topics.remove_topic(record)
    delta.configs.remove((TOPIC, delta.full_name(topic)))
    delta.pending_removals.take(topic.topic_id)


def _remove_namespace(delta: PartDeltas, record: topics.RemoveNamespaceRecord, _: int) -> None:
    # A topic without its namespace would have no full name.
    if delta.topics.has_topics_in(record.namespace_id):
        name = delta.namespaces.existing(record.namespace_id).name
        raise ContradictionError(f"namespace {name!r} still has topics")
    delta.namespaces.remove(record)


def _add_pending_removal(
    delta: PartDeltas, record: partitions.DeleteTopicPartitionsRecord, offset: int
) -> None:
    _touch_partitions(delta, record, offset)
    delta.pending_removals.add(record)


def _cancel_pending_removal(
    delta: PartDeltas, record: partitions.CancelDeleteTopicPartitionsRecord, offset: int
) -> None:
    delta.pending_removals.cancel(record)
    _touch_partitions(delta, record, offset)


def _touch_partitions(
    delta: PartDeltas,
    record: partitions.DeleteTopicPartitionsRecord | partitions.CancelDeleteTopicPartitionsRecord,
    offset: int,
) -> None:
    delta.topics.check_partitions(record.topic_id, record.partition_ids)
    for partition_id in record.partition_ids:
        delta.topics.touch_partition(record.topic_id, partition_id, offset)


def _remove_partitions(
    delta: PartDeltas, record: partitions.RemovePartitionsRecord, offset: int
) -> None:
    delta.topics.remove_partitions(record, offset)
    delta.pending_removals.finish(record)


def _register_broker(delta: PartDeltas, record: brokers.RegisterBrokerRecord, _: int) -> None:
    assert delta.row is not None
    delta.brokers.register(record, delta.row.record_version)


def _check_namespace(delta: PartDeltas, namespace_id: Uuid | None) -> None:
    if namespace_id is not None:
        delta.namespaces.existing(namespace_id)


def _count_not_understood(delta: PartDeltas, _: control.UnknownRecord, offset: int) -> None:
    delta.count_not_understood(offset)


def _marker(delta: PartDeltas, _: Record, offset: int) -> None:
    # Of the markers, replay passes on those with unknown tags, which are counted.
    assert delta.row is not None
    if not has_unknown_tags(delta.row):
        raise ContradictionError("a transaction marker is only allowed in the batches of a log")


def _ignore(record: Record, offset: int) -> None:
    pass


def _unversioned(set_: Callable[[R], object]) -> "Rule[R]":
    return lambda record, _: set_(record)


RULES: dict[type[Record], Callable[[PartDeltas], Rule[Any]]] = {
    topics.TopicRecord: lambda delta: partial(_create_topic, delta),
    topics.RemoveTopicRecord: lambda delta: partial(_remove_topic, delta),
    topics.MoveTopicRecord: lambda delta: partial(_move_topic, delta),
    topics.NamespaceRecord: lambda delta: delta.namespaces.create,
    topics.RemoveNamespaceRecord: lambda delta: partial(_remove_namespace, delta),
    partitions.PartitionRecord: lambda delta: delta.topics.set_partition,
    partitions.PartitionChangeRecord: lambda delta: delta.topics.change_partition,
    partitions.ClearElrRecord: lambda delta: delta.topics.clear_elr,
    partitions.DeleteTopicPartitionsRecord: lambda delta: partial(_add_pending_removal, delta),
    partitions.CancelDeleteTopicPartitionsRecord: lambda delta: partial(
        _cancel_pending_removal, delta
    ),
    partitions.RemovePartitionsRecord: lambda delta: partial(_remove_partitions, delta),
    partitions.ReplicaDeletionRecord: lambda delta: _unversioned(delta.replica_deletions.set),
    brokers.RegisterBrokerRecord: lambda delta: partial(_register_broker, delta),
    brokers.UnregisterBrokerRecord: lambda delta: _unversioned(delta.brokers.unregister),
    brokers.FenceBrokerRecord: lambda delta: _unversioned(delta.brokers.fence),
    brokers.UnfenceBrokerRecord: lambda delta: _unversioned(delta.brokers.unfence),
    brokers.BrokerRegistrationChangeRecord: lambda delta: _unversioned(delta.brokers.change),
    brokers.RegisterControllerRecord: lambda delta: delta.controllers.register,
    brokers.UnregisterControllerRecord: lambda delta: _unversioned(delta.controllers.unregister),
    configs.ConfigRecord: lambda delta: delta.configs.set,
    configs.FeatureLevelRecord: lambda delta: _unversioned(delta.features.set_level),
    configs.ClientQuotaRecord: lambda delta: _unversioned(delta.quotas.set),
    configs.ProducerIdsRecord: lambda delta: _unversioned(delta.producer_ids.set),
    configs.ZkMigrationStateRecord: lambda delta: _unversioned(delta.zk_migration.set_state),
    security.AccessControlEntryRecord: lambda delta: _unversioned(delta.acls.set),
    security.RemoveAccessControlEntryRecord: lambda delta: _unversioned(delta.acls.remove),
    security.UserScramCredentialRecord: lambda delta: _unversioned(delta.scram.set),
    security.RemoveUserScramCredentialRecord: lambda delta: _unversioned(delta.scram.remove),
    security.DelegationTokenRecord: lambda delta: _unversioned(delta.delegation_tokens.set),
    security.RemoveDelegationTokenRecord: lambda delta: _unversioned(
        delta.delegation_tokens.remove
    ),
    control.NoteRecord: lambda delta: _unversioned(delta.notes.add),
    # The replayer resolves transactions; a checkpoint never holds one.
    control.BeginTransactionRecord: lambda delta: partial(_marker, delta),
    control.EndTransactionRecord: lambda delta: partial(_marker, delta),
    control.AbortTransactionRecord: lambda delta: partial(_marker, delta),
    control.LeaderChangeMessage: lambda delta: _ignore,
    control.SnapshotHeaderRecord: lambda delta: _ignore,
    control.SnapshotFooterRecord: lambda delta: _ignore,
    control.KRaftVersionRecord: lambda delta: _unversioned(delta.kraft_version.set_version),
    control.VotersRecord: lambda delta: _unversioned(delta.voters.replace),
    control.NoOpRecord: lambda delta: _ignore,
    control.NoOpRunRecord: lambda delta: _ignore,
    control.UnknownRecord: lambda delta: partial(_count_not_understood, delta),
}
"""Rules by record type: each entry takes a delta and returns the rule that applies the record."""

NEED_ROWS: frozenset[type[Record]] = frozenset(
    {
        brokers.RegisterBrokerRecord,
        control.BeginTransactionRecord,
        control.EndTransactionRecord,
        control.AbortTransactionRecord,
    }
)
"""The record types whose rules read the row (`delta.row`) besides the record."""
