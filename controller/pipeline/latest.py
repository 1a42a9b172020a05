"""The latest state: the input of the next decision, ahead of the committed state.

Its index is updated, not made again: `IndexChanges` collects the parts that records may change.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from controller.decisions.context.cluster_index import ClusterIndex
from controller.decisions.context.lazy_index import LazyIndex
from controller.decisions.partitions.partition_change import LEADER_UNCHANGED
from controller.pipeline.prepared_batch import image_after
from controller.results.decided import Decided
from metadata_log.format.batch import Batch
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.partitions import PartitionChangeRecord, PartitionRecord, RemovePartitionsRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord, TopicRecord
from replay.image import configs
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import Replayer
from replay.transactions import MARKERS


class State(msgspec.Struct, frozen=True):
    """An image and the index derived from it."""

    image: MetadataImage
    lazy_index: LazyIndex

    @classmethod
    def of(cls, image: MetadataImage) -> "State":
        """Derive the index of an image: O(partitions)."""
        return cls(image, LazyIndex(image, ClusterIndex.of(image)))

    @classmethod
    def loaded(cls, image: MetadataImage) -> "State":
        """Return a state whose index is not made yet."""
        return cls(image, LazyIndex(image))

    @property
    def index(self) -> ClusterIndex:
        """The index of the image, as `LazyIndex.read`."""
        return self.lazy_index.read()

    def followed_by(self, image: MetadataImage, changes: "IndexChanges") -> "State":
        """Return the state with a later image; its index is made only if this one's is.

        Args:
            changes: All that the records between the two images may have changed.
        """
        if not self.lazy_index.is_made:
            return State.loaded(image)
        touched = changes.partition_ids
        if changes.are_isrs:
            index = self.index.with_isrs(self.image, image, touched)
        else:
            index = self.index.updated(self.image, image, touched, changes.groups)
        return State(image, LazyIndex(image, index))


class Latest:
    """Applies batches as soon as they are decided.

    `next_offset` is where the next batch will be written: the end of the log including all batches
    in flight. It is ahead of the image's own next offset while a transaction is open.
    """

    def __init__(self, state: State, next_offset: int) -> None:
        self.state = state
        self.next_offset = next_offset
        self.timestamp = state.image.provenance.timestamp
        # Only made when it is needed: None if the last batch was not applied by it.
        self._replayer: Replayer | None = Replayer(state.image, next_offset=next_offset)
        # What an open transaction changes, changes when it ends.
        self._changes = IndexChanges()

    def apply(self, batch: Batch) -> State:
        """Apply a batch and return the state after it.

        Raises:
            ContradictionError: a record contradicts the state before it; this `Latest` must not be
                used afterwards.
        """
        image = self._replayed(batch)
        return self._moved(batch, (row.payload for row in batch.rows), image)

    def advance(self, batch: Decided) -> State:
        """Apply a batch that is not written yet, and return the state after it.

        Raises:
            ContradictionError: as `apply`.
        """
        image, after = self.state.image, batch.after
        if image.provenance.pending_transaction is not None:
            return self.apply(batch.as_read)
        if after is None:
            if batch.types & MARKERS:
                return self.apply(batch.as_read)
            after = image_after(image, batch)
        self._replayer = None
        return self._moved(batch, batch.records, after)

    def move_to(self, batch: Decided, state: State | None) -> State:
        """Move behind a batch of a transaction whose records are in a known state already.

        Args:
            state: The state after the transaction, if the batch ends it; its image's position does
                not count. None: the batch begins or continues it.

        Returns:
            The state after the batch, as `advance` returns it.
        """
        self._replayer = None
        self.next_offset, self.timestamp = batch.end_offset, batch.timestamp
        before = self.state.image.provenance
        if state is None:
            begun = before.pending_transaction
            begin_offset = batch.base_offset if begun is None else begun
            provenance = replace(before, pending_transaction=begin_offset)
            state = self.state
        else:
            provenance = Provenance(
                offset=batch.end_offset - 1,
                leader_epoch=batch.leader_epoch,
                timestamp=batch.timestamp,
                not_understood=state.image.provenance.not_understood,
            )
        self.state = State(replace(state.image, provenance=provenance), state.lazy_index)
        return self.state

    def _moved(
        self, batch: Batch | Decided, records: Iterable[Record], image: MetadataImage
    ) -> State:
        self.next_offset = batch.end_offset
        self.timestamp = batch.timestamp
        self._changes.add(records)
        if image.provenance.offset == self.state.image.provenance.offset:
            # A transaction is open: what it changes takes effect when it ends.
            self.state = State(image, self.state.lazy_index)
            return self.state
        self.state = self.state.followed_by(image, self._changes)
        if image.provenance.pending_transaction is None:
            self._changes.clear()
        return self.state

    def _replayed(self, batch: Batch) -> MetadataImage:
        if self._replayer is None:
            self._replayer = Replayer(self.state.image)
        self._replayer.replay(batch)
        return self._replayer.image()


class IndexChanges:
    """Topics, each with some of its partitions, and consumer groups that records may change.

    Attributes:
        partition_ids: The ids of the partitions, by topic.
        groups: The names of the consumer groups.
        are_isrs: True if ISRs change, and nothing else that the index contains.
    """

    def __init__(self) -> None:
        self.partition_ids: defaultdict[Uuid, set[int]] = defaultdict(set)
        self.groups: set[str] = set()
        self._has_isrs = self._has_others = False

    @property
    def are_isrs(self) -> bool:
        return self._has_isrs and not self._has_others

    def add(self, records: Iterable[Record]) -> None:
        """Add the partitions and consumer groups that records may change.

        Of a new or removed topic no partition need be added: the index updates all of them.
        """
        for record in records:
            if isinstance(record, ConfigRecord):  # the most frequent ones, without a call
                if record.resource_type == configs.GROUP:
                    self.groups.add(record.resource_name)
                    self._has_others = True
                continue
            add = _ADD.get(type(record))
            if add is not None:
                add(self, record)

    def clear(self) -> None:
        """Forget everything that was added."""
        self.partition_ids.clear()
        self.groups.clear()
        self._has_isrs = self._has_others = False

    def _add_changed(self, record: PartitionChangeRecord) -> None:
        if _changes_more_than_the_isr(record):
            self._has_others = True
        elif record.isr is not None:
            self._has_isrs = True
        else:
            return
        self.partition_ids[record.topic_id].add(record.partition_id)

    def _add_new(self, record: PartitionRecord) -> None:
        self._has_others = True
        self.partition_ids[record.topic_id].add(record.partition_id)

    def _add_removed(self, record: RemovePartitionsRecord) -> None:
        self._has_others = True
        self.partition_ids[record.topic_id].update(record.partition_ids)

    def _add_topic(self, record: TopicRecord | MoveTopicRecord | RemoveTopicRecord) -> None:
        self._has_others = True
        self.partition_ids.setdefault(record.topic_id, set())


_ADD: Mapping[type[Record], Callable[[IndexChanges, Any], None]] = {
    PartitionChangeRecord: IndexChanges._add_changed,
    PartitionRecord: IndexChanges._add_new,
    RemovePartitionsRecord: IndexChanges._add_removed,
    TopicRecord: IndexChanges._add_topic,
    MoveTopicRecord: IndexChanges._add_topic,
    RemoveTopicRecord: IndexChanges._add_topic,
}


def _changes_more_than_the_isr(change: PartitionChangeRecord) -> bool:
    return (
        change.leader != LEADER_UNCHANGED
        or change.replicas is not None
        or change.adding_replicas is not None
        or change.removing_replicas is not None
    )
