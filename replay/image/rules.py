"""Which rule each record follows: a method of one part's delta, or a rule here that joins parts."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from records import brokers, configs, control, partitions, security, topics
from records.base import Record, Uuid
from replay.image.configs import TOPIC, ConfigResource
from replay.image.errors import ContradictionError
from replay.image.versions import UNKNOWN

if TYPE_CHECKING:
    from replay.image.metadata import MetadataDelta

RULES_VERSION = 1
"""Counts the changes of these rules: images kept under another version are made anew."""

R = TypeVar("R", bound=Record)
Rule = Callable[[R], object]


def _create_topic(delta: "MetadataDelta", record: topics.TopicRecord) -> None:
    _check_namespace(delta, record.namespace_id)
    delta.topics.create_topic(record)
    delta.versions.create_topic(record.topic_id, delta.at)


def _move_topic(delta: "MetadataDelta", record: topics.MoveTopicRecord) -> None:
    _check_namespace(delta, record.namespace_id)
    old, new = delta.topics.move_topic(record)
    old_resource, new_resource = (TOPIC, delta.full_name(old)), (TOPIC, delta.full_name(new))
    delta.configs.move(old_resource, new_resource)
    delta.versions.touch_topic(record.topic_id, delta.at)
    delta.versions.remove_config(old_resource)
    _touch_config(delta, new_resource)


def _remove_topic(delta: "MetadataDelta", record: topics.RemoveTopicRecord) -> None:
    topic = delta.topics.remove_topic(record)
    resource = (TOPIC, delta.full_name(topic))
    delta.configs.take(resource)
    delta.pending_removals.take(topic.topic_id)
    delta.versions.remove_topic(topic.topic_id)
    delta.versions.remove_config(resource)


def _create_namespace(delta: "MetadataDelta", record: topics.NamespaceRecord) -> None:
    delta.namespaces.create(record)
    delta.versions.set_namespace(record.namespace_id, delta.at)


def _remove_namespace(delta: "MetadataDelta", record: topics.RemoveNamespaceRecord) -> None:
    # Topics that outlived their namespace would have no full name.
    if delta.topics.has_topics_in(record.namespace_id):
        name = delta.namespaces.existing(record.namespace_id).name
        raise ContradictionError(f"namespace {name!r} still has topics")
    delta.namespaces.remove(record)
    delta.versions.remove_namespace(record.namespace_id)


def _set_partition(delta: "MetadataDelta") -> Rule[partitions.PartitionRecord]:
    set_partition, create = delta.topics.set_partition, delta.versions.create_partition

    def rule(record: partitions.PartitionRecord) -> None:
        set_partition(record)
        create(record.topic_id, record.partition_id, delta.at)

    return rule


def _change_partition(delta: "MetadataDelta") -> Rule[partitions.PartitionChangeRecord]:
    change_partition, touch = delta.topics.change_partition, delta.versions.touch_partition

    def rule(record: partitions.PartitionChangeRecord) -> None:
        change_partition(record)
        touch(record.topic_id, record.partition_id, delta.at)

    return rule


def _clear_elr(delta: "MetadataDelta", record: partitions.ClearElrRecord) -> None:
    for topic_id, partition_id in delta.topics.clear_elr(record):
        delta.versions.touch_partition(topic_id, partition_id, delta.at)


def _add_pending_removal(
    delta: "MetadataDelta", record: partitions.DeleteTopicPartitionsRecord
) -> None:
    for partition_id in record.partition_ids:
        delta.topics.check_partition(record.topic_id, partition_id)
    delta.pending_removals.add(record)
    _touch_partitions(delta, record)


def _cancel_pending_removal(
    delta: "MetadataDelta", record: partitions.CancelDeleteTopicPartitionsRecord
) -> None:
    delta.pending_removals.cancel(record)
    _touch_partitions(delta, record)


def _touch_partitions(
    delta: "MetadataDelta",
    record: partitions.DeleteTopicPartitionsRecord | partitions.CancelDeleteTopicPartitionsRecord,
) -> None:
    # In a base checkpoint the partition's own record has said its version.
    if delta.at != UNKNOWN:
        for partition_id in record.partition_ids:
            delta.versions.touch_partition(record.topic_id, partition_id, delta.at)


def _remove_partitions(delta: "MetadataDelta", record: partitions.RemovePartitionsRecord) -> None:
    delta.topics.remove_partitions(record)
    delta.pending_removals.finish(record)
    delta.versions.remove_partitions(record.topic_id, record.partition_ids, delta.at)


def _register_broker(delta: "MetadataDelta", record: brokers.RegisterBrokerRecord) -> None:
    assert delta.row is not None
    delta.brokers.register(record, delta.row.record_version)


def _set_config(delta: "MetadataDelta", record: configs.ConfigRecord) -> None:
    delta.configs.set(record)
    resource = (record.resource_type, record.resource_name)
    if record.value is None:
        _touch_config(delta, resource)
    else:
        delta.versions.set_config(resource, delta.at)


def _touch_config(delta: "MetadataDelta", resource: ConfigResource) -> None:
    if delta.configs.at(resource).is_empty():
        delta.versions.remove_config(resource)
    else:
        delta.versions.set_config(resource, delta.at)


def _check_namespace(delta: "MetadataDelta", namespace_id: Uuid | None) -> None:
    if namespace_id is not None:
        delta.namespaces.existing(namespace_id)


def _count_not_understood(delta: "MetadataDelta", record: control.UnknownRecord) -> None:
    delta.count_not_understood()


def _refuse(record: Record) -> None:
    raise ContradictionError("a transaction has no place outside the batches of a log")


def _ignore(record: Record) -> None:
    pass


RULES: dict[type[Record], Callable[["MetadataDelta"], Callable[[Any], object]]] = {
    topics.TopicRecord: lambda delta: partial(_create_topic, delta),
    topics.RemoveTopicRecord: lambda delta: partial(_remove_topic, delta),
    topics.MoveTopicRecord: lambda delta: partial(_move_topic, delta),
    topics.NamespaceRecord: lambda delta: partial(_create_namespace, delta),
    topics.RemoveNamespaceRecord: lambda delta: partial(_remove_namespace, delta),
    partitions.PartitionRecord: _set_partition,
    partitions.PartitionChangeRecord: _change_partition,
    partitions.ClearElrRecord: lambda delta: partial(_clear_elr, delta),
    partitions.DeleteTopicPartitionsRecord: lambda delta: partial(_add_pending_removal, delta),
    partitions.CancelDeleteTopicPartitionsRecord: lambda delta: partial(
        _cancel_pending_removal, delta
    ),
    partitions.RemovePartitionsRecord: lambda delta: partial(_remove_partitions, delta),
    partitions.ReplicaDeletionRecord: lambda delta: delta.replica_deletions.set,
    brokers.RegisterBrokerRecord: lambda delta: partial(_register_broker, delta),
    brokers.UnregisterBrokerRecord: lambda delta: delta.brokers.unregister,
    brokers.FenceBrokerRecord: lambda delta: delta.brokers.fence,
    brokers.UnfenceBrokerRecord: lambda delta: delta.brokers.unfence,
    brokers.BrokerRegistrationChangeRecord: lambda delta: delta.brokers.change,
    brokers.RegisterControllerRecord: lambda delta: delta.controllers.register,
    configs.ConfigRecord: lambda delta: partial(_set_config, delta),
    configs.FeatureLevelRecord: lambda delta: delta.features.set_level,
    configs.ClientQuotaRecord: lambda delta: delta.quotas.set,
    configs.ProducerIdsRecord: lambda delta: delta.producer_ids.set,
    configs.ZkMigrationStateRecord: lambda delta: delta.zk_migration.set_state,
    security.AccessControlEntryRecord: lambda delta: delta.acls.set,
    security.RemoveAccessControlEntryRecord: lambda delta: delta.acls.remove,
    security.UserScramCredentialRecord: lambda delta: delta.scram.set,
    security.RemoveUserScramCredentialRecord: lambda delta: delta.scram.remove,
    security.DelegationTokenRecord: lambda delta: delta.delegation_tokens.set,
    security.RemoveDelegationTokenRecord: lambda delta: delta.delegation_tokens.remove,
    control.NoteRecord: lambda delta: delta.notes.add,
    # The replayer resolves transactions; a checkpoint never holds one.
    control.BeginTransactionRecord: lambda delta: _refuse,
    control.EndTransactionRecord: lambda delta: _refuse,
    control.AbortTransactionRecord: lambda delta: _refuse,
    control.LeaderChangeMessage: lambda delta: _ignore,
    control.SnapshotHeaderRecord: lambda delta: _ignore,
    control.SnapshotFooterRecord: lambda delta: _ignore,
    control.KRaftVersionRecord: lambda delta: _ignore,
    control.VotersRecord: lambda delta: _ignore,
    control.NoOpRecord: lambda delta: _ignore,
    control.NoOpRunRecord: lambda delta: _ignore,
    control.UnknownRecord: lambda delta: partial(_count_not_understood, delta),
}
"""For each record type: given a delta, the function that takes such a record in."""
