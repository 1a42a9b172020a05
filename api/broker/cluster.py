"""A broker's view of the cluster: topics, leaders, modes, live brokers."""

import asyncio
import contextlib
from collections.abc import Iterable

from api.broker.record_rules import DEFAULT_RULES, RecordRules
from api.kafka.messages.metadata import MetadataBroker, MetadataPartition
from api.kafka.messages.replicas import (
    FULL,
    LEADER_DURING_DELETE,
    LiveBroker,
    UpdatedEndpoint,
    UpdatedPartition,
    UpdatedTopic,
    UpdateMetadataRequest,
)
from api.kafka.metadata import KnownTopic, endpoint_of
from api.security.listeners import LOCAL, ListenerAddress
from records.base import ZERO_UUID, Uuid
from records.errors import RequestError

_NOTHING = -1


class Cluster:
    """A broker's view of the cluster, updated by UpdateMetadata requests.

    Attributes:
        controller_id: Node id of the controller, -1 before the first request.
        controller_epoch: The highest leader epoch of all controllers that have sent a request.
        metadata_offset: Last offset of the metadata log that this broker has applied, inclusive.
    """

    def __init__(self, between_brokers: ListenerAddress = LOCAL) -> None:
        """Start with an empty view.

        Args:
            between_brokers: The listener that brokers use to connect to each other.
        """
        self._between_brokers = between_brokers
        self._topics: dict[str, UpdatedTopic] = {}
        self._states: dict[str, dict[int, UpdatedPartition]] = {}
        self._names: dict[Uuid, str] = {}
        # Only of topics with configs of their own.
        self._rules: dict[str, RecordRules] = {}
        self._brokers: dict[int, LiveBroker] = {}
        self.controller_id = _NOTHING
        self.controller_epoch = _NOTHING
        self.metadata_offset = _NOTHING
        # Set, and replaced, with each update.
        self._advanced = asyncio.Event()

    def check_controller(self, controller_epoch: int) -> None:
        """Store a controller's epoch; refuse a controller whose epoch is lower than the stored one.

        Raises:
            RequestError: STALE_CONTROLLER_EPOCH.
        """
        if controller_epoch < self.controller_epoch:
            raise RequestError(
                "STALE_CONTROLLER_EPOCH",
                f"controller epoch {controller_epoch} is older than {self.controller_epoch}",
            )
        self.controller_epoch = controller_epoch

    def update(self, request: UpdateMetadataRequest) -> None:
        """Apply an UpdateMetadata request."""
        if request.type == FULL:
            self._topics.clear()
            self._states.clear()
            self._names.clear()
            self._rules.clear()
        for topic in request.topic_states:
            if any(p.leader == LEADER_DURING_DELETE for p in topic.partition_states):
                self._forget(topic)
            else:
                self._topics[topic.topic_name] = topic
                self._rules.pop(topic.topic_name, None)
                if topic.configs:
                    self._rules[topic.topic_name] = RecordRules.of(topic.configs)
                self._states[topic.topic_name] = {
                    state.partition_index: state for state in topic.partition_states
                }
                if topic.topic_id != ZERO_UUID:
                    self._names[topic.topic_id] = topic.topic_name
        self._brokers = {broker.id: broker for broker in request.live_brokers}
        self.controller_id = request.controller_id
        self.metadata_offset = max(self.metadata_offset, request.metadata_offset)
        advanced, self._advanced = self._advanced, asyncio.Event()
        advanced.set()

    async def applied(self, offset: int, timeout_s: float) -> None:
        """Wait until this broker has applied an offset, at most `timeout_s` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.metadata_offset < offset:
                    await self._advanced.wait()

    def address(self, broker_id: int) -> tuple[str, int] | None:
        """Return host and port at which other brokers reach a broker; None if it is not live."""
        broker = self._brokers.get(broker_id)
        point = None if broker is None else _endpoint(broker, self._between_brokers)
        return None if point is None else (point.host, point.port)

    def partition(self, name: str, partition: int) -> UpdatedPartition | None:
        """Return the state of a partition; None if the partition is unknown."""
        return self._states.get(name, {}).get(partition)

    def record_rules(self, name: str) -> RecordRules:
        """Return a topic's rules for new records."""
        return self._rules.get(name, DEFAULT_RULES)

    def topic_named(self, full_name: str) -> KnownTopic | None:
        """Return the topic with this full name; None if there is none."""
        topic = self._topics.get(full_name)
        return None if topic is None else self._known(topic)

    def topic_of(self, topic_id: Uuid) -> KnownTopic | None:
        """Return the topic with this id; None if there is none."""
        name = self._names.get(topic_id)
        return None if name is None else self.topic_named(name)

    def all_topics(self) -> Iterable[KnownTopic]:
        """Return all topics, ordered by name."""
        return [self._known(topic) for _, topic in sorted(self._topics.items())]

    def nodes(self, listener: ListenerAddress) -> tuple[MetadataBroker, ...]:
        """Return the live brokers, each with its address for clients of the listener."""
        live = [self._brokers[broker_id] for broker_id in sorted(self._brokers)]
        return tuple(
            [
                MetadataBroker(node_id=node.id, host=point.host, port=point.port, rack=node.rack)
                for node in live
                if (point := _endpoint(node, listener)) is not None
            ]
        )

    def _forget(self, topic: UpdatedTopic) -> None:
        known = self._topics.get(topic.topic_name)
        if known is not None and known.topic_id == topic.topic_id:
            del self._topics[topic.topic_name]
            del self._states[topic.topic_name]
            self._rules.pop(topic.topic_name, None)
        if self._names.get(topic.topic_id) == topic.topic_name:
            del self._names[topic.topic_id]

    def _known(self, topic: UpdatedTopic) -> KnownTopic:
        return KnownTopic(
            name=topic.topic_name,
            topic_id=topic.topic_id,
            partitions=tuple([self._partition(state) for state in topic.partition_states]),
        )

    def _partition(self, state: UpdatedPartition) -> MetadataPartition:
        return MetadataPartition(
            partition_index=state.partition_index,
            leader_id=state.leader,
            leader_epoch=state.leader_epoch,
            replica_nodes=state.replicas,
            isr_nodes=state.isr,
            # When brokers come and go, no update is sent for partitions they do not lead.
            offline_replicas=tuple([r for r in state.replicas if r not in self._brokers]),
            mode=state.mode,
        )


def _endpoint(broker: LiveBroker, listener: ListenerAddress) -> UpdatedEndpoint | None:
    names = [(point.listener, point.security_protocol) for point in broker.endpoints]
    at = endpoint_of(listener, names)
    return None if at is None else broker.endpoints[at]
