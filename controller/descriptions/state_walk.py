"""State transitions of partitions and replicas along a log.

A state machine moves when a batch commits (or the transaction around it ends). From the state
before a batch to the state after it, it takes the shortest legal path: the partitions of a new
topic go through NonExistent, New and Online, although one record creates them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import msgspec

from controller.decisions.partitions.partition_states import PARTITIONS, partition_state
from controller.decisions.partitions.replica_deletions import deletion_states
from controller.decisions.partitions.replica_states import NON_EXISTENT, REPLICAS, replica_state
from controller.descriptions.affected import Affected
from metadata_log.format.batch import Batch
from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """One transition of a partition's or replica's state machine.

    `offset` and `timestamp` (ms since 1970) are those of the batch's last record. `broker_id` is
    None for a partition's transition. `leader` is the partition's leader after the batch, -1 if it
    has none. States have the names in the state machine's table.
    """

    offset: int
    timestamp: int
    topic: str
    topic_id: Uuid
    partition_id: int
    broker_id: int | None
    before: str
    after: str
    leader: int


def walk_states(
    steps: Iterable[tuple[Batch, MetadataImage]], start: MetadataImage
) -> Iterator[Transition]:
    """Yield every change of a partition's or replica's state, in the order of the batches.

    Costs O(objects affected) per batch; a change of a broker examines all topics' partitions.

    Args:
        steps: Batches in order, each with the image after it, as `replay.loader.images` yields
            them.
        start: The image before the first batch.
    """
    before = start
    affected = Affected()
    for batch, after in steps:
        affected.add(row.payload for row in batch.rows)
        if after.provenance.pending_transaction is not None:
            continue
        yield from transitions(before, after, affected.topic_ids, affected.broker_ids)
        before, affected = after, Affected()


def transitions(
    before: MetadataImage,
    after: MetadataImage,
    topic_ids: Iterable[Uuid],
    broker_ids: Iterable[int] = (),
) -> Iterator[Transition]:
    """Yield the transitions between two images, ordered by topic id and partition id.

    Args:
        topic_ids: All topics whose partitions or replica deletions may differ.
        broker_ids: All brokers that may differ.
    """
    changed = {b for b in broker_ids if before.broker(b) != after.broker(b)}
    topics = set(topic_ids)
    if changed:
        topics.update(topic.topic_id for topic in after.topics())
    tracked = _Tracked(before), _Tracked(after)
    for topic_id in sorted(topics):
        of_topic = _Steps(before, after, topic_id, tracked)
        for partition_id in of_topic.partition_ids():
            yield from of_topic.partition(partition_id)
            yield from of_topic.replicas(partition_id, changed)


class _Tracked:
    """An image's replica deletions, by topic and partition."""

    def __init__(self, image: MetadataImage) -> None:
        self._states: defaultdict[Uuid, defaultdict[int, dict[int, int]]]
        self._states = defaultdict(lambda: defaultdict(dict))
        for (topic_id, partition_id, broker_id), state in deletion_states(image).items():
            self._states[topic_id][partition_id][broker_id] = state

    def of_topic(self, topic_id: Uuid) -> Mapping[int, Mapping[int, int]]:
        """Return the states by partition id and broker id."""
        return self._states.get(topic_id, _NONE_TRACKED)


_NONE_TRACKED: Mapping[int, Mapping[int, int]] = {}
_NO_STATES: Mapping[int, int] = {}


class _Steps:
    """Computes the transitions of one topic between two images."""

    def __init__(
        self,
        before: MetadataImage,
        after: MetadataImage,
        topic_id: Uuid,
        tracked: tuple[_Tracked, _Tracked],
    ) -> None:
        self._images = before, after
        self._topic_id = topic_id
        self._tracked = tracked[0].of_topic(topic_id), tracked[1].of_topic(topic_id)
        self._name = _topic_name(before, after, topic_id)

    def partition_ids(self) -> list[int]:
        ids = {p.partition_id for image in self._images for p in image.partitions(self._topic_id)}
        for tracked in self._tracked:
            ids.update(tracked)
        return sorted(ids)

    def partition(self, partition_id: int) -> Iterator[Transition]:
        old, new = self._pair(partition_id)
        way = PARTITIONS.path(partition_state(old), partition_state(new))
        if len(way) == 1 and old and new and old.leader_epoch != new.leader_epoch:
            way = (*way, *way)  # another leader, or the same in a new epoch
        for state, next_state in pairwise(way):
            yield self._step(
                partition_id, None, PARTITIONS.name(state), PARTITIONS.name(next_state)
            )

    def replicas(self, partition_id: int, changed_brokers: set[int]) -> Iterator[Transition]:
        old, new = self._pair(partition_id)
        holders = {b for p in (old, new) if p is not None for b in p.replicas}
        was, now = [tracked.get(partition_id, _NO_STATES) for tracked in self._tracked]
        holders.update(was, now)
        if old is new:
            holders = {b for b in holders if b in changed_brokers or was.get(b) != now.get(b)}
        for broker_id in sorted(holders):
            way = REPLICAS.path(
                self._replica_state(0, old, partition_id, broker_id),
                self._replica_state(1, new, partition_id, broker_id),
            )
            for state, next_state in pairwise(way):
                yield self._step(
                    partition_id, broker_id, REPLICAS.name(state), REPLICAS.name(next_state)
                )

    def _replica_state(
        self, when: int, partition: Partition | None, partition_id: int, broker_id: int
    ) -> int:
        tracked = self._tracked[when].get(partition_id, _NO_STATES).get(broker_id)
        if tracked is not None:
            return tracked
        if partition is None or broker_id not in partition.replicas:
            return NON_EXISTENT
        return replica_state(self._images[when], partition, broker_id)

    def _pair(self, partition_id: int) -> tuple[Partition | None, Partition | None]:
        before, after = self._images
        return (
            before.partition(self._topic_id, partition_id),
            after.partition(self._topic_id, partition_id),
        )

    def _step(
        self, partition_id: int, broker_id: int | None, before: str, after: str
    ) -> Transition:
        provenance = self._images[1].provenance
        assert provenance.offset is not None, "an image after a batch contains it"
        partition = self._images[1].partition(self._topic_id, partition_id)
        return Transition(
            offset=provenance.offset,
            timestamp=provenance.timestamp,
            topic=self._name,
            topic_id=self._topic_id,
            partition_id=partition_id,
            broker_id=broker_id,
            before=before,
            after=after,
            leader=-1 if partition is None else partition.leader,
        )


def _topic_name(before: MetadataImage, after: MetadataImage, topic_id: Uuid) -> str:
    for image in (after, before):
        topic = image.topic(topic_id)
        if topic is not None:
            return image.full_name(topic)
    return ""
