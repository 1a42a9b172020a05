"""Reach of a topic, its partitions and its configs, whose names all contain the topic's name."""

from collections.abc import Collection, Mapping

from metadata_log.format.needles import Needles
from records.base import Uuid
from records.configs import ConfigRecord
from records.control import BeginTransactionRecord
from records.envelope import Envelope
from records.partitions import ClearElrRecord
from records.text import parse_uuid
from records.topics import (
    MoveTopicRecord,
    NamespaceRecord,
    RemoveNamespaceRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replay.image.configs import TOPIC
from replay.image.metadata import NAMESPACE_SEPARATOR
from replay.time_travel.labels import unescaped
from replay.time_travel.past_topics import TopicState

_ABOUT_NAMES = (
    TopicRecord | RemoveTopicRecord | MoveTopicRecord | NamespaceRecord | RemoveNamespaceRecord
)


class TopicReach:
    """Reach of a topic: the topics that its name may mean, and search strings for their records.

    A record that changes a topic or its partitions contains the topic's id, with few exceptions:
    ClearElrRecord (by name, or all topics) and transaction markers. The requested name and the
    topic's namespace are searched for as well.
    """

    restarts = False
    is_indexed = True

    def __init__(self, topic: str, partition_id: int | None) -> None:
        """Start with a topic from an object name: its full name, or `@` and its id.

        Args:
            partition_id: Id of the partition to search for; None: the whole topic.

        Raises:
            ValueError: the topic's id is invalid.
        """
        self.needles = Needles()
        self.needles.add_type(BeginTransactionRecord)
        self.needles.add_type(ClearElrRecord)
        # Topics and namespaces whose records are searched for.
        self._ids: set[Uuid] = set()
        # Those of them whose earlier records may have been skipped.
        self._missed: set[Uuid] = set()
        # Last parts of names; any topic that ever has one of them counts.
        self.wanted: set[str] = set()
        # Last parts of the names that the topics had.
        self.names: set[str] = set()
        # The last part of the requested name; any topic with it may be the one.
        self._asked: str | None = None
        # The full name of its namespace, and the ids that the name had.
        self._namespace = ""
        self._namespace_ids: set[Uuid | None] = {None}
        self.partition_id = partition_id
        if topic.startswith("@"):
            self._add_id(parse_uuid(topic[1:]))
        else:
            namespace, _, self._asked = unescaped(topic).rpartition(NAMESPACE_SEPARATOR)
            if namespace:
                self._namespace, self._namespace_ids = namespace, set()
                self._search(namespace)
            self.want(self._asked)

    @property
    def ids(self) -> Collection[Uuid]:
        return self._ids

    @property
    def target(self) -> "TopicReach | None":
        return self

    def is_among(self, topics: Mapping[Uuid, TopicState | None]) -> bool:
        """True if the requested topic is one of `topics`."""
        found = [topic for topic in topics.values() if topic is not None]
        if self._asked is None:
            return bool(found)
        return any(
            topic.name == self._asked and topic.namespace_id in self._namespace_ids
            for topic in found
        )

    def want(self, name: str) -> None:
        """Also search for every topic that has this name at any time.

        Args:
            name: The topic's name without its namespace.
        """
        self.wanted.add(name)
        self._search(name)

    def add_missed(self) -> bool:
        """Add search strings for objects discovered after some of their records were skipped.

        Returns:
            True if there are any: the log must be read again.
        """
        missed, self._missed = self._missed, set()
        for found in missed:
            self._add_id(found)
        return bool(missed)

    def takes(self, row: Envelope) -> bool:
        """True if a row can affect the topics. Must be called with all decoded rows, in order."""
        match row.payload:
            case TopicRecord(topic_id=topic_id, name=name, namespace_id=namespace_id):
                if name in self.wanted:
                    self._add_id(topic_id)
                if topic_id in self._ids:
                    self.names.add(name)
                    self._need(namespace_id)
            case MoveTopicRecord(topic_id=topic_id, name=name, namespace_id=namespace_id):
                if name in self.wanted:
                    self._need(topic_id)
                if topic_id in self._ids:
                    self.names.add(name)
                    self._need(namespace_id)
            case NamespaceRecord(namespace_id=namespace_id, name=name):
                if name == self._namespace:
                    self._namespace_ids.add(namespace_id)
                # Its removal must be found, too: the name may be taken again.
                self._add_id(namespace_id)
                return True
            case RemoveNamespaceRecord(namespace_id=namespace_id):
                return namespace_id in self._ids
            case ClearElrRecord(topic_name=name):
                return not name or name in self.names
        return getattr(row.payload, "topic_id", None) in self._ids

    def _search(self, name: str) -> None:
        if name:
            self.needles.add_name(name)

    def _need(self, found: Uuid | None) -> None:
        if found is not None and found not in self._ids:
            self._missed.add(found)

    def _add_id(self, found: Uuid) -> None:
        self._ids.add(found)
        self.needles.add_id(found)


class DeletionReach(TopicReach):
    """Reach of a topic's replica deletions, which do not change the topic's version."""

    @property
    def target(self) -> None:
        return None


class TopicConfigsReach:
    """Reach of a topic's configs under every name that the topic had.

    Configs move with their topic, and any other topic that had one of these names could move or
    remove them. There is no target, because a topic's version does not show changes of its configs.
    """

    target = None
    restarts = True  # another topic with a name that is found late may be removed even later

    def __init__(self, topic: str) -> None:
        """Start with a topic, as `TopicReach` does.

        Raises:
            ValueError: the topic's id is invalid.
        """
        self._topics = TopicReach(topic, None)
        self._missed = False
        for name in [*self._topics.wanted]:
            self._want(name)
        # An index does not know the records that set a value to what it was. They matter if values
        # come along with a topic: by a move, or with the topic of an id.
        self.is_indexed = not topic.startswith("@")

    @property
    def needles(self) -> Needles:
        return self._topics.needles

    @property
    def ids(self) -> Collection[Uuid]:
        return self._topics.ids

    def takes(self, row: Envelope) -> bool:
        record = row.payload
        if isinstance(record, ConfigRecord):
            name = record.resource_name.rpartition(NAMESPACE_SEPARATOR)[-1]
            return record.resource_type == TOPIC and name in self._topics.wanted
        if not isinstance(record, _ABOUT_NAMES):
            return False
        taken = self._topics.takes(row)
        if taken and self.is_indexed and isinstance(record, MoveTopicRecord):
            self.is_indexed, self._missed = False, True
        for name in self._topics.names - self._topics.wanted:
            # Its configs may have been skipped: a move comes later, and Kafka sets them first.
            self._want(name)
            self._missed = True
        return taken

    def _want(self, name: str) -> None:
        self._topics.want(name)
        # Configs have the name behind that of a namespace, too.
        self.needles.add_name_in_namespace(name)

    def add_missed(self) -> bool:
        missed, self._missed = self._missed, False
        return self._topics.add_missed() or missed
