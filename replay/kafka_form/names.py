"""Topic names in Kafka's form: each topic keeps the name that it was created with.

Kafka has no namespaces and no renames. For a topic in a namespace, Kafka's name is the full name. A
topic that was moved keeps its first name; another topic created under that name meanwhile gets its
id appended.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from immutables import Map

from records.base import Uuid
from records.text import uuid_text
from records.topics import MoveTopicRecord, NamespaceRecord, RemoveTopicRecord, TopicRecord
from replay.image.metadata import NAMESPACE_SEPARATOR

# In no name of ours, and in none of Kafka's.
_BEFORE_ID = "@"


class TopicNames(msgspec.Struct, frozen=True, gc=False):
    """A topic's full name in our log, and its name in Kafka's form."""

    full: str
    kafkas: str


class Names(msgspec.Struct, frozen=True, gc=False):
    """Names of namespaces and topics at one offset, and the ACLs that Kafka's form lacks.

    Attributes:
        namespaces: Full name of each namespace, by id.
        topics: Names of each topic, by id.
        kept: Kafka's name by full name, for topics whose two names differ.
        held: Topic id by Kafka's name, for topics whose two names differ.
        own_acls: Ids of the ACLs that became NoOps.
        first: Kafka's name of each topic of a base whose two names differed at the base's end.
    """

    namespaces: Map[Uuid, str] = Map()
    topics: Map[Uuid, TopicNames] = Map()
    kept: Map[str, str] = Map()
    held: Map[str, Uuid] = Map()
    own_acls: Map[Uuid, None] = Map()
    first: Map[Uuid, str] = Map()

    def with_namespace(self, record: NamespaceRecord) -> "Names":
        """Add a namespace. Removed namespaces stay, because ids are never used again."""
        return _changed(self, namespaces=self.namespaces.set(record.namespace_id, record.name))

    def with_topic(self, record: TopicRecord) -> "Names":
        """Add a topic."""
        full = self._full_name(record.name, record.namespace_id)
        first = self.first.get(record.topic_id)
        if first is not None:
            return self._set(record.topic_id, TopicNames(full, first))
        is_taken = full in self.held
        kafkas = f"{full}{_BEFORE_ID}{uuid_text(record.topic_id)}" if is_taken else full
        return self._set(record.topic_id, TopicNames(full, kafkas))

    def with_move(self, record: MoveTopicRecord) -> "Names":
        """Change a topic's full name; Kafka's name stays."""
        old = self.topics.get(record.topic_id)
        if old is None:
            return self
        full = self._full_name(record.name, record.namespace_id)
        return self._without(record.topic_id)._set(record.topic_id, TopicNames(full, old.kafkas))

    def without_topic(self, record: RemoveTopicRecord) -> "Names":
        """Remove a topic; other topics may then use its names."""
        return self._without(record.topic_id)

    def with_own_acl(self, acl_id: Uuid) -> "Names":
        """Add an ACL that Kafka's form lacks."""
        return _changed(self, own_acls=self.own_acls.set(acl_id, None))

    def without_own_acl(self, acl_id: Uuid) -> "Names":
        """Remove an ACL that Kafka's form lacks."""
        return _changed(self, own_acls=self.own_acls.delete(acl_id))

    def kafkas(self, topic_id: Uuid) -> str:
        """Return the name of a topic in Kafka's form."""
        return self.topics[topic_id].kafkas

    def of_full_name(self, full: str) -> str | None:
        """Return the name in Kafka's form of the topic that now has this full name.

        Returns None if Kafka's form uses the name for another topic, which was moved. A full name
        without a topic is returned unchanged.
        """
        kept = self.kept.get(full)
        if kept is not None:
            return kept
        return None if full in self.held else full

    def _full_name(self, name: str, namespace_id: Uuid | None) -> str:
        if namespace_id is None:
            return name
        # Only a log that contradicts itself has a topic in an unknown namespace.
        namespace = self.namespaces.get(namespace_id) or uuid_text(namespace_id)
        return f"{namespace}{NAMESPACE_SEPARATOR}{name}"

    def _set(self, topic_id: Uuid, names: TopicNames) -> "Names":
        changed: dict[str, Any] = {"topics": self.topics.set(topic_id, names)}
        if names.full != names.kafkas:
            changed["kept"] = self.kept.set(names.full, names.kafkas)
            changed["held"] = self.held.set(names.kafkas, topic_id)
        return _changed(self, **changed)

    def _without(self, topic_id: Uuid) -> "Names":
        old = self.topics.get(topic_id)
        if old is None:
            return self
        changed: dict[str, Any] = {"topics": self.topics.delete(topic_id)}
        if old.full != old.kafkas:
            changed["kept"] = _dropped(self.kept, old.full)
            changed["held"] = _dropped(self.held, old.kafkas)
        return _changed(self, **changed)


def is_in_namespace(full_name: str) -> bool:
    """True if a topic's full name begins with a namespace."""
    return NAMESPACE_SEPARATOR in full_name


def _changed(names: Names, **changes: Mapping[Any, Any]) -> Names:
    return msgspec.structs.replace(names, **changes)


def _dropped(map_: Map[str, Any], key: str) -> Map[str, Any]:
    return map_.delete(key) if key in map_ else map_
