"""Encodes a broker's view as requests to the broker.

Source: KIP-516 (types, topic ids), KIP-694 (modes).
"""

from collections.abc import Callable, Iterable, Iterator

from api.controller_server.broker_view import BrokerView, PartitionKey, Sender, Stop
from api.kafka.messages.replicas import (
    FULL,
    INCREMENTAL,
    BrokerConfig,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrTopic,
    LiveBroker,
    LiveLeader,
    StoppedTopic,
    StopReplicaRequest,
    UpdatedEndpoint,
    UpdateMetadataRequest,
)
from records.base import Uuid
from replay.image.cluster import Broker
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition

Creation = Callable[[Uuid, int], int]
"""Returns the offset at which a partition was created."""


def leader_and_isr(
    image: MetadataImage,
    keys: Iterable[PartitionKey],
    sender: Sender,
    created: Creation,
    configs: tuple[BrokerConfig, ...] = (),
    *,
    full: bool,
) -> LeaderAndIsrRequest:
    """Return the LeaderAndIsr request for the given partitions.

    Partitions of which the broker has no replica are left out.

    Args:
        configs: The broker's configs.
    """
    by_topic: dict[Uuid, list[Partition]] = {}
    for topic_id, partition_id in sorted(keys):
        partition = image.partition(topic_id, partition_id)
        if partition is not None and sender.broker_id in partition.replicas:
            by_topic.setdefault(topic_id, []).append(partition)
    leaders = {partition.leader for many in by_topic.values() for partition in many}
    return LeaderAndIsrRequest(
        controller_id=sender.controller_id,
        controller_epoch=sender.controller_epoch,
        broker_epoch=sender.broker_epoch,
        type=FULL if full else INCREMENTAL,
        broker_configs=configs,
        topic_states=tuple(
            [
                _topic_state(image, topic_id, partitions, sender, created)
                for topic_id, partitions in by_topic.items()
            ]
        ),
        live_leaders=tuple(_live_leaders(image, leaders)),
    )


def stop_replicas(stops: Iterable[Stop], sender: Sender) -> list[StopReplicaRequest]:
    """Return the StopReplica requests: at most one without deletion and one with deletion."""
    requests = []
    by_delete: dict[bool, list[Stop]] = {}
    for stop in stops:
        by_delete.setdefault(stop.delete, []).append(stop)
    for delete, some in sorted(by_delete.items()):
        by_topic: dict[tuple[str, Uuid], list[int]] = {}
        for stop in some:
            by_topic.setdefault((stop.topic, stop.topic_id), []).append(stop.partition_id)
        topics = [
            StoppedTopic(topic=name, topic_id=topic_id, partition_ids=tuple(sorted(ids)))
            for (name, topic_id), ids in by_topic.items()
        ]
        request = StopReplicaRequest(
            controller_id=sender.controller_id,
            controller_epoch=sender.controller_epoch,
            broker_epoch=sender.broker_epoch,
            delete_partitions=delete,
            partitions=tuple(topics),
        )
        requests.append(request)
    return requests


def update_metadata(
    image: MetadataImage,
    view: BrokerView,
    sender: Sender,
    configs: tuple[BrokerConfig, ...] = (),
) -> UpdateMetadataRequest:
    """Return the UpdateMetadata request, the last request of each update of a broker.

    Args:
        configs: The broker's configs.
    """
    live = [broker for broker in image.brokers() if not broker.fenced]
    offset = image.provenance.offset
    assert offset is not None, "there is no broker in an empty log"
    return UpdateMetadataRequest(
        controller_id=sender.controller_id,
        controller_epoch=sender.controller_epoch,
        broker_epoch=sender.broker_epoch,
        type=FULL if view.is_full else INCREMENTAL,
        metadata_offset=offset,
        broker_configs=configs,
        rights=view.rights,
        topic_states=view.topics,
        live_brokers=tuple(
            [_live_broker(broker) for broker in sorted(live, key=lambda b: b.broker_id)]
        ),
    )


def _topic_state(
    image: MetadataImage,
    topic_id: Uuid,
    partitions: list[Partition],
    sender: Sender,
    created: Creation,
) -> LeaderAndIsrTopic:
    topic = image.topic(topic_id)
    assert topic is not None, "its partitions are of this image"
    return LeaderAndIsrTopic(
        topic=image.full_name(topic),
        topic_id=topic_id,
        partition_states=tuple(
            [
                LeaderAndIsrPartition(
                    partition=partition.partition_id,
                    controller_epoch=sender.controller_epoch,
                    leader=partition.leader,
                    leader_epoch=partition.leader_epoch,
                    isr=partition.isr,
                    zk_version=partition.partition_epoch,
                    replicas=partition.replicas,
                    is_new=partition.partition_epoch == 0,
                    create_offset=created(topic_id, partition.partition_id),
                )
                for partition in partitions
            ]
        ),
    )


def _live_leaders(image: MetadataImage, leaders: set[int]) -> Iterator[LiveLeader]:
    for broker_id in sorted(leaders):
        broker = image.broker(broker_id)
        if broker is not None and broker.end_points:
            point = broker.end_points[0]
            yield LiveLeader(id=broker_id, host=point.host, port=point.port)


def _live_broker(broker: Broker) -> LiveBroker:
    return LiveBroker(
        id=broker.broker_id,
        endpoints=tuple(
            [
                UpdatedEndpoint(
                    port=point.port,
                    host=point.host,
                    listener=point.name,
                    security_protocol=point.security_protocol,
                )
                for point in broker.end_points
            ]
        ),
        rack=broker.rack,
    )
