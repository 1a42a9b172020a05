"""The part of the log's state that one broker is sent, a pure function of two images.

The first view is FULL: all partitions of the broker, so that it can detect stale data on its disk.
Later views contain only changes. Each view ends with UpdateMetadata, which carries the offset.

A replica that is being deleted gets StopReplica with deletion until the broker has reported the
result. Once deleted, it is not listed among the broker's partitions.

Source: KIP-516 (FULL and INCREMENTAL, StopReplica), KIP-694 (modes, deletion).
"""

from collections.abc import Iterator

import msgspec

from api.controller_server.record_configs import RecordConfigs, newly_configured
from api.controller_server.rights_records import all_rights, changed_rights
from api.kafka.messages.replicas import (
    LEADER_DURING_DELETE,
    UpdatedPartition,
    UpdatedTopic,
)
from api.service.history import Change
from controller.decisions.context.context import Settings
from controller.decisions.partitions.replica_states import DELETION_STARTED, DELETION_SUCCESSFUL
from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.image.partitions import NONE, Partition
from replay.image.topics import Topic

PartitionKey = tuple[Uuid, int]
"""Topic id and partition id."""


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """The sending controller, and the receiving broker process."""

    controller_id: int
    controller_epoch: int
    broker_id: int
    broker_epoch: int
    wants_users: bool = False
    settings: Settings = Settings()


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """A replica to stop, and to delete if `delete`; `topic` is "" if the topic was deleted."""

    topic: str
    topic_id: Uuid
    partition_id: int
    delete: bool

    @property
    def key(self) -> PartitionKey:
        """The partition's key: topic id and partition id."""
        return self.topic_id, self.partition_id


class BrokerView(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to send to a broker.

    They are partitions to update, replicas to stop, topics to update in the broker's metadata, and
    records for the broker's authorizer.
    """

    is_full: bool
    partitions: frozenset[PartitionKey]
    stops: tuple[Stop, ...]
    topics: tuple[UpdatedTopic, ...]
    rights: tuple[bytes, ...] = ()


def full_view(image: MetadataImage, sender: Sender) -> BrokerView:
    """Return the full view; takes O(partitions of the cluster)."""
    gone = _deletions(image, sender.broker_id, DELETION_SUCCESSFUL)
    configs = RecordConfigs(image, sender.settings)
    return BrokerView(
        is_full=True,
        partitions=frozenset(
            [
                key
                for topic in image.topics()
                for key in _keys_on(image, topic.topic_id, sender.broker_id)
                if key not in gone
            ]
        ),
        stops=tuple(_started_deletions(image, sender.broker_id)),
        topics=tuple([_updated(image, topic, sender, configs) for topic in image.topics()]),
        rights=all_rights(image, with_users=sender.wants_users),
    )


def changed_view(change: Change, sender: Sender) -> BrokerView:
    """Return the changes between two images; takes O(topics changed)."""
    partitions: set[PartitionKey] = set()
    stops: dict[PartitionKey, Stop] = {}
    topics: list[UpdatedTopic] = []
    gone = _deletions(change.after, sender.broker_id, DELETION_SUCCESSFUL)
    configs = RecordConfigs(change.after, sender.settings)
    topic_ids = change.topic_ids | newly_configured(change, sender.settings)
    # Removed topics first, because a name may pass from one topic to another.
    for topic_id in sorted(topic_ids, key=lambda i: change.after.topic(i) is not None):
        partitions |= set(_changed_keys(change, topic_id, sender.broker_id)) - gone
        stops |= {stop.key: stop for stop in _stops(change, topic_id, sender.broker_id)}
        topics += _updated_topics(change, topic_id, sender, configs)
    stops |= {stop.key: stop for stop in _started_deletions(change.after, sender.broker_id)}
    return BrokerView(
        is_full=False,
        partitions=frozenset(partitions),
        stops=tuple(stops.values()),
        topics=tuple(topics),
        rights=changed_rights(change, with_users=sender.wants_users),
    )


def tracked_deletions(image: MetadataImage, broker_id: int) -> frozenset[PartitionKey]:
    """Return the broker's replica deletions whose result the controller waits for."""
    return _deletions(image, broker_id, DELETION_STARTED)


def _deletions(image: MetadataImage, broker_id: int, state: int) -> frozenset[PartitionKey]:
    return frozenset(
        [
            (deletion.topic_id, deletion.partition_id)
            for deletion in image.replica_deletions()
            if deletion.broker_id == broker_id and deletion.state == state
        ]
    )


def _started_deletions(image: MetadataImage, broker_id: int) -> Iterator[Stop]:
    for topic_id, partition_id in sorted(tracked_deletions(image, broker_id)):
        topic = image.topic(topic_id)
        name = "" if topic is None else image.full_name(topic)
        yield Stop(topic=name, topic_id=topic_id, partition_id=partition_id, delete=True)


def _keys_on(image: MetadataImage, topic_id: Uuid, broker_id: int) -> Iterator[PartitionKey]:
    for partition in image.partitions(topic_id):
        if broker_id in partition.replicas:
            yield topic_id, partition.partition_id


def _changed_keys(change: Change, topic_id: Uuid, broker_id: int) -> Iterator[PartitionKey]:
    # A moved topic has the same partitions under another name.
    moved = change.before.topic(topic_id) != change.after.topic(topic_id)
    for key in _keys_on(change.after, topic_id, broker_id):
        if moved or change.before.partition(*key) != change.after.partition(*key):
            yield key


def _stops(change: Change, topic_id: Uuid, broker_id: int) -> Iterator[Stop]:
    """Yield the replicas of a topic that the broker must stop after a change.

    A replica removed from the broker is also deleted; a replica whose partition's mode became NONE
    is only stopped.
    """
    topic = change.before.topic(topic_id)
    if topic is None:
        return
    name = change.before.full_name(topic)
    for before in change.before.partitions(topic_id):
        if broker_id not in before.replicas:
            continue
        after = change.after.partition(topic_id, before.partition_id)
        leaves = after is None or broker_id not in after.replicas
        if leaves or (after is not None and before.mode != NONE and after.mode == NONE):
            yield Stop(
                topic=name, topic_id=topic_id, partition_id=before.partition_id, delete=leaves
            )


def _updated_topics(
    change: Change, topic_id: Uuid, sender: Sender, configs: RecordConfigs
) -> Iterator[UpdatedTopic]:
    before, after = change.before.topic(topic_id), change.after.topic(topic_id)
    if before is not None and (after is None or before != after):
        yield _removed(change.before, before, sender)
    if after is not None:
        yield _updated(change.after, after, sender, configs)


def _removed(image: MetadataImage, topic: Topic, sender: Sender) -> UpdatedTopic:
    return UpdatedTopic(
        topic_name=image.full_name(topic),
        topic_id=topic.topic_id,
        partition_states=tuple(
            [
                UpdatedPartition(
                    partition_index=partition.partition_id,
                    controller_epoch=sender.controller_epoch,
                    leader=LEADER_DURING_DELETE,
                    leader_epoch=partition.leader_epoch,
                )
                for partition in image.partitions(topic.topic_id)
            ]
        ),
    )


def _updated(
    image: MetadataImage, topic: Topic, sender: Sender, configs: RecordConfigs
) -> UpdatedTopic:
    partitions = image.partitions(topic.topic_id)
    return UpdatedTopic(
        topic_name=image.full_name(topic),
        topic_id=topic.topic_id,
        configs=configs.of(topic),
        partition_states=tuple([_updated_partition(image, p, sender) for p in partitions]),
    )


def _updated_partition(
    image: MetadataImage, partition: Partition, sender: Sender
) -> UpdatedPartition:
    return UpdatedPartition(
        partition_index=partition.partition_id,
        controller_epoch=sender.controller_epoch,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        zk_version=partition.partition_epoch,
        replicas=partition.replicas,
        offline_replicas=tuple([r for r in partition.replicas if not _is_live(image, r)]),
        mode=partition.mode,
    )


def _is_live(image: MetadataImage, broker_id: int) -> bool:
    broker = image.broker(broker_id)
    return broker is not None and not broker.fenced
