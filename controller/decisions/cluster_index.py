"""What decisions look up across all topics, so that no decision walks over the whole image.

Derived from the image and nothing else: `ClusterIndex.of(image)` and an index that was updated
batch by batch answer the same. Immutable, so it goes back together with the image when an append
fails. An update costs what the touched topics hold, whatever the image's size.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest

import msgspec
from immutables import Map
from immutables._protocols import MapMutation

from controller.decisions.settled import is_moving, settled_replicas
from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, Partition, Partitions
from replay.image.topics import Topic

_TopicSet = Map[Uuid, None]
_NO_TOPICS: _TopicSet = Map()


class BrokerLoad(msgspec.Struct, frozen=True, gc=False):
    """Of how many partitions a broker is the preferred leader, and how many it holds.

    Where partitions move, what counts is where they will be.
    """

    leaders: int = 0
    replicas: int = 0


_NO_LOAD = BrokerLoad()


class ClusterIndex(msgspec.Struct, frozen=True, gc=False):
    """Topics by broker, by what their partitions lack or do, load of brokers, colliding names.

    Partitions come out ordered by topic id and partition id, the same in every process.
    """

    # Topics with a replica on a broker.
    _by_broker: Map[int, _TopicSet] = Map()
    _leaderless: _TopicSet = Map()
    _imbalanced: _TopicSet = Map()
    _moving: _TopicSet = Map()
    _load: Map[int, BrokerLoad] = Map()
    # Names with a '.' or '_', by namespace and by their form with '_' only.
    _by_collision: Map[tuple[Uuid | None, str], tuple[str, ...]] = Map()

    @classmethod
    def of(cls, image: MetadataImage) -> "ClusterIndex":
        """Build the index of an image: O(partitions)."""
        topic_ids = [topic.topic_id for topic in image.topics()]
        return cls().updated(MetadataImage.EMPTY, image, topic_ids)

    def updated(
        self, before: MetadataImage, after: MetadataImage, topic_ids: Collection[Uuid]
    ) -> "ClusterIndex":
        """Return the index of `after`, given that this is the one of `before`.

        Args:
            topic_ids: All topics that may differ between the two.
        """
        update = _Update(self)
        for topic_id in topic_ids:
            update.partitions(topic_id, before.partitions(topic_id), after.partitions(topic_id))
        # Names go before they come: within one batch a name may pass from one topic to another.
        renamed = [i for i in topic_ids if before.topic(i) != after.topic(i)]
        for topic_id in renamed:
            update.forget_name(before.topic(topic_id))
        for topic_id in renamed:
            update.learn_name(after.topic(topic_id))
        return update.finish()

    def partitions_on(self, image: MetadataImage, broker_id: int) -> Iterator[Partition]:
        """Iterate over the partitions with a replica on a broker."""
        for topic_id in sorted(self._by_broker.get(broker_id, _NO_TOPICS)):
            for partition in image.partitions(topic_id):
                if broker_id in partition.replicas:
                    yield partition

    def leads_any(self, image: MetadataImage, broker_id: int) -> bool:
        """Return whether a broker leads a partition."""
        return any(p.leader == broker_id for p in self.partitions_on(image, broker_id))

    def leaderless_partitions(self, image: MetadataImage) -> Iterator[Partition]:
        """Iterate over the partitions that have no leader."""
        for topic_id in sorted(self._leaderless):
            for partition in image.partitions(topic_id):
                if partition.leader == NO_LEADER:
                    yield partition

    def imbalanced_partitions(self, image: MetadataImage) -> Iterator[Partition]:
        """Iterate over the partitions that their preferred replica does not lead."""
        for topic_id in sorted(self._imbalanced):
            for partition in image.partitions(topic_id):
                if partition.leader != partition.replicas[0]:
                    yield partition

    def moving_partitions(self, image: MetadataImage) -> Iterator[Partition]:
        """Iterate over the partitions that are being reassigned."""
        for topic_id in sorted(self._moving):
            for partition in image.partitions(topic_id):
                if is_moving(partition):
                    yield partition

    def load(self, broker_id: int) -> BrokerLoad:
        """Return what a broker leads and holds."""
        return self._load.get(broker_id, _NO_LOAD)

    def colliding_name(self, namespace_id: Uuid | None, name: str) -> str | None:
        """Return an existing name that differs from this one by '.' and '_' only."""
        if not has_collision_characters(name):
            return None
        return self._by_collision.get((namespace_id, _unified(name)), (None,))[0]


class _Update:
    """Changes to an index, collected over all touched topics and written down once."""

    def __init__(self, index: ClusterIndex) -> None:
        self._index = index
        # Topics of the brokers that gain or lose some.
        self._topics_of: dict[int, MapMutation[Uuid, None]] = {}
        self._leaderless = _TopicSetUpdate(index._leaderless)
        self._imbalanced = _TopicSetUpdate(index._imbalanced)
        self._moving = _TopicSetUpdate(index._moving)
        # By how much the brokers' loads grow.
        self._leaders: defaultdict[int, int] = defaultdict(int)
        self._replicas: defaultdict[int, int] = defaultdict(int)
        self._by_collision = index._by_collision.mutate()

    def partitions(self, topic_id: Uuid, old: Partitions, new: Partitions) -> None:
        if old is new:
            return
        lost, gained = _moved(old, new) if old and new else (old, new)
        if lost or gained:
            self._weigh(lost, -1)
            self._weigh(gained, 1)
            self._hold(topic_id, old, new)
        leaderless = imbalanced = moving = False
        for partition in new:
            if partition.leader != partition.replicas[0]:
                imbalanced = True
                leaderless = leaderless or partition.leader == NO_LEADER
            if partition.adding_replicas or partition.removing_replicas:
                moving = True
        self._leaderless.put(topic_id, leaderless)
        self._imbalanced.put(topic_id, imbalanced)
        self._moving.put(topic_id, moving)

    def forget_name(self, topic: Topic | None) -> None:
        if topic is not None and has_collision_characters(topic.name):
            key = (topic.namespace_id, _unified(topic.name))
            left = tuple([name for name in self._by_collision[key] if name != topic.name])
            if left:
                self._by_collision[key] = left
            else:
                del self._by_collision[key]

    def learn_name(self, topic: Topic | None) -> None:
        if topic is not None and has_collision_characters(topic.name):
            key = (topic.namespace_id, _unified(topic.name))
            self._by_collision[key] = tuple(sorted((*self._by_collision.get(key, ()), topic.name)))

    def finish(self) -> ClusterIndex:
        return ClusterIndex(
            self._finish_topics(),
            self._leaderless.finish(),
            self._imbalanced.finish(),
            self._moving.finish(),
            self._finish_load(),
            self._by_collision.finish(),
        )

    def _finish_topics(self) -> Map[int, _TopicSet]:
        by_broker = self._index._by_broker.mutate()
        for broker_id, topics in self._topics_of.items():
            if topics:
                by_broker[broker_id] = topics.finish()
            else:
                by_broker.pop(broker_id, None)
        return by_broker.finish()

    def _finish_load(self) -> Map[int, BrokerLoad]:
        loads = self._index._load.mutate()
        for broker_id, replicas in self._replicas.items():
            old = loads.get(broker_id, _NO_LOAD)
            load = BrokerLoad(old.leaders + self._leaders[broker_id], old.replicas + replicas)
            if load == _NO_LOAD:
                loads.pop(broker_id, None)
            else:
                loads[broker_id] = load
        return loads.finish()

    def _hold(self, topic_id: Uuid, old: Partitions, new: Partitions) -> None:
        """Note which brokers begin or cease to have replicas of a topic."""
        for broker_id in _holders(old) ^ (holders := _holders(new)):
            topics = self._topics_of.get(broker_id)
            if topics is None:
                topics = self._index._by_broker.get(broker_id, _NO_TOPICS).mutate()
                self._topics_of[broker_id] = topics
            if broker_id in holders:
                topics[topic_id] = None
            else:
                topics.pop(topic_id, None)

    def _weigh(self, partitions: Iterable[Partition], count: int) -> None:
        """Put partitions on the load of their brokers, or take them off."""
        leaders, replicas = self._leaders, self._replicas
        for partition in partitions:
            settled = settled_replicas(partition)
            for broker_id in settled[:1]:
                leaders[broker_id] += count
            for broker_id in settled:
                replicas[broker_id] += count


class _TopicSetUpdate:
    """Changes to a set of topics, which most updates leave as it is."""

    def __init__(self, base: _TopicSet) -> None:
        self._base = base
        self._new: MapMutation[Uuid, None] | None = None

    def put(self, topic_id: Uuid, present: bool) -> None:
        if present == (topic_id in (self._base if self._new is None else self._new)):
            return
        if self._new is None:
            self._new = self._base.mutate()
        if present:
            self._new[topic_id] = None
        else:
            del self._new[topic_id]

    def finish(self) -> _TopicSet:
        return self._base if self._new is None else self._new.finish()


def _moved(old: Partitions, new: Partitions) -> tuple[list[Partition], list[Partition]]:
    """Return the partitions that differ in where their replicas will be, before and after."""
    pairs = [
        (before, after)
        for before, after in zip_longest(old, new)
        if before is None
        or after is None
        or before.replicas is not after.replicas
        or before.removing_replicas is not after.removing_replicas
    ]
    lost = [before for before, _ in pairs if before is not None]
    return lost, [after for _, after in pairs if after is not None]


def _holders(partitions: Partitions) -> set[int]:
    return set().union(*[partition.replicas for partition in partitions])


def has_collision_characters(name: str) -> bool:
    """Return whether a name holds a character that metric names fold into another."""
    return "." in name or "_" in name


def _unified(name: str) -> str:
    return name.replace(".", "_")
