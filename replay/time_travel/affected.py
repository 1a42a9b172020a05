"""Table of the objects that a record can change: kinds and keys (see `kinds`) by record type.

Superfluous keys cost time, missing keys give wrong answers: a test compares whole images before and
after each record, with histories that have all record types.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from records import brokers, configs, control, partitions, security, topics
from records.base import Record
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.image.quotas import quota_entity
from replay.image.topics import Topic
from replay.time_travel.kinds import Key

Keys = Callable[[Any, MetadataImage], Iterable[Key]]
"""Given a record and the image before it: the keys of the objects that it can change."""

# The topic or an object in it may have another name afterwards.
_NAMING: frozenset[type[Record]] = frozenset(
    {topics.TopicRecord, topics.RemoveTopicRecord, topics.MoveTopicRecord}
)
_NAMED_BY_TOPIC = frozenset({"topic", "partition", "config", "removal", "deletion"})


def types_reaching(kind: str) -> frozenset[type[Record]]:
    """Return the record types that can change objects of a kind, or the topics in their names."""
    found = frozenset(record_type for record_type, kinds in AFFECTED.items() if kind in kinds)
    return found | _NAMING if kind in _NAMED_BY_TOPIC else found


def _of(*fields: str) -> Keys:
    """Return a function that reads an object's key from these fields of a record."""
    key = attrgetter(*fields)
    return lambda record, before: (key(record),)


def _the(key: Key) -> Keys:
    return lambda record, before: (key,)


def _listed_partitions(record: Any, before: MetadataImage) -> Iterable[Key]:
    return [(record.topic_id, partition_id) for partition_id in record.partition_ids]


def _partitions_of_topic(record: topics.RemoveTopicRecord, before: MetadataImage) -> Iterable[Key]:
    return [(p.topic_id, p.partition_id) for p in before.partitions(record.topic_id)]


def _removals_of_topic(record: topics.RemoveTopicRecord, before: MetadataImage) -> Iterable[Key]:
    return [(p.topic_id, p.partition_id) for p in before.pending_removals(record.topic_id)]


def _config_of_topic(record: Any, before: MetadataImage) -> Iterable[Key]:
    topic = before.topic(record.topic_id)
    return () if topic is None else ((TOPIC, before.full_name(topic)),)


def _configs_of_moved_topic(record: topics.MoveTopicRecord, before: MetadataImage) -> Iterable[Key]:
    moved = Topic(record.topic_id, record.name, record.namespace_id)
    return (*_config_of_topic(record, before), (TOPIC, before.full_name(moved)))


def _partitions_with_elr(record: partitions.ClearElrRecord, before: MetadataImage) -> Iterable[Key]:
    if record.topic_name:
        topic = before.topic_by_name(record.topic_name)
        found = [] if topic is None else [topic]
    else:
        found = list(before.topics())
    return [
        (topic.topic_id, partition.partition_id)
        for topic in found
        for partition in before.partitions(topic.topic_id)
        if partition.eligible_leader_replicas or partition.last_known_elr
    ]


def _voters(record: control.VotersRecord, before: MetadataImage) -> Iterable[Key]:
    ids = [voter.voter_id for voter in before.voters()]
    ids += [voter.voter_id for voter in record.voters]
    return list(dict.fromkeys(ids))


def _quota(record: configs.ClientQuotaRecord, before: MetadataImage) -> Iterable[Key]:
    return ((quota_entity(record), record.key),)


_TOPIC = _of("topic_id")
_PARTITION = _of("topic_id", "partition_id")
_BROKER = _of("broker_id")

AFFECTED: dict[type[Record], dict[str, Keys]] = {
    topics.TopicRecord: {"topic": _TOPIC},
    topics.RemoveTopicRecord: {
        "topic": _TOPIC,
        "partition": _partitions_of_topic,
        "config": _config_of_topic,
        "removal": _removals_of_topic,
    },
    topics.MoveTopicRecord: {"topic": _TOPIC, "config": _configs_of_moved_topic},
    topics.NamespaceRecord: {"namespace": _of("namespace_id")},
    topics.RemoveNamespaceRecord: {"namespace": _of("namespace_id")},
    partitions.PartitionRecord: {"topic": _TOPIC, "partition": _PARTITION},
    partitions.PartitionChangeRecord: {"partition": _PARTITION},
    partitions.ClearElrRecord: {"partition": _partitions_with_elr},
    partitions.DeleteTopicPartitionsRecord: {"removal": _listed_partitions},
    partitions.CancelDeleteTopicPartitionsRecord: {"removal": _listed_partitions},
    partitions.RemovePartitionsRecord: {
        "topic": _TOPIC,
        "partition": _listed_partitions,
        "removal": _listed_partitions,
    },
    partitions.ReplicaDeletionRecord: {"deletion": _of("topic_id", "partition_id", "broker_id")},
    brokers.RegisterBrokerRecord: {"broker": _BROKER},
    brokers.UnregisterBrokerRecord: {"broker": _BROKER},
    brokers.FenceBrokerRecord: {"broker": _of("id")},
    brokers.UnfenceBrokerRecord: {"broker": _of("id")},
    brokers.BrokerRegistrationChangeRecord: {"broker": _BROKER},
    brokers.RegisterControllerRecord: {"controller": _of("controller_id")},
    brokers.UnregisterControllerRecord: {"controller": _of("controller_id")},
    configs.ConfigRecord: {"config": _of("resource_type", "resource_name")},
    configs.FeatureLevelRecord: {"feature": _of("name")},
    configs.ClientQuotaRecord: {"quota": _quota},
    configs.ProducerIdsRecord: {"cluster": _the("producer_ids")},
    configs.ZkMigrationStateRecord: {"cluster": _the("zk_migration")},
    security.AccessControlEntryRecord: {"acl": _of("id")},
    security.RemoveAccessControlEntryRecord: {"acl": _of("id")},
    security.UserScramCredentialRecord: {"scram": _of("name", "mechanism")},
    security.RemoveUserScramCredentialRecord: {"scram": _of("name", "mechanism")},
    security.DelegationTokenRecord: {"token": _of("token_id")},
    security.RemoveDelegationTokenRecord: {"token": _of("token_id")},
    control.KRaftVersionRecord: {"cluster": _the("kraft_version")},
    control.VotersRecord: {"voter": _voters},
    control.NoteRecord: {"note": _of("at_offset", "author", "text")},
}
"""By record type: the kinds of objects that a record can change, and how to find their keys."""
