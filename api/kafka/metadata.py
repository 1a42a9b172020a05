"""Metadata responses, computed from a node's view of the cluster.

The controller's view is its image; a broker's view comes from the controller's updates. Both views
implement `KnownCluster`.

To a client that does not know partition modes, READ_ONLY partitions look normal, and the broker
refuses the client's writes; partitions of mode NONE are LEADER_NOT_AVAILABLE. With the strict rule
of KIP-694, READ_ONLY partitions are LEADER_NOT_AVAILABLE as well.

Only brokers are listed, because clients place replicas on any listed node. The controller id is
that of a broker too, as in KRaft; clients send admin requests to that broker, and brokers forward
these requests.

Source: KIP-694, KIP-516, KIP-430, KIP-590 (forwarding).
"""

import random
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from api.kafka.errors import CODES
from api.kafka.messages.metadata import (
    OPERATIONS_UNKNOWN,
    MetadataBroker,
    MetadataPartition,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataTopic,
)
from api.security.listeners import LOCAL, ListenerAddress
from controller.authorization.authorizer import (
    CLUSTER,
    UNRESTRICTED,
    Access,
    Operation,
    topic_resource,
)
from controller.decisions.names import check_full_name
from controller.descriptions.operations import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    operation_bits,
)
from records.base import ZERO_UUID, Uuid
from records.errors import RequestError
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, NONE, READ_ONLY, Partition
from replay.image.topics import Topic

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

NO_CONTROLLER = -1
"""Controller id if no broker can forward admin requests."""


class KnownTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in a node's view of the cluster; its partitions have no error codes yet."""

    name: str
    topic_id: Uuid
    partitions: tuple[MetadataPartition, ...]


class KnownCluster(Protocol):
    """A node's view of its cluster."""

    def topic_named(self, full_name: str) -> KnownTopic | None:
        """Return the topic with this full name; None if there is none."""

    def topic_of(self, topic_id: Uuid) -> KnownTopic | None:
        """Return the topic with this id; None if there is none."""

    def all_topics(self) -> Iterable[KnownTopic]:
        """Return all topics."""

    def nodes(self, listener: ListenerAddress) -> tuple[MetadataBroker, ...]:
        """Return the live brokers, each with its address for clients of the listener."""


def metadata_response(
    cluster: KnownCluster,
    request: MetadataRequest,
    *,
    version: int,
    cluster_id: str | None,
    access: Access = UNRESTRICTED,
    strict: bool = False,
    listener: ListenerAddress = LOCAL,
) -> MetadataResponse:
    """Return the Metadata response, limited to the topics that the caller may see.

    A response about all topics leaves out topics that the caller may not see. A topic
    requested by name that the caller may not see gets an authorization error, whether it exists or
    not; a topic requested by id is then unknown.

    Args:
        strict: Report no leader for READ_ONLY partitions to clients that do not know modes.
        listener: The listener to which the client is connected.
    """
    hidden = {NONE, READ_ONLY} if strict else {NONE}
    if request.knows_modes:
        hidden = set()
    if asks_for_all(request, version):
        seen = [topic for topic in cluster.all_topics() if may_see(access, topic.name)]
        topics = [_topic(topic, hidden) for topic in seen]
    else:
        topics = [_wanted(cluster, wanted, hidden, access) for wanted in request.topics or ()]
    if request.include_topic_authorized_operations:
        topics = [_with_operations(topic, access) for topic in topics]
    brokers = cluster.nodes(listener)
    return MetadataResponse(
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=forwarding_broker([broker.node_id for broker in brokers]),
        topics=tuple(topics),
        cluster_authorized_operations=cluster_operations(access)
        if request.include_cluster_authorized_operations
        else OPERATIONS_UNKNOWN,
    )


def asks_for_all(request: MetadataRequest, version: int) -> bool:
    """True if a request is about all topics."""
    return request.topics is None or (version == 0 and not request.topics)


def no_topic_named(name: str) -> str:
    """Return the error for a topic that does not exist.

    Clients retry UNKNOWN_TOPIC_OR_PARTITION, as the topic may be created soon, but not
    INVALID_TOPIC_EXCEPTION.
    """
    try:
        check_full_name(name)
    except RequestError as error:
        return error.code
    return "UNKNOWN_TOPIC_OR_PARTITION"


def may_see(access: Access, name: str) -> bool:
    """True if the caller may know whether the topic exists."""
    return access.allows(Operation.DESCRIBE, topic_resource(name))


def cluster_operations(access: Access) -> int:
    """Return the operations that the caller may do on the cluster, as a bit set."""
    if not access.allows(Operation.DESCRIBE, CLUSTER):
        return 0
    return operation_bits(o for o in CLUSTER_OPERATIONS if access.allows(o, CLUSTER))


def forwarding_broker(live: Sequence[int]) -> int:
    """Return a random live broker's id, to report as controller id; NO_CONTROLLER if none is live.

    The choice is random so that clients do not always get a broker that cannot forward requests.
    """
    return random.choice(live) if live else NO_CONTROLLER


def _wanted(
    cluster: KnownCluster, wanted: MetadataRequestTopic, hidden: set[int], access: Access
) -> MetadataTopic:
    if wanted.name is not None:
        topic, code = cluster.topic_named(wanted.name), no_topic_named(wanted.name)
    else:
        topic, code = cluster.topic_of(wanted.topic_id), "UNKNOWN_TOPIC_ID"
    name = wanted.name if topic is None else topic.name
    if name is not None and not may_see(access, name):
        # Who knows an id may know it from when the topic was in another namespace.
        topic = None
        if wanted.name is not None:
            code = "TOPIC_AUTHORIZATION_FAILED"
    if topic is None:
        # Before version 12 a name cannot be null.
        return MetadataTopic(error_code=CODES[code], name=wanted.name, topic_id=wanted.topic_id)
    return _topic(topic, hidden)


def _with_operations(topic: MetadataTopic, access: Access) -> MetadataTopic:
    if topic.error_code or topic.name is None:
        return topic
    resource = topic_resource(topic.name)
    allowed = operation_bits(o for o in TOPIC_OPERATIONS if access.allows(o, resource))
    return msgspec.structs.replace(topic, topic_authorized_operations=allowed)


def _topic(topic: KnownTopic, hidden: set[int]) -> MetadataTopic:
    return MetadataTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=tuple([_partition(partition, hidden) for partition in topic.partitions]),
    )


def _partition(partition: MetadataPartition, hidden: set[int]) -> MetadataPartition:
    if partition.mode not in hidden and partition.leader_id >= 0:
        return partition
    return msgspec.structs.replace(
        partition, error_code=CODES["LEADER_NOT_AVAILABLE"], leader_id=NO_LEADER
    )


def endpoint_of(listener: ListenerAddress, endpoints: Sequence[tuple[str, int]]) -> int | None:
    """Return the index of the endpoint to report to clients of a listener; None if none fits.

    As in Kafka, this is the broker's endpoint with the listener's name. If there is none, it is the
    first endpoint with the listener's security protocol: a service and its brokers may use
    different names, but clients cannot connect with another protocol.

    Args:
        endpoints: Name and security protocol of each endpoint.
    """
    for at, (name, _) in enumerate(endpoints):
        if name == listener.name:
            return at
    for at, (_, protocol) in enumerate(endpoints):
        if protocol == listener.protocol.value:
            return at
    return None


class ImageCluster:
    """A view of the cluster that is read from a metadata image."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._live = {broker.broker_id for broker in image.brokers() if not broker.fenced}

    def topic_named(self, full_name: str) -> KnownTopic | None:
        """Return the topic with this full name; None if there is none."""
        topic = self._image.topic_by_full_name(full_name)
        return None if topic is None else self._known(topic)

    def topic_of(self, topic_id: Uuid) -> KnownTopic | None:
        """Return the topic with this id; None if there is none."""
        topic = None if topic_id == ZERO_UUID else self._image.topic(topic_id)
        return None if topic is None else self._known(topic)

    def all_topics(self) -> Iterable[KnownTopic]:
        """Return all topics, ordered by name."""
        named = sorted((self._image.full_name(topic), topic) for topic in self._image.topics())
        return [self._known(topic) for _, topic in named]

    def nodes(self, listener: ListenerAddress) -> tuple[MetadataBroker, ...]:
        """Return the live brokers, each with its address for clients of the listener."""
        live = [broker for broker in self._image.brokers() if broker.broker_id in self._live]
        nodes = []
        for broker in sorted(live, key=lambda broker: broker.broker_id):
            names = [(point.name, point.security_protocol) for point in broker.end_points]
            at = endpoint_of(listener, names)
            if at is not None:
                point = broker.end_points[at]
                nodes.append(
                    MetadataBroker(
                        node_id=broker.broker_id, host=point.host, port=point.port, rack=broker.rack
                    )
                )
        return tuple(nodes)

    def _known(self, topic: Topic) -> KnownTopic:
        partitions = self._image.partitions(topic.topic_id)
        return KnownTopic(
            name=self._image.full_name(topic),
            topic_id=topic.topic_id,
            partitions=tuple([self._partition(partition) for partition in partitions]),
        )

    def _partition(self, partition: Partition) -> MetadataPartition:
        return MetadataPartition(
            partition_index=partition.partition_id,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=partition.replicas,
            isr_nodes=partition.isr,
            offline_replicas=tuple([r for r in partition.replicas if r not in self._live]),
            mode=partition.mode,
        )
