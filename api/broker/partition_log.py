"""The log of one replica: segments in a folder, and the position of each batch.

Deliberately simple: every batch's position is kept in memory, and no records are cached. A batch is
written before it is acknowledged, but not synced: as in Kafka, the replicas on other brokers
protect against the loss of a machine.

Records at the start of the log are removed only by DeleteRecords: first the new start is synced,
then the segments that lie entirely below the new start are removed. As in Kafka, the last segment
is never removed, so that the log's last leader epochs and producers stay known.

Methods that use the disk are called in threads, one at a time per log. The properties and
`epoch_end` only read memory and may be called at any time.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from api.broker.batch_places import (
    BatchPlace,
    EpochEnd,
    TimedOffset,
    segment_base_of,
)
from api.broker.batch_times import first_at, greatest
from api.broker.batches import RawBatch, whole_batches
from api.broker.log_start import read_log_start, write_log_start
from api.broker.open_files import OpenFiles
from api.broker.placed_batches import PlacedBatches
from api.broker.producer_states import Produced
from api.broker.segment_files import SegmentFiles, segment_bases
from records.errors import CorruptLogError, RequestError

SEGMENT_SIZE_BYTES_MAX = 64 * 1024 * 1024

_NO_SEGMENT = -1
"""Stands for the segment before the first one: cutting after it removes all segments."""


class PartitionLog:
    """The log of one replica.

    Attributes:
        start_offset: The first offset that may be read, which may lie within a batch. It is on
            stable storage and never above `end_offset`.
        truncations: Number of times that records were removed from the end of the log since the
            process started.
    """

    def __init__(
        self,
        folder: Path,
        files: OpenFiles,
        segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
    ) -> None:
        """Create an empty log in a folder without segments; `open` reads an existing log."""
        self._segments = SegmentFiles(folder, files)
        self._segment_size_bytes_max = segment_size_bytes_max
        self._lock = threading.Lock()
        self._batches = PlacedBatches()
        self.start_offset = 0
        self.truncations = 0
        # A failed append may have left bytes after the last batch.
        self._is_torn = False

    @classmethod
    def open(
        cls,
        folder: Path,
        files: OpenFiles,
        *,
        segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
    ) -> "PartitionLog":
        """Open the log in a folder, and truncate an incomplete batch at its end.

        Raises:
            CorruptLogError: a segment is damaged before its end, a segment is missing, or the log's
                start offset cannot be read.
            OSError: a segment cannot be read.
        """
        log = cls(folder, files, segment_size_bytes_max)
        log._load()
        return log

    @property
    def folder(self) -> Path:
        """The folder of the segments."""
        return self._segments.folder

    @property
    def end_offset(self) -> int:
        """The offset after the last record; the next record gets this offset."""
        last = self._batches.last
        return last.end_offset if last else self.start_offset

    @property
    def size_bytes(self) -> int:
        """Size of all batches on disk."""
        return self._batches.size_bytes

    @property
    def last_epoch(self) -> int | None:
        """Leader epoch of the last batch, None if the log is empty."""
        last = self._batches.last
        return last.leader_epoch if last else None

    @property
    def first_epoch(self) -> int | None:
        """Leader epoch at the log's start, None if the log is empty."""
        return self._batches.epoch_at(self.start_offset)

    def append(self, batches: Iterable[RawBatch]) -> None:
        """Append batches that continue the log's offsets; on failure, none of them is appended.

        Raises:
            OSError: the disk failed.
        """
        with self._lock:
            self._append(batches)

    def append_stamped(self, batches: Sequence[RawBatch], leader_epoch: int) -> tuple[int, int]:
        """Assign the next offsets to batches and append them; on failure, none of them is appended.

        A batch that its producer has sent before is not written again.

        Returns:
            The offset of the first record, and the offset after the last record; for a repeated
            batch, the offsets of its first write.

        Raises:
            RequestError: as `ProducerStates.written`; or INVALID_RECORD, an idempotent producer
                sent several batches; nothing was written.
            OSError: the disk failed.
        """
        with self._lock:
            again = self._written(batches)
            if again is not None:
                return again.base_offset, again.end_offset
            first = offset = self.end_offset
            stamped = []
            for batch in batches:
                stamped.append(batch.stamped(offset, leader_epoch))
                offset += batch.record_count
            self._append(stamped)
            return first, offset

    def time_of(self, offset: int) -> int:
        """Return the greatest time of the batch that contains `offset`, in ms since 1970.

        -1 if the log has no such batch.
        """
        place = next(self._batches.between(offset, self.end_offset), None)
        return -1 if place is None else place.max_timestamp

    def read(self, offset: int, *, up_to: int, size_bytes_max: int) -> bytes:
        """Return complete batches, starting with the batch that contains `offset`.

        The first batch is returned even if it is larger than `size_bytes_max`. The result is empty
        if no batch at or after `offset` ends at or below `up_to`.

        Args:
            up_to: Exclusive; batches that end above this offset are left out.

        Raises:
            OSError: the disk failed.
        """
        with self._lock:
            chosen: list[BatchPlace] = []
            size = 0
            for place in self._batches.between(max(offset, self.start_offset), up_to):
                size += place.size
                if chosen and size > size_bytes_max:
                    break
                chosen.append(place)
            # The batches of one segment are contiguous.
            return b"".join(
                [self._read(list(places)) for _, places in groupby(chosen, segment_base_of)]
            )

    def truncate_to(self, offset: int) -> None:
        """Remove every batch that contains this offset or a later one.

        Raises:
            OSError: the disk failed.
        """
        with self._lock:
            cut = self._batches.cut_at(offset)
            if cut is not None:
                self.truncations += 1
                kept, first_gone = cut
                if first_gone.base_offset < self.start_offset:
                    self._set_start(first_gone.base_offset)
                self._batches = kept
                self._is_torn = True
                self._cut(first_gone.segment_base, first_gone.position)

    def delete_before(self, offset: int) -> None:
        """Move the log's start to `offset`, and remove all segments below that offset.

        `offset` must not be above the log's end. If the log already starts at `offset` or later,
        nothing is done.

        Raises:
            OSError: the disk failed. If segments below the start remain, the next deletion removes
                them.
        """
        with self._lock:
            assert offset <= self.end_offset, "only what is written can be deleted"
            if offset > self.start_offset:
                self._set_start(offset)
                oldest = max(base for base in self._segments.bases if base <= offset)
                self._batches = self._batches.without_segments_before(oldest)
                self._segments.remove_before(oldest)

    def restart_at(self, offset: int) -> None:
        """Remove all batches; the empty log then starts at `offset`.

        Raises:
            OSError: the disk failed.
        """
        with self._lock:
            self.truncations += 1
            self._set_start(offset)
            self._batches = PlacedBatches()
            self._is_torn = True
            self._cut_behind_tail()

    def epoch_end(self, leader_epoch: int) -> EpochEnd | None:
        """Return the highest epoch at or below `leader_epoch` that has records, and its end.

        None if there is no such epoch. The last epoch's end is the log's end.
        """
        return self._batches.epoch_end(leader_epoch)

    def first_at(self, timestamp: int, *, up_to: int) -> TimedOffset | None:
        """Return the first record below `up_to` whose time is at or after `timestamp`, or None.

        Raises:
            CorruptLogError: the records of a batch cannot be read.
            OSError: the disk failed.
        """
        with self._lock:
            for place in self._batches.between(self.start_offset, up_to):
                if place.max_timestamp >= timestamp:
                    found = first_at(
                        self._read([place]), timestamp, first_delta=self._first_delta(place)
                    )
                    # A client can send a header with a time that no record has.
                    if found is not None:
                        return TimedOffset.of(place, found)
        return None

    def greatest_timestamp(self, *, up_to: int) -> TimedOffset | None:
        """Return the first record below `up_to` with the greatest time; None if there is no record.

        Raises:
            CorruptLogError: the records of a batch cannot be read.
            OSError: the disk failed.
        """
        with self._lock:
            latest: BatchPlace | None = None
            for place in self._batches.between(self.start_offset, up_to):
                if latest is None or place.max_timestamp > latest.max_timestamp:
                    latest = place
            if latest is None:
                return None
            found = greatest(self._read([latest]), first_delta=self._first_delta(latest))
            return TimedOffset.of(latest, found)

    def move(self, rename: Callable[[Path], Path]) -> None:
        """Rename the folder with `rename`, which returns its new path; open files stay valid.

        Raises:
            OSError: raised by `rename`; the folder then keeps its name.
        """
        with self._lock:
            self._segments.folder = rename(self.folder)

    def close(self) -> None:
        """Sync all written records and close the files.

        Raises:
            OSError: the disk failed; the files are closed nevertheless.
        """
        with self._lock:
            self._segments.close()

    def _append(self, batches: Iterable[RawBatch]) -> None:
        if self._is_torn:
            self._cut_behind_tail()
        base, position = self._tail()
        written: list[BatchPlace] = []
        end_offset, self._is_torn = self.end_offset, True
        try:
            for batch in batches:
                assert batch.header.base_offset == end_offset, "batches follow each other"
                if position and position + len(batch.data) > self._segment_size_bytes_max:
                    base, position = end_offset, 0
                self._segments.write(base, position, batch.data)
                written.append(BatchPlace.of(batch, base, position))
                position += len(batch.data)
                end_offset = batch.header.end_offset
        except OSError:
            # If this fails too, the next append retries it first.
            with suppress(OSError):
                self._cut_behind_tail()
            raise
        for place in written:
            self._batches.add(place)
        self._is_torn = False

    def _written(self, batches: Sequence[RawBatch]) -> Produced | None:
        """Return the earlier write of a batch, if an idempotent producer repeats it; else None.

        Raises:
            RequestError: as `append_stamped`.
        """
        produced = list(filter(None, [Produced.of(batch.header) for batch in batches]))
        if produced and len(batches) > 1:
            raise RequestError(
                "INVALID_RECORD",
                f"the request has {len(batches)} batches for one partition; an idempotent "
                "producer may send only one",
            )
        return self._batches.producers.written(produced[0]) if produced else None

    def _tail(self) -> tuple[int, int]:
        """Return the last batch's end: the base offset of its segment, and the byte position."""
        last = self._batches.last
        if last is None:
            return self.start_offset, 0
        return last.segment_base, last.position + last.size

    def _read(self, places: list[BatchPlace]) -> bytes:
        """Read consecutive batches of one segment."""
        first, last = places[0], places[-1]
        size = last.position + last.size - first.position
        return self._segments.read(first.segment_base, first.position, size)

    def _first_delta(self, place: BatchPlace) -> int:
        """Return the offset delta of the batch's first record that has not been deleted."""
        return max(self.start_offset - place.base_offset, 0)

    def _cut_behind_tail(self) -> None:
        if self._batches.last is None:
            self._cut(_NO_SEGMENT, 0)
        else:
            self._cut(*self._tail())

    def _cut(self, base: int, position: int) -> None:
        self._segments.cut(base, position)
        self._is_torn = False

    def _set_start(self, offset: int) -> None:
        write_log_start(self.folder, offset)
        self.start_offset = offset

    def _load(self) -> None:
        self.start_offset = read_log_start(self.folder)
        bases = segment_bases(self.folder)
        expected = min([*bases[:1], self.start_offset])
        for base in bases:
            expected = self._load_segment(base, expected, is_last=base == bases[-1])
        last = self._batches.last
        if last is None or last.end_offset < self.start_offset:
            # The deletion was synced, but the records before and after it were not.
            self._batches = PlacedBatches()
        # Also removes a segment that is empty now.
        self._cut_behind_tail()

    def _load_segment(self, base: int, expected: int, *, is_last: bool) -> int:
        """Load a segment, whose base offset must be `expected`; return the offset after its end."""
        path = self._segments.path(base)
        if base != expected:
            raise CorruptLogError(f"{path}: offset {expected} is missing before this segment")
        self._segments.bases.append(base)
        position = 0
        try:
            for batch in whole_batches(path.read_bytes()):
                if batch.header.base_offset != expected:
                    raise CorruptLogError(
                        f"byte {position}: found offset {batch.header.base_offset}, not {expected}"
                    )
                self._batches.add(BatchPlace.of(batch, base, position))
                position += len(batch.data)
                expected = batch.header.end_offset
        except CorruptLogError as error:
            if not is_last:
                raise CorruptLogError(f"{path} {error}") from error
            # A torn batch was never the only acknowledged copy; the leader has it.
            self._cut(base, position)
        return expected
