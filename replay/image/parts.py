"""Table of the parts of an image.

Used by digest, base checkpoint, snapshot, object kinds and JSON. A part that needs other code than
most parts has a subclass of `Part`. The Spark audit has its own table, so that it can find errors
in this one. A part that is added here also needs its field in MetadataImage, its delta in
PartDeltas, and the rules of its records; tests/replay/image/test_parts.py checks the table.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
from immutables import Map

from records import brokers, configs, control, partitions, security, topics
from records.base import Record, Uuid
from replay.image.acls import Acl, AclsImage, acls_image
from replay.image.cluster import Broker, Controller
from replay.image.configs import Config, ConfigsImage, ConfigValue, ResourceConfigs
from replay.image.features import Feature, ZkMigration
from replay.image.fields import copied
from replay.image.metadata import MetadataImage
from replay.image.namespaces import Namespace, NamespacesImage
from replay.image.notes import Note
from replay.image.partitions import Partition
from replay.image.producer_ids import ProducerIds
from replay.image.quotas import ClientQuota
from replay.image.removals import PendingRemoval, ReplicaDeletion
from replay.image.scram import ScramCredential
from replay.image.tokens import DelegationToken
from replay.image.topics import Topic
from replay.image.voters import KRaftVersion, Voter

METADATA_VERSION = "metadata.version"


class Part(msgspec.Struct, frozen=True, dict=True):
    """A part of the image: a map from key to object, unless a subclass says otherwise.

    Attributes:
        name: Name of the part in digests and snapshots.
        object_type: Type of the part's objects. Its fields, in order, are the items of the digest;
            their names are used in records and in stored and printed objects.
        key: The fields that identify an object within the part.
        record_type: Type of the records that recreate an object; has fields of the same names.
        field: Name of the field of MetadataImage that holds the part, without the underscore; empty
            if it equals `name`.
        unordered: List fields whose order has no meaning.
        later: List fields that the first release lacked: printed and digested only if not empty.
        beside: Fields that are stored but neither digested nor printed.
    """

    name: str
    object_type: type[msgspec.Struct]
    key: tuple[str, ...]
    record_type: type[Record]
    field: str = ""
    unordered: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()

    @cached_property
    def key_of(self) -> Callable[[Any], Any]:
        """Function that returns an object's key: the value of one field, or a tuple of several."""
        return attrgetter(*self.key)

    @property
    def row_type(self) -> type[msgspec.Struct]:
        """Type of the rows that are digested."""
        return self.object_type

    def objects(self, image: MetadataImage) -> Iterable[Any]:
        """Return all objects, in any order."""
        found: Map[Hashable, Any] = self._held(image)
        return found.values()

    def changed(self, old: MetadataImage, new: MetadataImage) -> Iterator[Any]:
        """Yield the objects of `new` that are missing from `old` or differ there: O(objects)."""
        if self._held(old) is self._held(new):
            return
        before = {self.key_of(each): each for each in self.objects(old)}
        for each in self.objects(new):
            if before.get(self.key_of(each)) != each:
                yield each

    def get(self, image: MetadataImage, key: Any) -> Any:
        """Return the object with a key, None if there is none."""
        found: Map[Hashable, Any] = self._held(image)
        return found.get(key)

    def rows(self, image: MetadataImage) -> Iterable[Any]:
        """Return the rows to digest, in any order."""
        return self.objects(image)

    def records(self, image: MetadataImage) -> Iterator[Record]:
        """Yield records that recreate the part, sorted by `order`."""
        for row in sorted(self.rows(image), key=self.order):
            yield self.to_record(row)

    def order(self, row: Any) -> Any:
        """Return the key by which a row's record is sorted among the records of the part."""
        return self.key_of(row)

    def to_record(self, row: Any) -> Record:
        """Return the record that recreates a row."""
        return copied(row, self.record_type)

    def held(self, objects: Iterable[Any]) -> Any:
        """Return these objects in the form of the image's field for this part, such as a map."""
        return Map({self.key_of(each): each for each in objects})

    def _held(self, image: MetadataImage) -> Any:
        return getattr(image, f"_{self.field or self.name}")


class _Single(Part, frozen=True):
    """A part with at most one object; its key is None."""

    @cached_property
    def key_of(self) -> Any:
        return lambda _: None

    def objects(self, image: MetadataImage) -> Iterable[Any]:
        held = self._held(image)
        return () if held is None else (held,)

    def get(self, image: MetadataImage, key: Any) -> Any:
        return self._held(image)

    def held(self, objects: Iterable[Any]) -> Any:
        return next(iter(objects), None)


class _Brokers(Part, frozen=True):
    def to_record(self, row: Broker) -> Record:
        cordoned = row.cordoned_log_dirs or None
        return copied(row, self.record_type, cordoned_log_dirs=cordoned)


class _Features(Part, frozen=True):
    def order(self, row: Feature) -> Any:
        # Its level decides how Kafka reads the rest, so it comes first.
        return row.name != METADATA_VERSION, row.name


class _Namespaces(Part, frozen=True):
    def objects(self, image: MetadataImage) -> Iterable[Namespace]:
        return image.namespaces()

    def get(self, image: MetadataImage, key: Any) -> Namespace | None:
        return image.namespace(key)

    def order(self, row: Namespace) -> Any:
        return row.name

    def held(self, objects: Iterable[Namespace]) -> NamespacesImage:
        by_id = {each.namespace_id: each for each in objects}
        return NamespacesImage(Map(by_id), Map({each.name: id_ for id_, each in by_id.items()}))


class _Topics(Part, frozen=True):
    def objects(self, image: MetadataImage) -> Iterable[Topic]:
        return image.topics()

    def get(self, image: MetadataImage, key: Any) -> Topic | None:
        return image.topic(key)

    def records(self, image: MetadataImage) -> Iterator[Record]:
        """Yield the record of each topic, followed by those of its partitions."""
        for topic in sorted(image.topics(), key=self.order):
            yield self.to_record(topic)
            yield from map(PARTS["partitions"].to_record, image.partitions(topic.topic_id))


class _Partitions(Part, frozen=True):
    def objects(self, image: MetadataImage) -> Iterable[Partition]:
        return (p for entry in image.topic_entries() for p in entry.partitions)

    def get(self, image: MetadataImage, key: Any) -> Partition | None:
        return image.partition(*key)

    def records(self, image: MetadataImage) -> Iterator[Record]:
        """Yield nothing: `_Topics.records` yields the partitions after their topic."""
        yield from ()

    def to_record(self, row: Partition) -> Record:
        # Kafka writes null for an empty list.
        elr, last_known_elr = row.eligible_leader_replicas or None, row.last_known_elr or None
        return copied(
            row, self.record_type, eligible_leader_replicas=elr, last_known_elr=last_known_elr
        )


class _Configs(Part, frozen=True):
    """Configs: one object per resource with all its keys, but one row and record per key."""

    @property
    def row_type(self) -> type[msgspec.Struct]:
        return ConfigValue

    def objects(self, image: MetadataImage) -> Iterable[Config]:
        # A map's order differs between processes; equal configs must give equal bytes.
        return (
            Config(*resource, dict(sorted(values.items())), image.config_version(*resource))
            for resource, values in image.configs()
        )

    def get(self, image: MetadataImage, key: Any) -> Config | None:
        resource_type, name = key
        values, version = image.config(*key), image.config_version(*key)
        return Config(resource_type, name, dict(values), version) if values else None

    def rows(self, image: MetadataImage) -> Iterable[ConfigValue]:
        return (
            ConfigValue(*resource, name, value)
            for resource, values in image.configs()
            for name, value in values.items()
        )

    def order(self, row: ConfigValue) -> Any:
        return row.resource_type, row.resource_name, row.name

    def held(self, objects: Iterable[Config]) -> ConfigsImage:
        return Map({self.key_of(c): ResourceConfigs(c.values, c.version) for c in objects})


class _Quotas(Part, frozen=True):
    def order(self, row: ClientQuota) -> Any:
        return repr(row.entity), row.key  # a null name cannot be compared with others

    def to_record(self, row: ClientQuota) -> Record:
        entity = tuple(
            configs.EntityData(entity_type=entity_type, entity_name=name)
            for entity_type, name in row.entity
        )
        return copied(row, self.record_type, entity=entity, remove=False)


class _Acls(Part, frozen=True):
    def objects(self, image: MetadataImage) -> Iterable[Acl]:
        return image.acls()

    def get(self, image: MetadataImage, key: Any) -> Acl | None:
        return image.acl(key)

    def held(self, objects: Iterable[Acl]) -> AclsImage:
        return acls_image(objects)


class _PendingRemovals(Part, frozen=True):
    def objects(self, image: MetadataImage) -> Iterable[PendingRemoval]:
        return image.pending_removals()

    def get(self, image: MetadataImage, key: Any) -> PendingRemoval | None:
        topic_id, partition_id = key
        return next(
            (p for p in image.pending_removals(topic_id) if p.partition_id == partition_id), None
        )

    def records(self, image: MetadataImage) -> Iterator[Record]:
        """Yield one record for all partitions whose removal was requested together."""
        pending = sorted(image.pending_removals(), key=lambda p: (*_request(p), p.partition_id))
        for _, removals in groupby(pending, key=_request):
            first, *others = removals
            ids = tuple(each.partition_id for each in (first, *others))
            yield copied(first, self.record_type, partition_ids=ids)

    def held(self, objects: Iterable[PendingRemoval]) -> Any:
        by_topic: dict[Uuid, dict[int, PendingRemoval]] = {}
        for each in objects:
            by_topic.setdefault(each.topic_id, {})[each.partition_id] = each
        return Map({topic_id: Map(removals) for topic_id, removals in by_topic.items()})


class _Voters(Part, frozen=True):
    """Voters: a single record contains all of them."""

    def records(self, image: MetadataImage) -> Iterator[Record]:
        """Yield one record with all voters; nothing if there are none."""
        voters = sorted(self.rows(image), key=self.order)
        if voters:
            yield _voters_record(voters)

    def to_record(self, row: Voter) -> Record:
        return _voters_record([row])


def _voters_record(voters: Iterable[Voter]) -> Record:
    copies = tuple(copied(each, control.QuorumVoter) for each in voters)
    return control.VotersRecord(version=0, voters=copies)


class _KRaftVersion(_Single, frozen=True):
    def to_record(self, row: KRaftVersion) -> Record:
        return copied(row, self.record_type, version=0)


def _request(removal: PendingRemoval) -> tuple[Uuid, int, int]:
    return removal.topic_id, removal.create_time_ms, removal.delay_ms


_ALL = (
    _Features("features", Feature, ("name",), configs.FeatureLevelRecord),
    _Single("zk_migration", ZkMigration, (), configs.ZkMigrationStateRecord),
    _Brokers(
        "brokers",
        Broker,
        ("broker_id",),
        brokers.RegisterBrokerRecord,
        unordered=frozenset({"log_dirs", "cordoned_log_dirs"}),
        later=frozenset({"cordoned_log_dirs"}),
        beside=frozenset({"record_version"}),
    ),
    Part(
        "controllers",
        Controller,
        ("controller_id",),
        brokers.RegisterControllerRecord,
        beside=frozenset({"version"}),
    ),
    _Namespaces(
        "namespaces",
        Namespace,
        ("namespace_id",),
        topics.NamespaceRecord,
        beside=frozenset({"version"}),
    ),
    _Topics("topics", Topic, ("topic_id",), topics.TopicRecord),
    _Partitions("partitions", Partition, ("topic_id", "partition_id"), partitions.PartitionRecord),
    _Configs("configs", Config, ("resource_type", "resource_name"), configs.ConfigRecord),
    _Quotas(
        "client_quotas", ClientQuota, ("entity", "key"), configs.ClientQuotaRecord, field="quotas"
    ),
    _Single("producer_ids", ProducerIds, (), configs.ProducerIdsRecord),
    _Acls("acls", Acl, ("id",), security.AccessControlEntryRecord),
    Part("scram", ScramCredential, ("name", "mechanism"), security.UserScramCredentialRecord),
    Part(
        "delegation_tokens",
        DelegationToken,
        ("token_id",),
        security.DelegationTokenRecord,
        unordered=frozenset({"renewers"}),
    ),
    _PendingRemovals(
        "pending_partition_removals",
        PendingRemoval,
        ("topic_id", "partition_id"),
        partitions.DeleteTopicPartitionsRecord,
        field="pending_removals",
    ),
    Part(
        "replica_deletions",
        ReplicaDeletion,
        ("topic_id", "partition_id", "broker_id"),
        partitions.ReplicaDeletionRecord,
    ),
    Part("notes", Note, ("at_offset", "author", "text"), control.NoteRecord),
    _KRaftVersion("kraft_version", KRaftVersion, (), control.KRaftVersionRecord),
    _Voters("voters", Voter, ("voter_id",), control.VotersRecord),
)

PARTS: dict[str, Part] = {part.name: part for part in _ALL}
"""Parts by name, in the order of base checkpoints: Kafka's, with the parts that Kafka lacks."""
