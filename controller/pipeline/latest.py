"""The latest state: the input of the next decision, ahead of the committed state."""

from collections.abc import Iterable

import msgspec

from controller.decisions.context.cluster_index import ClusterIndex
from controller.pipeline.index_changes import IndexChanges
from controller.pipeline.prepared_batch import image_after
from controller.results.decided import Decided
from metadata_log.format.batch import Batch
from records.base import Record
from replay.image.metadata import MetadataImage
from replay.loader import Replayer
from replay.transactions import MARKERS


class State(msgspec.Struct, frozen=True):
    """An image and the index derived from it."""

    image: MetadataImage
    index: ClusterIndex

    @classmethod
    def of(cls, image: MetadataImage) -> "State":
        """Derive the index of an image: O(partitions)."""
        return cls(image, ClusterIndex.of(image))

    def followed_by(self, image: MetadataImage, changes: IndexChanges) -> "State":
        """Return the state with a later image.

        Args:
            changes: All that the records between the two images may have changed.
        """
        partition_ids, groups = changes.partition_ids, changes.groups
        return State(image, self.index.updated(self.image, image, partition_ids, groups))


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
        """Do the same as `apply` for a batch that is not written yet.

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

    def _moved(
        self, batch: Batch | Decided, records: Iterable[Record], image: MetadataImage
    ) -> State:
        self.next_offset = batch.end_offset
        self.timestamp = batch.timestamp
        self._changes.add(records, self.state.image)
        self.state = self.state.followed_by(image, self._changes)
        if image.provenance.pending_transaction is None:
            self._changes.clear()
        return self.state

    def _replayed(self, batch: Batch) -> MetadataImage:
        if self._replayer is None:
            self._replayer = Replayer(self.state.image)
        self._replayer.replay(batch)
        return self._replayer.image()
