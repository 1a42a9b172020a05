"""The stored form of an image's parts, and the image rebuilt from it.

The image's own values are stored, their fields by name. Renaming a field or changing its meaning
requires a new FORMAT; a new field with a default does not: older snapshots read as that default.
Names of parts are those of docs/digest.md; partitions are stored with their topic.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Self, get_type_hints

import msgspec
from immutables import Map

from records.base import Uuid
from replay.image.acls import Acl
from replay.image.cluster import Broker, Controller
from replay.image.configs import ConfigsImage
from replay.image.metadata import MetadataImage
from replay.image.namespaces import Namespace, NamespacesImage
from replay.image.notes import Note
from replay.image.partition_list import partition_list
from replay.image.partitions import Partition
from replay.image.producer_ids import ProducerIds
from replay.image.provenance import Provenance
from replay.image.quotas import ClientQuota
from replay.image.removals import PendingRemoval, ReplicaDeletion
from replay.image.scram import ScramCredential
from replay.image.tokens import DelegationToken
from replay.image.topics import Topic, TopicEntry, TopicsImage
from replay.image.versions import UNKNOWN, merged_offsets

FORMAT = 1
"""Version of the parts and values below. Snapshots of another format are skipped."""


class StoredTopic(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A topic with its partitions, ordered by id.

    `versions` and `created` hold an offset for each partition; empty if none is known.
    """

    topic: Topic
    partitions: tuple[Partition, ...]
    version: int = UNKNOWN
    versions: tuple[int, ...] = ()
    created: tuple[int, ...] = ()

    @classmethod
    def of(cls, image: MetadataImage, topic: Topic) -> Self:
        """Make the stored form of an image's topic."""
        topic_id = topic.topic_id
        partitions = tuple(image.partitions(topic_id))
        return cls(
            topic,
            partitions,
            image.topic_version(topic_id),
            _known([image.partition_version(topic_id, each.partition_id) for each in partitions]),
            _known([image.partition_created(topic_id, each.partition_id) for each in partitions]),
        )

    def entry(self) -> TopicEntry:
        """Return the topic in the form of an image."""
        ids = [partition.partition_id for partition in self.partitions]
        versions = dict(zip(ids, self.versions or [UNKNOWN] * len(ids), strict=False))
        created = dict(zip(ids, self.created, strict=False))
        offsets = merged_offsets(b"", versions, created) if versions else b""
        return TopicEntry(self.topic, partition_list(self.partitions), self.version, offsets)


def _known(offsets: list[int]) -> tuple[int, ...]:
    return () if set(offsets) <= {UNKNOWN} else tuple(offsets)


class StoredConfig(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The keys set on one resource."""

    resource_type: int
    resource_name: str
    values: dict[str, str]
    version: int = UNKNOWN


class StoredFeature(msgspec.Struct, frozen=True, gc=False):
    """A finalized feature."""

    name: str
    feature_level: int


class StoredZkMigration(msgspec.Struct, frozen=True, gc=False):
    """The state of a migration from ZooKeeper."""

    zk_migration_state: int


class Parts(msgspec.Struct, kw_only=True):
    """The values of an image by part, each in any order."""

    acls: list[Acl] = []
    brokers: list[Broker] = []
    client_quotas: list[ClientQuota] = []
    configs: list[StoredConfig] = []
    controllers: list[Controller] = []
    delegation_tokens: list[DelegationToken] = []
    features: list[StoredFeature] = []
    namespaces: list[Namespace] = []
    notes: list[Note] = []
    pending_partition_removals: list[PendingRemoval] = []
    # At most one.
    producer_ids: list[ProducerIds] = []
    replica_deletions: list[ReplicaDeletion] = []
    scram: list[ScramCredential] = []
    topics: list[StoredTopic] = []
    # At most one.
    zk_migration: list[StoredZkMigration] = []

    @classmethod
    def of(cls, image: MetadataImage) -> Self:
        """Split an image into parts: O(topics + other objects)."""
        zk_migration, producer_ids = image.zk_migration, image.producer_ids
        return cls(
            acls=list(image.acls()),
            brokers=list(image.brokers()),
            client_quotas=list(image.quotas()),
            # Sorted, because a map's order differs between processes and equal configs must give
            # equal bytes.
            configs=[
                StoredConfig(
                    *resource, dict(sorted(values.items())), image.config_version(*resource)
                )
                for resource, values in image.configs()
            ],
            controllers=list(image.controllers()),
            delegation_tokens=list(image.delegation_tokens()),
            features=[StoredFeature(name, level) for name, level in image.features().items()],
            namespaces=list(image.namespaces()),
            notes=list(image.notes()),
            pending_partition_removals=list(image.pending_removals()),
            producer_ids=[] if producer_ids is None else [producer_ids],
            replica_deletions=list(image.replica_deletions()),
            scram=list(image.scram()),
            topics=[StoredTopic.of(image, topic) for topic in image.topics()],
            zk_migration=[] if zk_migration is None else [StoredZkMigration(zk_migration)],
        )

    def decode(self, part: str, plain: bytes) -> None:
        """Add the values of one chunk, given as MessagePack.

        Raises:
            KeyError: there is no such part. msgspec.DecodeError: the values are not of this part.
        """
        values = _DECODERS[part].decode(plain)
        getattr(self, part).extend(values)

    def image(self, provenance: Provenance) -> MetadataImage:
        """Build the image of these values: O(topics + other objects).

        Fills the image's maps directly: the values come from an image, so no rules are needed.
        """
        return MetadataImage(
            provenance,
            _topics=_topics(self.topics),
            _namespaces=NamespacesImage(
                Map({namespace.namespace_id: namespace for namespace in self.namespaces}),
                Map({namespace.name: namespace.namespace_id for namespace in self.namespaces}),
            ),
            _brokers=Map({broker.broker_id: broker for broker in self.brokers}),
            _controllers=Map({each.controller_id: each for each in self.controllers}),
            _configs=ConfigsImage(
                Map({(c.resource_type, c.resource_name): Map(c.values) for c in self.configs}),
                Map({(c.resource_type, c.resource_name): c.version for c in self.configs}),
            ),
            _features=Map({feature.name: feature.feature_level for feature in self.features}),
            _zk_migration=next((z.zk_migration_state for z in self.zk_migration), None),
            _producer_ids=next(iter(self.producer_ids), None),
            _acls=Map({acl.id: acl for acl in self.acls}),
            _quotas=Map({(quota.entity, quota.key): quota for quota in self.client_quotas}),
            _scram=Map({(each.name, each.mechanism): each for each in self.scram}),
            _delegation_tokens=Map({token.token_id: token for token in self.delegation_tokens}),
            _pending_removals=_pending_removals(self.pending_partition_removals),
            _replica_deletions=Map(
                {(d.topic_id, d.partition_id, d.broker_id): d for d in self.replica_deletions}
            ),
            _notes=Map({note: note for note in self.notes}),
        )


KEYS: dict[str, Callable[[Any], object]] = {
    "acls": attrgetter("id"),
    "brokers": attrgetter("broker_id"),
    "client_quotas": attrgetter("entity", "key"),
    "configs": attrgetter("resource_type", "resource_name"),
    "controllers": attrgetter("controller_id"),
    "delegation_tokens": attrgetter("token_id"),
    "features": attrgetter("name"),
    "namespaces": attrgetter("namespace_id"),
    "notes": attrgetter("at_offset", "author", "text"),
    "pending_partition_removals": attrgetter("topic_id", "partition_id"),
    "producer_ids": lambda _: None,
    "replica_deletions": attrgetter("topic_id", "partition_id", "broker_id"),
    "scram": attrgetter("name", "mechanism"),
    "topics": attrgetter("topic.topic_id"),
    "zk_migration": lambda _: None,
}
"""For each part, the key of a value."""

_DECODERS: dict[str, msgspec.msgpack.Decoder[list[Any]]] = {
    part: msgspec.msgpack.Decoder(values_type)
    for part, values_type in get_type_hints(Parts).items()
}


def _topics(stored: Iterable[StoredTopic]) -> TopicsImage:
    entries: dict[Uuid, TopicEntry] = {}
    ids: dict[Uuid | None, dict[str, Uuid]] = {}
    partition_count = 0
    for each in stored:
        topic = each.topic
        entries[topic.topic_id] = each.entry()
        ids.setdefault(topic.namespace_id, {})[topic.name] = topic.topic_id
        partition_count += len(each.partitions)
    ids_of_names = Map({namespace_id: Map(names) for namespace_id, names in ids.items()})
    return TopicsImage(Map(entries), ids_of_names, partition_count)


def _pending_removals(stored: Iterable[PendingRemoval]) -> Map[Uuid, Map[int, PendingRemoval]]:
    by_topic: dict[Uuid, dict[int, PendingRemoval]] = {}
    for each in stored:
        by_topic.setdefault(each.topic_id, {})[each.partition_id] = each
    return Map({topic_id: Map(removals) for topic_id, removals in by_topic.items()})
