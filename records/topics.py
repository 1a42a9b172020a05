"""Topics, and the namespaces that contain them."""

from records.base import Record, Uuid


class TopicRecord(Record, frozen=True, kw_only=True):
    """A topic was created."""

    name: str
    topic_id: Uuid
    namespace_id: Uuid | None = None


class RemoveTopicRecord(Record, frozen=True, kw_only=True):
    """A topic was deleted, with its partitions and configs."""

    topic_id: Uuid


class MoveTopicRecord(Record, frozen=True, kw_only=True):
    """A topic moved to another namespace or was renamed; its id, partitions and history stay."""

    topic_id: Uuid
    namespace_id: Uuid | None
    name: str


class NamespaceRecord(Record, frozen=True, kw_only=True):
    """A namespace was created."""

    namespace_id: Uuid
    name: str


class RemoveNamespaceRecord(Record, frozen=True, kw_only=True):
    """A namespace was removed."""

    namespace_id: Uuid
