"""An image as the records that recreate it, for base checkpoints, forks and exports.

The groups are in the order of Kafka's checkpoints, extended by the types that Kafka lacks; within a
group records are ordered by key, so that equal images give equal files.
"""

from collections.abc import Iterator
from itertools import groupby

from records import brokers, configs, control, partitions, security, topics
from records.base import Record, Uuid
from records.envelope import Kept
from records.registry import newest_version
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.removals import PendingRemoval
from replay.image.versions import UNKNOWN

METADATA_VERSION = "metadata.version"


def image_records(image: MetadataImage) -> Iterator[tuple[Record, int]]:
    """Yield records with their layout versions; their replay gives an image with the same digest.

    A broker keeps the version it registered with; all other records have their type's newest.
    """
    versions = {broker.broker_id: broker.record_version for broker in image.brokers()}
    for record in _records(image):
        if isinstance(record, brokers.RegisterBrokerRecord):
            yield record, versions[record.broker_id]
        else:
            yield record, newest_version(type(record))


def kept_of(image: MetadataImage, record: Record) -> Kept | None:
    """Return the offsets to store with an image's record (`Kept`), None if unknown."""
    created = UNKNOWN
    match record:
        case topics.TopicRecord():
            version = image.topic_version(record.topic_id)
        case partitions.PartitionRecord():
            version = image.partition_version(record.topic_id, record.partition_id)
            created = image.partition_created(record.topic_id, record.partition_id)
        case topics.NamespaceRecord():
            namespace = image.namespace(record.namespace_id)
            version = UNKNOWN if namespace is None else namespace.version
        case configs.ConfigRecord():
            version = image.config_version(record.resource_type, record.resource_name)
        case _:
            return None
    if version == UNKNOWN:
        return None
    return Kept(version=version, created=None if created == UNKNOWN else created)


def _records(image: MetadataImage) -> Iterator[Record]:
    yield from _features(image)
    yield from _cluster(image)
    yield from _topics(image)
    yield from _configs(image)
    yield from _client_quotas(image)
    yield from _producer_ids(image)
    yield from _security(image)
    yield from _removals(image)
    yield from _notes(image)


def _features(image: MetadataImage) -> Iterator[Record]:
    # metadata.version comes first: its level decides how Kafka reads the rest.
    levels = sorted(
        image.features().items(), key=lambda item: (item[0] != METADATA_VERSION, item[0])
    )
    for name, level in levels:
        yield configs.FeatureLevelRecord(name=name, feature_level=level)
    if image.zk_migration is not None:
        yield configs.ZkMigrationStateRecord(zk_migration_state=image.zk_migration)


def _cluster(image: MetadataImage) -> Iterator[Record]:
    for broker in sorted(image.brokers(), key=lambda broker: broker.broker_id):
        yield brokers.RegisterBrokerRecord(
            broker_id=broker.broker_id,
            is_migrating_zk_broker=broker.is_migrating_zk_broker,
            incarnation_id=broker.incarnation_id,
            broker_epoch=broker.broker_epoch,
            end_points=broker.end_points,
            features=broker.features,
            rack=broker.rack,
            fenced=broker.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown,
            log_dirs=broker.log_dirs,
        )
    for controller in sorted(image.controllers(), key=lambda controller: controller.controller_id):
        yield brokers.RegisterControllerRecord(
            controller_id=controller.controller_id,
            incarnation_id=controller.incarnation_id,
            zk_migration_ready=controller.zk_migration_ready,
            end_points=controller.end_points,
            features=controller.features,
        )


def _topics(image: MetadataImage) -> Iterator[Record]:
    for namespace in sorted(image.namespaces(), key=lambda namespace: namespace.name):
        yield topics.NamespaceRecord(namespace_id=namespace.namespace_id, name=namespace.name)
    for topic in sorted(image.topics(), key=lambda topic: topic.topic_id):
        yield topics.TopicRecord(
            name=topic.name, topic_id=topic.topic_id, namespace_id=topic.namespace_id
        )
        yield from map(_partition, image.partitions(topic.topic_id))


def _partition(partition: Partition) -> Record:
    return partitions.PartitionRecord(
        partition_id=partition.partition_id,
        topic_id=partition.topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories,
        # Kafka writes null for an empty list.
        eligible_leader_replicas=partition.eligible_leader_replicas or None,
        last_known_elr=partition.last_known_elr or None,
        mode=partition.mode,
    )


def _configs(image: MetadataImage) -> Iterator[Record]:
    for (resource_type, resource_name), values in sorted(image.configs(), key=lambda item: item[0]):
        for name, value in sorted(values.items()):
            yield configs.ConfigRecord(
                resource_type=resource_type, resource_name=resource_name, name=name, value=value
            )


def _client_quotas(image: MetadataImage) -> Iterator[Record]:
    for quota in sorted(image.quotas(), key=lambda quota: (repr(quota.entity), quota.key)):
        entity = tuple(
            configs.EntityData(entity_type=entity_type, entity_name=entity_name)
            for entity_type, entity_name in quota.entity
        )
        yield configs.ClientQuotaRecord(
            entity=entity, key=quota.key, value=quota.value, remove=False
        )


def _producer_ids(image: MetadataImage) -> Iterator[Record]:
    block = image.producer_ids
    if block is not None:
        yield configs.ProducerIdsRecord(
            broker_id=block.broker_id,
            broker_epoch=block.broker_epoch,
            next_producer_id=block.next_producer_id,
        )


def _security(image: MetadataImage) -> Iterator[Record]:
    for acl in sorted(image.acls(), key=lambda acl: acl.id):
        yield security.AccessControlEntryRecord(
            id=acl.id,
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
    for credential in sorted(image.scram(), key=lambda scram: (scram.name, scram.mechanism)):
        yield security.UserScramCredentialRecord(
            name=credential.name,
            mechanism=credential.mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    for token in sorted(image.delegation_tokens(), key=lambda token: token.token_id):
        yield security.DelegationTokenRecord(
            owner=token.owner,
            requester=token.requester,
            renewers=token.renewers,
            issue_timestamp=token.issue_timestamp,
            max_timestamp=token.max_timestamp,
            expiration_timestamp=token.expiration_timestamp,
            token_id=token.token_id,
        )


def _removals(image: MetadataImage) -> Iterator[Record]:
    pending = sorted(image.pending_removals(), key=lambda p: (*_request(p), p.partition_id))
    for (topic_id, create_time_ms, delay_ms), same in groupby(pending, key=_request):
        yield partitions.DeleteTopicPartitionsRecord(
            topic_id=topic_id,
            partition_ids=tuple(removal.partition_id for removal in same),
            delay_ms=delay_ms,
            create_time_ms=create_time_ms,
        )
    deletions = sorted(
        image.replica_deletions(), key=lambda d: (d.topic_id, d.partition_id, d.broker_id)
    )
    for deletion in deletions:
        yield partitions.ReplicaDeletionRecord(
            topic_id=deletion.topic_id,
            partition_id=deletion.partition_id,
            broker_id=deletion.broker_id,
            state=deletion.state,
        )


def _request(removal: PendingRemoval) -> tuple[Uuid, int, int]:
    return removal.topic_id, removal.create_time_ms, removal.delay_ms


def _notes(image: MetadataImage) -> Iterator[Record]:
    for note in sorted(image.notes(), key=lambda note: (note.at_offset, note.author, note.text)):
        yield control.NoteRecord(at_offset=note.at_offset, author=note.author, text=note.text)
