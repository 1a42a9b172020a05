"""Topics, and the namespaces that contain them."""

from records.base import Record, Uuid


class TopicRecord(Record, frozen=True, kw_only=True):
    """A topic was created.

    Attributes:
        name: The topic's name; inside a namespace, its last part.
        topic_id: The topic's id, random and never used again.
        namespace_id: The namespace it lives in; null is the default namespace.
    """

    name: str
    topic_id: Uuid
    namespace_id: Uuid | None = None


class RemoveTopicRecord(Record, frozen=True, kw_only=True):
    """A topic was deleted, with its partitions and configs.

    Attributes:
        topic_id: The topic's id.
    """

    topic_id: Uuid


class MoveTopicRecord(Record, frozen=True, kw_only=True):
    """A topic moved to another namespace or was renamed; its id, partitions and history stay.

    Attributes:
        topic_id: The topic's id.
        namespace_id: The topic's new namespace; null is the default namespace.
        name: Last part of the topic's new name.
    """

    topic_id: Uuid
    namespace_id: Uuid | None
    name: str


class NamespaceRecord(Record, frozen=True, kw_only=True):
    """A namespace was created.

    Attributes:
        namespace_id: Random id of the namespace.
        name: Full name, its tiers joined by ':'.
    """

    namespace_id: Uuid
    name: str


class RemoveNamespaceRecord(Record, frozen=True, kw_only=True):
    """A namespace was removed.

    Attributes:
        namespace_id: Id of the namespace.
    """

    namespace_id: Uuid
