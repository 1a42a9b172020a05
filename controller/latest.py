"""The state that the next decision starts from: ahead of what is committed."""

from collections.abc import Iterable

import msgspec

from controller.decisions.cluster_index import ClusterIndex
from controller.decisions.partition_change import LEADER_UNCHANGED
from metadata_log.batch import Batch
from records.base import Uuid
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord, PartitionRecord, RemovePartitionsRecord
from records.topics import MoveTopicRecord, RemoveTopicRecord, TopicRecord
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

    `next_offset` is where the next batch will be written: the end of the log with all that is on
    its way. It exceeds the image's while a transaction is open.
    """

    def __init__(self, state: State, next_offset: int) -> None:
        self.state = state
        self.next_offset = next_offset
        self.timestamp = state.image.provenance.timestamp
        self._replayer = Replayer(state.image, next_offset=next_offset)
        # Topics that records spoke of; those of an open transaction change when it ends.
        self._touched: set[Uuid] = set()

    def apply(self, batch: Batch) -> State:
        """Take a batch in and return the state after it.

        Raises:
            CorruptLogError: a record contradicts the state before it; the object is worth nothing
                afterwards.
        """
        self._replayer.replay(batch)
        self.next_offset = batch.end_offset
        self.timestamp = batch.timestamp
        self._touched.update(_touched_topics(batch.rows))
        image = self._replayer.image()
        index = self.state.index.updated(self.state.image, image, self._touched)
        if image.provenance.pending_transaction is None:
            self._touched.clear()
        self.state = State(image, index)
        return self.state


def _touched_topics(rows: Iterable[Envelope]) -> set[Uuid]:
    """Return the topics whose entries in the index the records may change."""
    touched = set()
    for row in rows:
        record = row.payload
        if isinstance(record, _TOPIC_RECORDS) or (
            isinstance(record, PartitionChangeRecord) and _changes_the_index(record)
        ):
            touched.add(record.topic_id)
    return touched


def _changes_the_index(change: PartitionChangeRecord) -> bool:
    return (
        change.leader != LEADER_UNCHANGED
        or change.replicas is not None
        or change.adding_replicas is not None
        or change.removing_replicas is not None
    )


_TOPIC_RECORDS = (
    PartitionRecord,
    TopicRecord,
    RemoveTopicRecord,
    MoveTopicRecord,
    RemovePartitionsRecord,
)
