"""Lookups across all topics, so that no decision has to scan the whole image.

Derived from the image alone: `ClusterIndex.of(image)` equals an index that was updated batch by
batch. Immutable, so it is rolled back together with the image when an append fails. An update costs
O(partitions affected), independent of the size of their topics and of the image.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec
from immutables import Map

from controller.decisions.context.colliding_names import (
    CollidingNames,
    colliding_name,
    forget_name,
    learn_name,
)
from controller.decisions.context.held_replicas import NO_REPLICAS, HeldReplicas, all_grown
from controller.decisions.context.left_replicas import (
    Growths,
    LeftReplicas,
    count_left,
    has_left,
)
from controller.decisions.context.namespace_use import NamespaceUses
from controller.results.turns import Turns, whole
from records.base import Uuid
from replay.image.changes import MapDelta, NestedMapDelta
from replay.image.configs import GROUP
from replay.image.metadata import MetadataImage
from replay.image.partition_list import find
from replay.image.partitions import NO_LEADER, Partition, is_moving, settled_replicas
from replay.image.placement import Placement, placement_of
from replay.image.topics import Topic

_PartitionSet: TypeAlias = Map[Uuid, Map[int, bool]]
"""Partition ids by topic; every value is True."""

SUBSCRIBED_PATTERN = "subscribed.topic.regex"
"""The config of a consumer group that holds its registered pattern."""

_PARTITIONS_IN_TURN = 10_000
"""Settled partitions that are indexed in one turn of the event loop: each takes 0.5 us."""

_MADE_COST = 4
"""How many of them take as long as making one that is not settled, if a snapshot holds it."""

_OTHER_COST = 10
"""How many of them take as long as indexing one that is not settled."""

_SETTLED_AT_ONCE = 1_000
"""Partitions that are not settled, whose sets are applied in one turn."""

_TOPICS_IN_TURN = 2_000
"""Topics that are counted in their namespaces in one turn: each takes up to 5 us."""


class BrokerLoad(msgspec.Struct, frozen=True, gc=False):
    """Load of a broker: how many partitions it should lead, and how many replicas it has.

    For a partition being reassigned, the target replicas are counted.
    """

    leaders: int = 0
    replicas: int = 0


_NO_LOAD = BrokerLoad()


class ClusterIndex(msgspec.Struct, frozen=True, gc=False):
    """Index of partitions, broker load, colliding names, namespace use, and subscriptions.

    Partitions are indexed by broker and by state. They are returned in order of topic id and
    partition id, the same in every process.
    """

    # Number of replicas by broker and topic.
    _by_broker: Map[int, HeldReplicas] = Map()
    _left: LeftReplicas = LeftReplicas()
    _leaderless: _PartitionSet = Map()
    _imbalanced: _PartitionSet = Map()
    _moving: _PartitionSet = Map()
    _load: Map[int, BrokerLoad] = Map()
    _by_collision: CollidingNames = Map()
    uses: NamespaceUses = NamespaceUses()
    """Topics and partitions in and below each namespace."""
    subscriptions: Map[str, str] = Map()
    """The registered patterns of consumer groups, by group."""

    @classmethod
    def of(cls, image: MetadataImage) -> "ClusterIndex":
        """Build the index of an image: O(partitions)."""
        return whole(cls.in_turns(image))

    @classmethod
    def in_turns(cls, image: MetadataImage) -> Turns["ClusterIndex"]:
        """Build the index of an image, in several turns of the event loop."""
        update = _Update(cls())
        update.learn_groups(
            image, [name for (resource_type, name), _ in image.configs() if resource_type == GROUP]
        )
        done = 0
        for cost in update.put_whole(image.placements()):
            done += cost
            if done >= _PARTITIONS_IN_TURN:
                done = 0
                yield
        topic_ids = (topic.topic_id for topic in image.topics())
        uses = NamespaceUses()
        while some := tuple(itertools.islice(topic_ids, _TOPICS_IN_TURN)):
            uses = uses.updated(MetadataImage.EMPTY, image, some)
            yield
        return update.finish(uses)

    def updated(
        self,
        before: MetadataImage,
        after: MetadataImage,
        touched: Mapping[Uuid, Iterable[int]],
        groups: Collection[str] = (),
    ) -> "ClusterIndex":
        """Return the index of `after`; this index must be that of `before`.

        Args:
            touched: All topics that may differ between the two images, each with the ids of the
                partitions that may differ.
            groups: All consumer groups whose configs may differ.
        """
        if not touched and not groups:
            return self
        update = _Update(self)
        update.learn_groups(after, groups)
        for topic_id, partition_ids in touched.items():
            olds, news = before.partitions(topic_id), after.partitions(topic_id)
            if not olds or not news:
                update.put_all(topic_id, placement_of(olds or news), -1 if olds else 1)
                continue
            for partition_id in partition_ids:
                update.put(find(olds, partition_id), find(news, partition_id))
        # Remove old names first: within one batch a name may pass from one topic to another.
        renamed = [i for i in touched if before.topic(i) != after.topic(i)]
        for topic_id in renamed:
            forget_name(update.names, before.topic(topic_id))
        for topic_id in renamed:
            learn_name(update.names, after.topic(topic_id))
        return update.finish(self.uses.updated(before, after, touched))

    def with_isrs(
        self, before: MetadataImage, after: MetadataImage, touched: Mapping[Uuid, Iterable[int]]
    ) -> "ClusterIndex":
        """Return the index of `after`, which differs from `before` in ISRs alone.

        Takes a third of the time of `updated`; ISR changes are a cluster's most frequent changes.

        Args:
            touched: As `updated`.
        """
        growths: Growths = {}
        for topic_id, partition_ids in touched.items():
            for partition_id in partition_ids:
                count_left(growths, before.partition(topic_id, partition_id), -1)
                count_left(growths, after.partition(topic_id, partition_id), 1)
        return msgspec.structs.replace(self, _left=self._left.grown(growths))

    def partitions_on(
        self, image: MetadataImage, broker_id: int, *, in_order: bool = True
    ) -> Iterator[Partition]:
        """Iterate over the partitions with a replica on a broker.

        Args:
            in_order: Sort the topics, which takes O(topics on the broker).
        """
        topics = self._by_broker.get(broker_id, NO_REPLICAS)
        for topic_id in sorted(topics) if in_order else topics:
            for partition in image.partitions(topic_id):
                if broker_id in partition.replicas:
                    yield partition

    def partitions_to_leave(self, image: MetadataImage, broker_id: int) -> Iterator[Partition]:
        """Iterate over the partitions that a broker still has to leave, in order of their ids.

        O(topics on the broker, and partitions of the topics iterated over).
        """
        left = self._left.of(broker_id)
        topics = self._by_broker.get(broker_id, NO_REPLICAS).items()
        for topic_id in sorted([each for each, held in topics if left.get(each, 0) < held]):
            for partition in image.partitions(topic_id):
                if broker_id in partition.replicas and not has_left(partition, broker_id):
                    yield partition

    def leads_any(self, image: MetadataImage, broker_id: int) -> bool:
        """True if a broker leads at least one partition."""
        partitions = self.partitions_to_leave(image, broker_id)
        return any(partition.leader == broker_id for partition in partitions)

    def leader_counts(self, image: MetadataImage) -> Counter[int]:
        """Return the number of partitions that each broker leads.

        O(brokers, and partitions not led by their preferred replica or being reassigned).
        """
        counts = Counter({broker_id: load.leaders for broker_id, load in self._load.items()})
        moving = (p for p in self.moving_partitions(image) if not _is_imbalanced(p))
        for partition in itertools.chain(self.imbalanced_partitions(image), moving):
            counts.subtract(settled_replicas(partition)[:1])
            counts[partition.leader] += 1
        return counts

    def replica_count(self, broker_id: int) -> int:
        """Return the number of replicas that a broker has: O(topics on the broker)."""
        return sum(self._by_broker.get(broker_id, NO_REPLICAS).values())

    def leaderless_partitions(self, image: MetadataImage) -> Iterator[Partition]:
        """Iterate over the partitions without a leader."""
        return _read(image, self._leaderless)

    def imbalanced_partitions(self, image: MetadataImage) -> Iterator[Partition]:
        """Iterate over the partitions not led by their preferred replica."""
        return _read(image, self._imbalanced)

    def moving_partitions(self, image: MetadataImage) -> Iterator[Partition]:
        """Iterate over the partitions that are being reassigned."""
        return _read(image, self._moving)

    def moving_partition_ids(self, topic_id: Uuid) -> list[int]:
        """Return the ids of a topic's partitions being reassigned, in order."""
        return sorted(self._moving.get(topic_id, ()))

    def load(self, broker_id: int) -> BrokerLoad:
        """Return a broker's load: the partitions it should lead, and its replicas."""
        return self._load.get(broker_id, _NO_LOAD)

    def colliding_name(self, namespace_id: Uuid | None, name: str) -> str | None:
        """Return an existing name that differs from this one only by '.' and '_'."""
        return colliding_name(self._by_collision, namespace_id, name)


def _read(image: MetadataImage, partitions: _PartitionSet) -> Iterator[Partition]:
    for topic_id in sorted(partitions):
        for partition_id in sorted(partitions[topic_id]):
            partition = image.partition(topic_id, partition_id)
            assert partition is not None, "the index is the image's"
            yield partition


class _Update:
    """Changes to an index, collected over all affected partitions and applied together."""

    def __init__(self, index: ClusterIndex) -> None:
        self._index = index
        # Changes of the counts by broker and topic, and of the brokers' loads.
        self._held: defaultdict[int, defaultdict[Uuid, int]] = defaultdict(_counts)
        self._left_replicas, self._left = index._left, Growths()
        self._leaders: defaultdict[int, int] = defaultdict(int)
        self._replicas: defaultdict[int, int] = defaultdict(int)
        self._leaderless = NestedMapDelta(index._leaderless)
        self._imbalanced = NestedMapDelta(index._imbalanced)
        self._moving = NestedMapDelta(index._moving)
        self._sets = (
            (self._leaderless, _is_leaderless),
            (self._imbalanced, _is_imbalanced),
            (self._moving, is_moving),
        )
        self.names = index._by_collision.mutate()
        self._subscriptions = MapDelta(index.subscriptions)

    def learn_groups(self, image: MetadataImage, groups: Iterable[str]) -> None:
        for group in groups:
            pattern = image.config_value(GROUP, group, SUBSCRIBED_PATTERN)
            if pattern is None:
                self._subscriptions.take(group)
            else:
                self._subscriptions.put(group, pattern)

    def put_whole(self, placements: Iterable[tuple[Topic, Placement]]) -> Iterator[int]:
        """Add all topics of an image to an index that is empty; faster than one by one.

        Yields after each step about how many settled partitions take as long as the step.
        """
        held, leaders = self._held, Counter[int]()
        others: list[Partition] = []
        for topic, placement in placements:
            learn_name(self.names, topic)
            topic_id = topic.topic_id
            for broker_id, replicas in placement.held.items():
                held[broker_id][topic_id] = replicas
            leaders.update(placement.leaders)
            others += placement.others
            made = len(placement.others) * _MADE_COST
            yield len(placement.held) + len(placement.leaders) + made
        self._leaders.update(leaders)
        for broker_id, topics in held.items():
            self._replicas[broker_id] = sum(topics.values())
            yield len(topics) // 4
        while others:
            self.put(None, others.pop())  # freed one by one, not all in one turn
            if len(others) % _SETTLED_AT_ONCE == 0:
                self._settle()
            yield _OTHER_COST

    def put_all(self, topic_id: Uuid, placement: Placement, count: int) -> None:
        """Add all partitions of a new topic, or (`count` -1) remove those of a removed one.

        Settled partitions are counted together, for speed.
        """
        for partition in placement.others:
            if count > 0:
                self.put(None, partition)
            else:
                self.put(partition, None)
        for broker_id, leaders in Counter(placement.leaders).items():
            self._leaders[broker_id] += count * leaders
        for broker_id, replicas in placement.held.items():
            topics = self._held[broker_id]
            topics[topic_id] = topics.get(topic_id, 0) + count * replicas
            self._replicas[broker_id] += count * replicas

    def put(self, old: Partition | None, new: Partition | None) -> None:
        """Replace a partition; `old` None means that it is new, `new` None that it is removed."""
        if old is new:
            return
        if (
            old is None
            or new is None
            or old.replicas is not new.replicas
            or old.removing_replicas is not new.removing_replicas
        ):
            count_left(self._left, old, -1)
            count_left(self._left, new, 1)
            if old is not None:
                self._weigh(old, -1)
            if new is not None:
                self._weigh(new, 1)
        elif old.isr is not new.isr or old.leader != new.leader:
            count_left(self._left, old, -1)
            count_left(self._left, new, 1)
            if old.leader == new.leader and old.adding_replicas is new.adding_replicas:
                return  # most changes: only the ISR differs, which is in none of the sets
        one = new or old
        assert one is not None, "not both are None"
        for partitions, has in self._sets:
            had_it, has_it = old is not None and has(old), new is not None and has(new)
            if has_it and not had_it:
                partitions.at(one.topic_id).put(one.partition_id, True)
            elif had_it and not has_it:
                partitions.at(one.topic_id).take(one.partition_id)

    def finish(self, uses: NamespaceUses) -> ClusterIndex:
        return ClusterIndex(
            all_grown(self._index._by_broker, self._held),
            self._left_replicas.grown(self._left),
            self._leaderless.apply(),
            self._imbalanced.apply(),
            self._moving.apply(),
            self._finish_load(),
            self.names.finish(),
            uses,
            self._subscriptions.apply(),
        )

    def _settle(self) -> None:
        """Apply the sets collected so far, so that the last turn need not apply all of them."""
        self._left_replicas, self._left = self._left_replicas.grown(self._left), {}
        for partitions, _ in self._sets:
            partitions.settle()

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

    def _weigh(self, partition: Partition, count: int) -> None:
        """Add a partition to the load of its brokers `count` times; -1 subtracts it."""
        topic_id, held, replicas = partition.topic_id, self._held, self._replicas
        for broker_id in partition.replicas:
            held[broker_id][topic_id] += count
        settled = settled_replicas(partition)
        for broker_id in settled[:1]:
            self._leaders[broker_id] += count
        for broker_id in settled:
            replicas[broker_id] += count


def _counts() -> defaultdict[Uuid, int]:
    return defaultdict(int)


def _is_leaderless(partition: Partition) -> bool:
    return partition.leader == NO_LEADER


def _is_imbalanced(partition: Partition) -> bool:
    return partition.leader != partition.replicas[0]
