"""Number of topics and partitions in and below each namespace, updated with each batch."""

from collections.abc import Iterable

import msgspec
from immutables import Map

from controller.decisions.names import tiers
from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.image.namespaces import Namespace


class NamespaceUse(msgspec.Struct, frozen=True, gc=False):
    """Topics and partitions in and below a namespace."""

    topics: int = 0
    partitions: int = 0

    def plus(self, topics: int, partitions: int) -> "NamespaceUse":
        """Return the use plus these numbers, which may be negative."""
        return NamespaceUse(self.topics + topics, self.partitions + partitions)


NO_USE = NamespaceUse()


class NamespaceUses(msgspec.Struct, frozen=True, gc=False):
    """The use of every namespace that has topics in or below it, except the default one."""

    _by_name: Map[str, NamespaceUse] = Map()

    def of(self, namespace: str) -> NamespaceUse:
        """Return the use of a namespace."""
        return self._by_name.get(namespace, NO_USE)

    def updated(
        self, before: MetadataImage, after: MetadataImage, topic_ids: Iterable[Uuid]
    ) -> "NamespaceUses":
        """Return the uses in image `after`; `self` must contain the uses in image `before`.

        Costs O(topics, each with the tiers of its namespace).

        Args:
            topic_ids: All topics that may differ between the two images.
        """
        uses = dict[str, NamespaceUse]()
        for topic_id in topic_ids:
            old, new = _place(before, topic_id), _place(after, topic_id)
            if old != new:
                self._add(uses, old, -1)
                self._add(uses, new, 1)
        if not uses:
            return self
        by_name = self._by_name.mutate()
        for name, use in uses.items():
            if use == NO_USE:
                by_name.pop(name, None)
            else:
                by_name[name] = use
        return NamespaceUses(by_name.finish())

    def _add(
        self, uses: dict[str, NamespaceUse], place: tuple[Namespace, int] | None, sign: int
    ) -> None:
        if place is None:
            return
        namespace, partitions = place
        for name in tiers(namespace.name):
            uses[name] = (uses.get(name) or self.of(name)).plus(sign, sign * partitions)


def _place(image: MetadataImage, topic_id: Uuid) -> tuple[Namespace, int] | None:
    """Return a topic's namespace and partition count; None if in the default namespace."""
    topic = image.topic(topic_id)
    if topic is None or topic.namespace_id is None:
        return None
    namespace = image.namespace(topic.namespace_id)
    assert namespace is not None, "a topic's namespace exists"
    return namespace, image.topic_size(topic_id)
