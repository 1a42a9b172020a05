"""Where in the log each partition was created.

A partition id that was removed and comes back has the same topic id, so a replica that was down
meanwhile tells old data from new by this offset alone. It is not part of the image: it says where
a record stands, not what it means. Derived from the log, 8 bytes a partition.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator

from metadata_log.batch import Batch
from records.base import Record, Uuid
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.partitions import PartitionRecord, RemovePartitionsRecord
from records.topics import RemoveTopicRecord
from replay.loader import BaseState, BatchSource

UNKNOWN = -1
"""The partition was created before the kept history began."""


class PartitionCreations:
    """Follows a log batch by batch."""

    def __init__(self) -> None:
        self._offsets: dict[Uuid, array[int]] = {}
        # Records of an open transaction, which count only if it ends well.
        self._open: list[tuple[int, Record]] | None = None

    def offset(self, topic_id: Uuid, partition_id: int) -> int:
        """Return the offset of the record that created a partition, UNKNOWN if it is not kept."""
        offsets = self._offsets.get(topic_id, ())
        return offsets[partition_id] if partition_id < len(offsets) else UNKNOWN

    def replay(self, batch: Batch) -> None:
        """Take a batch in."""
        for row in batch.rows:
            match row.payload, self._open:
                case BeginTransactionRecord(), _:
                    self._open = []
                case EndTransactionRecord(), list(rows):
                    self._open = None
                    for offset, record in rows:
                        self._take(offset, record)
                case AbortTransactionRecord(), _:
                    self._open = None
                case record, list(rows):
                    rows.append((row.offset, record))
                case record, None:
                    self._take(row.offset, record)

    def _take(self, offset: int, record: Record) -> None:
        match record:
            case PartitionRecord(topic_id=topic_id, partition_id=partition_id):
                offsets = self._offsets.setdefault(topic_id, array("q"))
                missing = partition_id + 1 - len(offsets)
                offsets.extend([UNKNOWN] * missing)
                offsets[partition_id] = offset
            case RemovePartitionsRecord(topic_id=topic_id, partition_ids=ids):
                known = self._offsets.get(topic_id, array("q"))
                for partition_id in ids:
                    if partition_id < len(known):
                        known[partition_id] = UNKNOWN
            case RemoveTopicRecord(topic_id=topic_id):
                self._offsets.pop(topic_id, None)


class Observed:
    """A log whose batches somebody else sees too, as they are read."""

    def __init__(self, source: BatchSource, observe: Callable[[Batch], None]) -> None:
        self._source = source
        self._observe = observe

    @property
    def start_offset(self) -> int:
        """As of the log."""
        return self._source.start_offset

    @property
    def base(self) -> BaseState | None:
        """As of the log."""
        return self._source.base

    @property
    def history_start(self) -> int:
        """As of the log."""
        return self._source.history_start

    @property
    def end_offset(self) -> int:
        """As of the log."""
        return self._source.end_offset

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterable[Batch]:
        """Yield the batches of the log, each seen before it is given away."""
        return self._observed(self._source.batches(from_offset, to_offset))

    def _observed(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self._observe(batch)
            yield batch
