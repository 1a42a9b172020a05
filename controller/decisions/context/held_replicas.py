"""For one broker, the number of its replicas in each topic: a dict, and what has changed since.

A persistent map of all topics would take as long to build as everything else that is needed between
a snapshot and the first decision; the dict is there already.
"""

from collections.abc import Iterator, Mapping

from immutables import Map

from records.base import Uuid


class HeldReplicas:
    """Numbers of replicas by topic; immutable. A topic without replicas is not in it."""

    __slots__ = ("_base", "_changes", "_count")

    def __init__(self, base: Mapping[Uuid, int], changes: Map[Uuid, int], count: int) -> None:
        # Never changed, since earlier and later objects share it.
        self._base = base
        # The numbers of topics that differ from `_base`; 0 if no replica is left.
        self._changes = changes
        self._count = count

    @classmethod
    def of(cls, counts: Mapping[Uuid, int]) -> "HeldReplicas":
        """Return the given numbers; zeros are left out."""
        base = {topic_id: count for topic_id, count in counts.items() if count}
        return cls(base, Map(), len(base))

    def __len__(self) -> int:
        """Number of topics."""
        return self._count

    def __iter__(self) -> Iterator[Uuid]:
        """Iterate over the topics, in any order."""
        return (topic_id for topic_id, _ in self.items())

    def items(self) -> Iterator[tuple[Uuid, int]]:
        """Iterate over the topics with their numbers of replicas, in any order."""
        changes = self._changes
        for item in self._base.items():
            if item[0] not in changes:
                yield item
        for item in changes.items():
            if item[1]:
                yield item

    def values(self) -> Iterator[int]:
        """Iterate over the numbers."""
        return (count for _, count in self.items())

    def grown(self, growths: Mapping[Uuid, int]) -> "HeldReplicas":
        """Return the numbers after the given changes: O(changes)."""
        if not self._base:
            return HeldReplicas.of(growths)
        changes, base, topics = self._changes.mutate(), self._base, self._count
        for topic_id, growth in growths.items():
            old = changes.get(topic_id)
            if old is None:
                old = base.get(topic_id, 0)
            changes[topic_id] = new = old + growth
            topics += bool(new) - bool(old)
        return HeldReplicas(base, changes.finish(), topics)

    def __eq__(self, other: object) -> bool:
        """True if the numbers are equal."""
        if not isinstance(other, HeldReplicas):
            return NotImplemented
        return self is other or dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]


NO_REPLICAS = HeldReplicas({}, Map(), 0)
