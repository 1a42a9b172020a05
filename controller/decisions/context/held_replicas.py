"""For one broker, the number of its replicas in each topic: a dict, and what has changed since.

A persistent map of all topics would take as long to build as everything else that is needed between
a snapshot and the first decision; the dict is there already.
"""

from collections.abc import Iterator, Mapping

from immutables import Map

from records.base import Uuid

_CHANGES_MIN = 64
"""Number of changes, besides half of the dict's topics, from which a new dict is made."""


class HeldReplicas:
    """Numbers of replicas by topic; immutable. A topic without replicas is not in it."""

    __slots__ = ("_base", "_changes", "_count")

    def __init__(self, base: Mapping[Uuid, int], changes: Map[Uuid, int], count: int) -> None:
        # Never changed, since earlier and later objects share it.
        self._base = base
        # The numbers of topics that differ from those in `_base`; 0 if no replica is left.
        self._changes = changes
        self._count = count

    @classmethod
    def of(cls, counts: Mapping[Uuid, int]) -> "HeldReplicas":
        """Return the given numbers, which must not change any more; zeros are left out."""
        if 0 in counts.values():
            counts = {topic_id: count for topic_id, count in counts.items() if count}
        return cls(counts, Map(), len(counts))

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
        """Return the numbers after the given changes: O(changes), amortised."""
        if not self._base:
            return HeldReplicas.of(growths)
        changes, base, topics = self._changes.mutate(), self._base, self._count
        for topic_id, growth in growths.items():
            in_base = base.get(topic_id, 0)
            old = changes.get(topic_id, in_base)
            new = old + growth
            if new != in_base:
                changes[topic_id] = new
            elif topic_id in changes:
                del changes[topic_id]
            topics += bool(new) - bool(old)
        grown = HeldReplicas(base, changes.finish(), topics)
        # Else the dict would keep every topic that it ever had.
        is_worn = len(grown._changes) > _CHANGES_MIN + len(base) // 2
        return HeldReplicas.of(dict(grown.items())) if is_worn else grown

    def __eq__(self, other: object) -> bool:
        """True if the numbers are equal."""
        if not isinstance(other, HeldReplicas):
            return NotImplemented
        return self is other or dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]


NO_REPLICAS = HeldReplicas({}, Map(), 0)


def all_grown(
    held: Map[int, HeldReplicas], growths: Mapping[int, Mapping[Uuid, int]]
) -> Map[int, HeldReplicas]:
    """Return the replicas by broker after they have grown; no broker has none."""
    if not growths:
        return held
    by_broker = held.mutate()
    for broker_id, of_topics in growths.items():
        topics = by_broker.pop(broker_id, NO_REPLICAS).grown(of_topics)
        if topics:
            by_broker[broker_id] = topics
    return by_broker.finish()
