"""The latest state: the input of the next decision, ahead of the committed state."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from controller.decisions.cluster_index import ClusterIndex
from controller.decisions.partition_change import LEADER_UNCHANGED
from metadata_log.batch import Batch
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.partitions import PartitionChangeRecord, PartitionRecord, RemovePartitionsRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord, TopicRecord
from replay.image import configs
from replay.image.metadata import MetadataImage
from replay.loader import Replayer


class State(msgspec.Struct, frozen=True):
    """An image and the index derived from it."""

    image: MetadataImage
    index: ClusterIndex

    @classmethod
    def of(cls, image: MetadataImage) -> "State":
        """Derive the index of an image: O(partitions)."""
        return cls(image, ClusterIndex.of(image))


class Latest:
    """Applies batches as soon as they are decided.

    `next_offset` is where the next batch will be written: the end of the log including all batches
    in flight. It is ahead of the image's own next offset while a transaction is open.
    """

    def __init__(self, state: State, next_offset: int) -> None:
        self.state = state
        self.next_offset = next_offset
        self.timestamp = state.image.provenance.timestamp
        # None if the last batch was given with its image: then it is only made when it is needed.
        self._replayer: Replayer | None = Replayer(state.image, next_offset=next_offset)
        # Topics and partitions named in records; those of an open transaction change when it ends.
        self._touched: defaultdict[Uuid, set[int]] = defaultdict(set)
        self._groups: set[str] = set()

    def apply(self, batch: Batch, after: MetadataImage | None = None) -> State:
        """Apply a batch and return the state after it.

        Args:
            after: The image after the batch, if it is already computed.

        Raises:
            ContradictionError: a record contradicts the state before it; this `Latest` must not be
                used afterwards.
        """
        if after is None:
            image = self._replayed(batch)
        else:
            image, self._replayer = after, None
        self.next_offset = batch.end_offset
        self.timestamp = batch.timestamp
        self._touch(batch)
        index = self.state.index.updated(self.state.image, image, self._touched, self._groups)
        if image.provenance.pending_transaction is None:
            self._touched.clear()
            self._groups.clear()
        self.state = State(image, index)
        return self.state

    def _replayed(self, batch: Batch) -> MetadataImage:
        if self._replayer is None:
            self._replayer = Replayer(self.state.image)
        self._replayer.replay(batch)
        return self._replayer.image()

    def _touch(self, batch: Batch) -> None:
        for row in batch.rows:
            record = row.payload
            if isinstance(record, ConfigRecord):  # the most frequent ones, without a call
                if record.resource_type == configs.GROUP:
                    self._groups.add(record.resource_name)
                continue
            touch = _TOUCHES.get(type(record))
            if touch is not None:
                touch(self, record)

    def _touch_changed(self, record: PartitionChangeRecord) -> None:
        if _changes_the_index(record):
            self._touched[record.topic_id].add(record.partition_id)

    def _touch_new(self, record: PartitionRecord) -> None:
        self._touched[record.topic_id].add(record.partition_id)

    def _touch_removed(self, record: RemovePartitionsRecord) -> None:
        self._touched[record.topic_id].update(record.partition_ids)

    def _touch_topic(self, record: TopicRecord | MoveTopicRecord) -> None:
        self._touched.setdefault(record.topic_id, set())

    def _touch_removed_topic(self, record: RemoveTopicRecord) -> None:
        removed = self.state.image.partitions(record.topic_id)
        self._touched[record.topic_id].update(partition.partition_id for partition in removed)


_TOUCHES: Mapping[type[Record], Callable[[Latest, Any], None]] = {
    PartitionChangeRecord: Latest._touch_changed,
    PartitionRecord: Latest._touch_new,
    RemovePartitionsRecord: Latest._touch_removed,
    TopicRecord: Latest._touch_topic,
    MoveTopicRecord: Latest._touch_topic,
    RemoveTopicRecord: Latest._touch_removed_topic,
}


def _changes_the_index(change: PartitionChangeRecord) -> bool:
    return (
        change.leader != LEADER_UNCHANGED
        or change.replicas is not None
        or change.adding_replicas is not None
        or change.removing_replicas is not None
    )
