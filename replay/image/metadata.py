"""The image of a cluster at one offset of its log.

Each part of the state has a module with its values and its delta; `rules` assigns each record to
its part, and `delta` computes the next image.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec
from immutables import Map

from records.base import Uuid
from replay.image.acls import NO_ACLS, Acl, AclsBySubject, AclsImage
from replay.image.cluster import Broker, Controller
from replay.image.configs import ConfigLookup, ConfigResource, ConfigsImage, ResourceConfigs
from replay.image.features import Feature, ZkMigration
from replay.image.namespaces import Namespace, NamespacesImage
from replay.image.notes import Note
from replay.image.partition_list import Partitions
from replay.image.placement import Placement
from replay.image.producer_ids import ProducerIds
from replay.image.provenance import Provenance
from replay.image.quotas import ClientQuota, QuotaEntity
from replay.image.removals import PendingRemoval, ReplicaDeletion
from replay.image.scram import ScramCredential
from replay.image.tokens import DelegationToken
from replay.image.topics import Partition, Topic, TopicEntry, TopicsImage
from replay.image.voters import KRaftVersion, Voter

NAMESPACE_SEPARATOR = ":"


class MetadataImage(msgspec.Struct, frozen=True, gc=False):
    """The cluster at one offset. Immutable; neighbouring images share most of their data.

    Callers use the methods, never the maps behind them. Iterators have no particular order. Two
    images are equal if their state, provenance and versions are equal.
    """

    EMPTY: ClassVar["MetadataImage"]

    provenance: Provenance = Provenance()
    _topics: TopicsImage = TopicsImage()
    _namespaces: NamespacesImage = NamespacesImage()
    _brokers: Map[int, Broker] = Map()
    _controllers: Map[int, Controller] = Map()
    _configs: ConfigsImage = Map()
    _features: Map[str, Feature] = Map()
    _zk_migration: ZkMigration | None = None
    _producer_ids: ProducerIds | None = None
    _acls: AclsImage = AclsImage()
    _quotas: Map[tuple[QuotaEntity, str], ClientQuota] = Map()
    _scram: Map[tuple[str, int], ScramCredential] = Map()
    _delegation_tokens: Map[str, DelegationToken] = Map()
    _pending_removals: Map[Uuid, Map[int, PendingRemoval]] = Map()
    _replica_deletions: Map[tuple[Uuid, int, int], ReplicaDeletion] = Map()
    _notes: Map[tuple[int, str, str], Note] = Map()
    _voters: Map[int, Voter] = Map()
    _kraft_version: KRaftVersion | None = None

    @property
    def topic_count(self) -> int:
        """Number of topics."""
        return self._topics.topic_count

    @property
    def partition_count(self) -> int:
        """Number of partitions."""
        return self._topics.partition_count

    def topic(self, topic_id: Uuid) -> Topic | None:
        """Return the topic with this id."""
        return self._topics.topic(topic_id)

    def topic_by_name(self, name: str, namespace_id: Uuid | None = None) -> Topic | None:
        """Return the topic with this name in a namespace (None: the default namespace)."""
        return self._topics.topic_by_name(name, namespace_id)

    def topic_by_full_name(self, full_name: str) -> Topic | None:
        """Return the topic with a full name, such as `org:apache:orders`."""
        namespace_name, _, name = full_name.rpartition(NAMESPACE_SEPARATOR)
        if not namespace_name:
            return self.topic_by_name(full_name)
        namespace = self.namespace_by_name(namespace_name)
        return None if namespace is None else self.topic_by_name(name, namespace.namespace_id)

    def full_name(self, topic: Topic) -> str:
        """Return the full name of a topic of this image."""
        if topic.namespace_id is None:
            return topic.name
        namespace = self.namespace(topic.namespace_id)
        assert namespace is not None, f"{topic} is not of this image"
        return joined_name(namespace, topic)

    def topics(self) -> Iterator[Topic]:
        """Iterate over all topics."""
        return self._topics.topics()

    def topics_in(self, namespace_id: Uuid | None) -> Iterator[Topic]:
        """Iterate over the topics directly in a namespace, not those in namespaces below it."""
        return self._topics.topics_in(namespace_id)

    def topic_differences(
        self, other: "MetadataImage"
    ) -> tuple[list[TopicEntry], list[TopicEntry]]:
        """Return the topics that differ between the images: as in this image, and as in `other`.

        Topics that only one image has, or with differing partitions or versions, are included.
        O(topics), but fast for topics that the two images share.
        """
        return self._topics.differences(other._topics)

    def shares_topic(self, other: "MetadataImage", topic_id: Uuid) -> bool:
        """True only if a topic, its partitions and their versions equal those of `other`: O(1).

        Compares them by identity, so the result may be False although they are equal.
        """
        return self._topics.shares_entry(other._topics, topic_id)

    def partition(self, topic_id: Uuid, partition_id: int) -> Partition | None:
        """Return one partition."""
        return self._topics.partition(topic_id, partition_id)

    def topic_size(self, topic_id: Uuid) -> int:
        """Return the number of a topic's partitions, 0 for an unknown topic."""
        return self._topics.size(topic_id)

    def placements(self) -> Iterator[tuple[Topic, Placement]]:
        """Iterate over all topics with where their partitions are.

        Takes a fifth of the time of `topic_entries` for topics of a snapshot that were not read.
        """
        return self._topics.placements()

    def partitions(self, topic_id: Uuid) -> Partitions:
        """Return a topic's partitions, ordered by id; none for an unknown topic."""
        return self._topics.partitions(topic_id)

    def degraded_partitions(self, topic_id: Uuid, min_isr: int) -> Iterable[Partition]:
        """Return the partitions of a topic that are not whole, perhaps others, too, in any order.

        Whole ones have a leader, all replicas in their ISR, and at least `min_isr`. Those of a
        snapshot are left out without being made.
        """
        return self._topics.degraded(topic_id, min_isr)

    def topic_version(self, topic_id: Uuid) -> int:
        """Return a topic's version: the offset of the last record that touched the topic.

        A record touches a topic if it sets the topic's name, or adds, replaces or removes a
        partition. Like all methods of this class that return a version, returns UNKNOWN if the
        object does not exist.
        """
        return self._topics.version(topic_id)

    def topic_entries(self) -> Iterator[TopicEntry]:
        """Iterate over all topics with their partitions and the versions of both.

        The way to read all partitions once: those of a snapshot that were not read before are not
        kept in memory, unlike after `partitions`.
        """
        return self._topics.entries()

    def topic_entries_unlike(
        self, fields: Sequence[str], is_usual: Callable[[tuple[object, ...]], bool]
    ) -> Iterator[TopicEntry]:
        """Iterate over the topics as `topic_entries`, without some whose partitions are all usual.

        Those of a snapshot that were not read are left out without making their partitions.

        Args:
            fields: Fields of partitions.
            is_usual: True if a partition with these values of the fields is usual.
        """
        return self._topics.entries_unlike(fields, is_usual)

    def partition_version(self, topic_id: Uuid, partition_id: int) -> int:
        """Return the version of a partition."""
        return self._topics.partition_offsets(topic_id, partition_id)[0]

    def partition_created(self, topic_id: Uuid, partition_id: int) -> int:
        """Return the offset of the record that created a partition."""
        return self._topics.partition_offsets(topic_id, partition_id)[1]

    def namespace(self, namespace_id: Uuid) -> Namespace | None:
        """Return the namespace with this id."""
        return self._namespaces.namespace(namespace_id)

    def namespace_by_name(self, name: str) -> Namespace | None:
        """Return the namespace with this full name."""
        return self._namespaces.namespace_by_name(name)

    def namespaces(self) -> Iterator[Namespace]:
        """Iterate over all namespaces except the default one."""
        return self._namespaces.namespaces()

    def broker(self, broker_id: int) -> Broker | None:
        """Return a registered broker."""
        return self._brokers.get(broker_id)

    def brokers(self) -> Iterator[Broker]:
        """Iterate over the registered brokers."""
        return iter(self._brokers.values())

    def controller(self, controller_id: int) -> Controller | None:
        """Return a registered controller."""
        return self._controllers.get(controller_id)

    def controllers(self) -> Iterator[Controller]:
        """Iterate over the registered controllers."""
        return iter(self._controllers.values())

    def config(self, resource_type: int, resource_name: str) -> Mapping[str, str]:
        """Return the keys and values set on a resource, empty if there are none."""
        return dict(self._configs.get((resource_type, resource_name), _NO_CONFIGS).values)

    def config_value(self, resource_type: int, resource_name: str, key: str) -> str | None:
        """Return the value of one config key of a resource, None if it is not set."""
        return self._configs.get((resource_type, resource_name), _NO_CONFIGS).values.get(key)

    def config_lookup(self, resource_type: int, resource_name: str) -> ConfigLookup:
        """Return the lookup of one resource's values by key, for many keys."""
        return self._configs.get((resource_type, resource_name), _NO_CONFIGS).values.get

    def has_configs(self, resource_type: int, resource_name: str) -> bool:
        """True if a resource has a config key set."""
        return (resource_type, resource_name) in self._configs

    def config_version(self, resource_type: int, resource_name: str) -> int:
        """Return the version of a resource's configs; all of its keys share one version."""
        return self._configs.get((resource_type, resource_name), _NO_CONFIGS).version

    def configs(self) -> Iterator[tuple[ConfigResource, Mapping[str, str]]]:
        """Iterate over the resources that have keys set, with their keys and values."""
        return ((resource, dict(configs.values)) for resource, configs in self._configs.items())

    def feature(self, name: str) -> int | None:
        """Return the finalized level of a feature, None if it is not finalized."""
        feature = self._features.get(name)
        return None if feature is None else feature.feature_level

    def features(self) -> Mapping[str, int]:
        """Return the finalized features and their levels."""
        return {name: feature.feature_level for name, feature in self._features.items()}

    @property
    def zk_migration(self) -> int | None:
        """State of a migration from ZooKeeper, None if no record was written."""
        return None if self._zk_migration is None else self._zk_migration.zk_migration_state

    @property
    def producer_ids(self) -> ProducerIds | None:
        """The last block of producer ids, None if none was allocated."""
        return self._producer_ids

    def acl(self, acl_id: Uuid) -> Acl | None:
        """Return the ACL with this id."""
        return self._acls.by_id.get(acl_id)

    def acls(self) -> Iterator[Acl]:
        """Iterate over the ACLs."""
        return iter(self._acls.by_id.values())

    def acls_on(self, resource_type: int, pattern_type: int, name: str) -> AclsBySubject:
        """Return the ACLs on exactly one resource pattern, by principal and host."""
        return self._acls.by_pattern.get((resource_type, pattern_type, name), NO_ACLS)

    def quotas(self) -> Iterator[ClientQuota]:
        """Iterate over the client quotas."""
        return iter(self._quotas.values())

    def quota(self, entity: QuotaEntity, key: str) -> float | None:
        """Return one quota of an entity, whose pairs are in the order of `canonical_entity`."""
        quota = self._quotas.get((entity, key))
        return None if quota is None else quota.value

    def scram(self) -> Iterator[ScramCredential]:
        """Iterate over the SCRAM credentials."""
        return iter(self._scram.values())

    @property
    def scram_credentials(self) -> Map[tuple[str, int], ScramCredential]:
        """All SCRAM credentials by user name and mechanism."""
        return self._scram

    def scram_credential(self, user: str, mechanism: int) -> ScramCredential | None:
        """Return the credential of a user and mechanism, None if there is none."""
        return self._scram.get((user, mechanism))

    def has_users_of(self, other: "MetadataImage") -> bool:
        """True only if SCRAM credentials and delegation tokens equal those of `other`: O(1).

        Compares them by identity, so the result may be False although they are equal.
        """
        return self._scram is other._scram and self._delegation_tokens is other._delegation_tokens

    def delegation_tokens(self) -> Iterator[DelegationToken]:
        """Iterate over the delegation tokens."""
        return iter(self._delegation_tokens.values())

    def delegation_token(self, token_id: str) -> DelegationToken | None:
        """Return the token with this id, None if there is none."""
        return self._delegation_tokens.get(token_id)

    def pending_removals(self, topic_id: Uuid | None = None) -> Iterator[PendingRemoval]:
        """Iterate over the pending partition removals, of one topic or of all."""
        if topic_id is not None:
            return iter(self._pending_removals.get(topic_id, _NO_REMOVALS).values())
        return (p for pending in self._pending_removals.values() for p in pending.values())

    def replica_deletions(self) -> Iterator[ReplicaDeletion]:
        """Iterate over the replicas that are being deleted."""
        return iter(self._replica_deletions.values())

    def notes(self) -> Iterator[Note]:
        """Iterate over the notes."""
        return iter(self._notes.values())

    def voter(self, voter_id: int) -> Voter | None:
        """Return a voter of a dynamic quorum."""
        return self._voters.get(voter_id)

    def voters(self) -> Iterator[Voter]:
        """Iterate over the voters of a dynamic quorum; none if the quorum is static."""
        return iter(self._voters.values())

    @property
    def kraft_version(self) -> int | None:
        """The finalized kraft.version, None if no record was written."""
        return None if self._kraft_version is None else self._kraft_version.kraft_version

    def has_versions_of(self, other: "MetadataImage") -> bool:
        """True if all versions equal those of `other`. Call only for equal digests. O(objects)."""
        return (self._topics, self._namespaces, self._configs, self._controllers) == (
            other._topics,
            other._namespaces,
            other._configs,
            other._controllers,
        )


MetadataImage.EMPTY = MetadataImage()

_NO_CONFIGS = ResourceConfigs({})
_NO_REMOVALS: Map[int, PendingRemoval] = Map()


def joined_name(namespace: Namespace, topic: Topic) -> str:
    """Return the full name of a topic: the namespace's name, a separator, the topic's name."""
    return f"{namespace.name}{NAMESPACE_SEPARATOR}{topic.name}"
