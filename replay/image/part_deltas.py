"""The deltas of all parts of an image, each created on first use."""

from collections.abc import Iterable
from typing import Any, get_type_hints

import msgspec

from records.base import Uuid
from records.envelope import Envelope
from replay.image.acls import AclsDelta
from replay.image.cluster import BrokersDelta, ControllersDelta
from replay.image.configs import ConfigsDelta
from replay.image.features import FeaturesDelta, ZkMigrationDelta
from replay.image.metadata import NAMESPACE_SEPARATOR, MetadataImage, joined_name
from replay.image.namespaces import NamespacesDelta
from replay.image.notes import NotesDelta
from replay.image.producer_ids import ProducerIdsDelta
from replay.image.provenance import NotUnderstood, Provenance
from replay.image.quotas import QuotasDelta
from replay.image.removals import PendingRemovalsDelta, ReplicaDeletionsDelta
from replay.image.scram import ScramDelta
from replay.image.tokens import DelegationTokensDelta
from replay.image.topics import Topic, TopicsDelta
from replay.image.versions import UNKNOWN
from replay.image.voters import KRaftVersionDelta, VotersDelta


class PartDeltas:
    """The changes to an image: one delta per part, as an attribute named like the image's field.

    The replay rules (`rules`) modify these deltas. A delta is created on first use, so small
    changes are cheap however large the image is. A delta's `changed`, such as `topics.changed`, has
    the keys of the changed objects.
    """

    topics: TopicsDelta
    namespaces: NamespacesDelta
    brokers: BrokersDelta
    controllers: ControllersDelta
    configs: ConfigsDelta
    features: FeaturesDelta
    zk_migration: ZkMigrationDelta
    producer_ids: ProducerIdsDelta
    acls: AclsDelta
    quotas: QuotasDelta
    scram: ScramDelta
    delegation_tokens: DelegationTokensDelta
    pending_removals: PendingRemovalsDelta
    replica_deletions: ReplicaDeletionsDelta
    notes: NotesDelta
    voters: VotersDelta
    kraft_version: KRaftVersionDelta

    def __init__(self, image: MetadataImage, topics: TopicsDelta | None = None) -> None:
        """Start from an image.

        Args:
            topics: Used instead of a delta of the image's topics.
        """
        self.image = image
        # The row being replayed, for rules that need more than its record.
        self.row: Envelope | None = None
        self._not_understood = image.provenance.not_understood
        self._parts: dict[str, Any] = {}
        if topics is not None:
            self.topics = self._parts["topics"] = topics
        self._after: MetadataImage | None = None

    def __getattr__(self, name: str) -> Any:
        """Create the delta of a part on its first use."""
        make = _DELTAS.get(name)
        if make is None:
            raise AttributeError(name)
        part = self._parts[name] = make(getattr(self.image, f"_{name}"))
        setattr(self, name, part)
        return part

    def touched_parts(self) -> Iterable[tuple[str, Any]]:
        """Return the deltas that were created so far, each with its name."""
        return self._parts.items()

    def count_not_understood(self, offset: int) -> None:
        """Count one more record that this release does not fully understand."""
        first = None if offset == UNKNOWN else offset
        self._not_understood = NotUnderstood.added(self._not_understood, first)

    def full_name(self, topic: Topic) -> str:
        """Return the current full name of a topic."""
        if topic.namespace_id is None:
            return topic.name
        namespace = self.namespaces.existing(topic.namespace_id)
        return joined_name(namespace, topic)

    def topic_id(self, full_name: str) -> Uuid | None:
        """Return the id of the topic that currently has a full name, None if there is none."""
        namespace_name, _, name = full_name.rpartition(NAMESPACE_SEPARATOR)
        if not namespace_name:
            return self.topics.topic_id_named(full_name, None)
        namespace_id = self.namespaces.id_named(namespace_name)
        return None if namespace_id is None else self.topics.topic_id_named(name, namespace_id)

    def apply(self, provenance: Provenance) -> MetadataImage:
        """Return the next image; it shares everything that did not change.

        Args:
            provenance: Provenance of the next image. Its `not_understood` need not be set: this
                method fills it in.
        """
        parts = {f"_{name}": part.apply() for name, part in self._parts.items()}
        self._after = msgspec.structs.replace(
            self.image, provenance=self.provenance(provenance), **parts
        )
        return self._after

    def applied_to(self, other: MetadataImage, provenance: Provenance) -> MetadataImage | None:
        """Return `other` with the same changes; None if the records might change it differently.

        Copies the result of `apply`, which must be called first, if `other` and this delta's image
        share the objects that were read and changed. Objects are compared by identity, which is
        much faster than applying the records again.

        Args:
            provenance: Provenance of the returned image, without `not_understood`.
        """
        before, after = self.image, self._after
        assert after is not None, "`apply` was called"
        if self._not_understood is not before.provenance.not_understood:
            return None
        parts: dict[str, Any] = {}
        for name, part in self._parts.items():
            field = f"_{name}"
            if getattr(other, field) is getattr(before, field):
                parts[field] = getattr(after, field)
            elif isinstance(part, TopicsDelta):
                topics = part.applied_to(other._topics, after._topics)
                if topics is None:
                    return None
                parts[field] = topics
            else:
                return None
        if other.provenance.not_understood is not None:
            provenance = msgspec.structs.replace(
                provenance, not_understood=other.provenance.not_understood
            )
        return msgspec.structs.replace(other, provenance=provenance, **parts)

    def provenance(self, place: Provenance) -> Provenance:
        """Return the provenance of the next image: `place`, with its `not_understood` filled in."""
        if self._not_understood is None:
            return place
        return msgspec.structs.replace(place, not_understood=self._not_understood)


_DELTAS: dict[str, Any] = get_type_hints(PartDeltas)
