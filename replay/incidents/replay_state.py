"""The state of a cluster while its log is replayed, immediately before and after each record.

Reads the delta, because making an image for each record would cost more than replaying it.
"""

from collections.abc import Iterable, Iterator

from records.base import Uuid
from records.envelope import Envelope
from records.text import uuid_text
from replay.image.acls import Acl
from replay.image.cluster import Broker, Controller
from replay.image.configs import BROKER, NAMESPACE, TOPIC, ConfigResource
from replay.image.delta import MetadataDelta
from replay.image.metadata import NAMESPACE_SEPARATOR, MetadataImage
from replay.image.partition_list import Partitions
from replay.image.partitions import Partition
from replay.image.provenance import Provenance
from replay.time_travel.labels import escaped

MIN_ISR = "min.insync.replicas"


class ReplayState:
    """The current state of a cluster, to which records are applied.

    Attributes:
        replay: Applies one row; raises CorruptLogError, as `MetadataDelta.replay`.
        partition: Returns a partition by topic id and partition id; None if there is none.
        labels: What `topic_label` has returned, by topic.
        partition_names: What `partition_name` has returned, by topic and number: a log names the
            same partitions again and again.
    """

    def __init__(self, delta: MetadataDelta) -> None:
        """Use a delta; only this object may apply records to it.

        Args:
            delta: A `UnversionedDelta` is faster, but cannot make an image.
        """
        self._delta = delta
        self._topics = self._delta.topics
        self.labels: dict[Uuid, str] = {}
        # The names of removed topics.
        self._former: dict[Uuid, str] = {}
        self.partition_names: dict[Uuid, dict[int, str]] = {}
        # Called once or more per record of a log.
        self.replay = self._delta.replay
        self.partition = self._topics.partition

    def set_partition(self, row: Envelope) -> tuple[Partition | None, Partition]:
        """Apply a PartitionRecord or PartitionChangeRecord; return the partition before and after.

        Raises:
            CorruptLogError: as `replay`.
        """
        self.replay(row)
        assert self._topics.after is not None, "the record has just set it"
        return self._topics.before, self._topics.after

    def image(self, provenance: Provenance) -> MetadataImage:
        """Return the image of all records applied."""
        return self._delta.apply(provenance)

    def provenance(self, place: Provenance) -> Provenance:
        """Return the provenance that `image` would give to the image, without making the image."""
        return self._delta.provenance(place)

    def partitions(self, topic_id: Uuid) -> Partitions:
        """Return the partitions of a topic."""
        return self._delta.topics.partitions(topic_id)

    def all_partitions(self) -> Iterator[Partition]:
        """Iterate over the partitions of all topics, in any order."""
        topics = self._delta.topics
        return (each for topic_id in topics.topic_ids() for each in topics.partitions(topic_id))

    def topics_configured_by(self, resource: ConfigResource) -> Iterator[Uuid]:
        """Iterate over the topics whose effective configs can depend on a resource."""
        type_, name = resource
        topics = self._delta.topics
        if type_ == TOPIC:
            topic_id = self._delta.topic_id(name)
            return iter(() if topic_id is None else (topic_id,))
        return (t for t in topics.topic_ids() if resource in _levels(self.topic_name(t)))

    def broker(self, broker_id: int) -> Broker | None:
        """Return a registered broker."""
        return self._delta.brokers.get(broker_id)

    def brokers(self) -> Iterator[Broker]:
        """Iterate over the registered brokers."""
        return (broker for _, broker in self._delta.brokers.items())

    def controllers(self) -> Iterator[Controller]:
        """Iterate over the registered controllers."""
        return (controller for _, controller in self._delta.controllers.items())

    def topic_name(self, topic_id: Uuid) -> str:
        """Return a topic's full name; `@` and the id if there is no such topic."""
        topic = self._delta.topics.topic(topic_id)
        return f"@{uuid_text(topic_id)}" if topic is None else self._delta.full_name(topic)

    def topic_label(self, topic_id: Uuid) -> str:
        """Return a topic's full name, escaped as in object names."""
        label = self.labels.get(topic_id)
        if label is None:
            label = self.labels[topic_id] = escaped(self.topic_name(topic_id))
        return label

    def partition_name(self, topic_id: Uuid, partition_id: int) -> str:
        """Return the object name of a partition, such as `partition:orders/0`."""
        names = self.partition_names.get(topic_id)
        if names is None:
            names = self.partition_names[topic_id] = {}
        name = names.get(partition_id)
        if name is None:
            label = self.topic_label(topic_id)
            name = names[partition_id] = f"partition:{label}/{partition_id}"
        return name

    def topic_ids(self, name: str) -> Iterable[Uuid]:
        """Return the id of the topic named `name` in the default namespace, if it exists.

        An empty `name` means all topics of all namespaces, ordered by name: the order in an image
        differs between processes.
        """
        if not name:
            return sorted(self._delta.topics.topic_ids(), key=self.topic_label)
        topic_id = self._delta.topics.topic_id_named(name, None)
        return () if topic_id is None else (topic_id,)

    def acl(self, acl_id: Uuid) -> Acl | None:
        """Return an ACL."""
        return self._delta.acls.get(acl_id)

    def namespace_name(self, namespace_id: Uuid) -> str:
        """Return the full name of a namespace."""
        return self._delta.namespaces.existing(namespace_id).name

    def voter_ids(self) -> Iterator[int]:
        """Iterate over the ids of the voters of a dynamic quorum."""
        return (voter_id for voter_id, _ in self._delta.voters.items())

    def has_config(self, resource: ConfigResource) -> bool:
        """True if any key is set on a resource."""
        return bool(self._delta.configs.names(resource))

    def remove_topic(self, row: Envelope, topic_id: Uuid) -> None:
        """Apply the removal of a topic; only `former_name` knows its name then."""
        self._former[topic_id] = self.topic_name(topic_id)
        self.replay(row)
        self.forget_label(topic_id)

    def former_name(self, topic_id: Uuid) -> str:
        """Return the full name that a removed topic had; `@` and the id if it is not known."""
        return self._former.get(topic_id) or self.topic_name(topic_id)

    def forget_label(self, topic_id: Uuid) -> None:
        """Drop the cached name of a topic that was moved."""
        self.labels.pop(topic_id, None)
        self.partition_names.pop(topic_id, None)

    def min_isr(self, topic_id: Uuid) -> int | None:
        """Return a topic's effective min.insync.replicas, None if the log does not contain it.

        The most specific level applies: topic, then its namespaces, then the cluster default. A
        broker's static file and its built-in default are not in the log.
        """
        for resource in _levels(self.topic_name(topic_id)):
            value = self._delta.configs.value(resource, MIN_ISR)
            if value is not None:
                return int(value) if value.isdecimal() and len(value) < 10 else None
        return None


def _levels(full_name: str) -> Iterator[ConfigResource]:
    yield TOPIC, full_name
    namespace = full_name.rpartition(NAMESPACE_SEPARATOR)[0]
    while namespace:
        yield NAMESPACE, namespace
        namespace = namespace.rpartition(NAMESPACE_SEPARATOR)[0]
    yield BROKER, ""
