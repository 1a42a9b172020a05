"""The log of one replica: segments in a folder, and the position of each batch.

Deliberately simple: every batch's position is kept in memory, nothing is cached, and segments are
never removed. A batch is written before it is acknowledged, but not synced: as in Kafka, the copies
on other brokers protect against the loss of a machine.

Methods that use the disk are called in threads, one at a time per log. The properties and
`epoch_end` only read memory and may be called at any time.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from api.broker.batch_places import (
    BatchPlace,
    EpochEnd,
    TimedOffset,
    end_offset_of,
    leader_epoch_of,
    produced_of,
    segment_base_of,
)
from api.broker.batch_times import first_at, greatest
from api.broker.batches import RawBatch, whole_batches
from api.broker.open_files import OpenFiles
from api.broker.producer_states import Produced, ProducerStates
from api.broker.segment_files import SegmentFiles, segment_bases
from records.errors import CorruptLogError, RequestError

SEGMENT_SIZE_BYTES_MAX = 64 * 1024 * 1024


class PartitionLog:
    """The log of one replica; it starts at offset 0."""

    def __init__(
        self,
        folder: Path,
        files: OpenFiles,
        segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
    ) -> None:
        """Start empty, for a folder without segments; otherwise use `PartitionLog.open`."""
        self._segments = SegmentFiles(folder, files)
        self._segment_size_bytes_max = segment_size_bytes_max
        self._lock = threading.Lock()
        # Appended to or replaced atomically, so that readers without the lock see consistent
        # states.
        self._places: list[BatchPlace] = []
        self._size_bytes = 0
        self._producers = ProducerStates()
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
        """Read the segments of a folder, and truncate a torn end of the last one.

        Raises:
            CorruptLogError: a segment is damaged before its end, or one is missing.
            OSError: a segment cannot be read.
        """
        log = cls(folder, files, segment_size_bytes_max)
        bases = segment_bases(folder)
        for base in bases:
            log._load(base, is_last=base == bases[-1])
        return log

    @property
    def folder(self) -> Path:
        """The folder of the segments."""
        return self._segments.folder

    @property
    def end_offset(self) -> int:
        """First offset not yet written; exclusive."""
        last = self._last
        return last.end_offset if last else 0

    @property
    def size_bytes(self) -> int:
        """Size of all batches on disk."""
        return self._size_bytes

    @property
    def last_epoch(self) -> int | None:
        """Leader epoch of the last batch, None if the log is empty."""
        last = self._last
        return last.leader_epoch if last else None

    @property
    def first_epoch(self) -> int | None:
        """Leader epoch of the first batch, None if the log is empty."""
        head = self._places[:1]
        return head[0].leader_epoch if head else None

    def append(self, batches: Iterable[RawBatch]) -> None:
        """Append batches that already carry the next offsets; all of them, or none.

        Raises:
            OSError: the disk failed.
        """
        with self._lock:
            self._append(batches)

    def append_stamped(self, batches: Sequence[RawBatch], leader_epoch: int) -> tuple[int, int]:
        """Assign the next offsets to batches and append them; all of them, or none.

        A batch that its producer has sent before is not written again.

        Returns:
            The offset of the first record, and the one after the last.

        Raises:
            RequestError: as `ProducerStates.written`, or INVALID_RECORD, several batches of a
                producer with an id; nothing was written.
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

    def read(self, offset: int, *, up_to: int, size_bytes_max: int) -> bytes:
        """Return whole batches from the one that holds `offset` on; at least one if there is any.

        Args:
            up_to: Exclusive; batches with this offset or later ones are left out.

        Raises:
            OSError: the disk failed.
        """
        with self._lock:
            chosen: list[BatchPlace] = []
            size = 0
            for place in self._places_from(offset, up_to):
                size += place.size
                if chosen and size > size_bytes_max:
                    break
                chosen.append(place)
            # The batches of one segment are contiguous.
            return b"".join(
                [self._read(list(places)) for _, places in groupby(chosen, segment_base_of)]
            )

    def truncate_to(self, offset: int) -> None:
        """Remove every batch with this offset or later ones.

        Raises:
            OSError: the disk failed.
        """
        with self._lock:
            keep = len(self._places)
            while keep and self._places[keep - 1].end_offset > offset:
                keep -= 1
            if keep < len(self._places):
                first_gone = self._places[keep]
                # A new list: readers without the lock keep the old one, which stays consistent.
                self._places = self._places[:keep]
                self._size_bytes = sum([place.size for place in self._places])
                self._producers = ProducerStates(filter(None, map(produced_of, self._places)))
                self._is_torn = True
                self._cut(first_gone.segment_base, first_gone.position)

    def epoch_end(self, leader_epoch: int) -> EpochEnd | None:
        """Return the highest epoch at or below `leader_epoch` and its end; None if there is none.

        Epochs without records do not count; the last epoch ends with the log.
        """
        places = self._places
        index = bisect_right(places, leader_epoch, key=leader_epoch_of)
        if index == 0:
            return None
        return EpochEnd(places[index - 1].leader_epoch, places[index - 1].end_offset)

    def first_at(self, timestamp: int, *, up_to: int) -> TimedOffset | None:
        """Return the first record below `up_to` whose time is at or after `timestamp`.

        Raises:
            CorruptLogError: the records of a batch cannot be read.
            OSError: the disk failed.
        """
        with self._lock:
            for place in self._places_from(0, up_to):
                if place.max_timestamp >= timestamp:
                    found = first_at(self._read([place]), timestamp)
                    # A client can send a header with a time that no record has.
                    if found is not None:
                        return TimedOffset.of(place, found)
        return None

    def greatest_timestamp(self, *, up_to: int) -> TimedOffset | None:
        """Return the first record below `up_to` that has the greatest time.

        Raises:
            CorruptLogError: the records of a batch cannot be read.
            OSError: the disk failed.
        """
        with self._lock:
            latest: BatchPlace | None = None
            for place in self._places_from(0, up_to):
                if latest is None or place.max_timestamp > latest.max_timestamp:
                    latest = place
            if latest is None:
                return None
            return TimedOffset.of(latest, greatest(self._read([latest])))

    def move(self, rename: Callable[[Path], Path]) -> None:
        """Rename the folder with `rename`, which returns its new path; open files stay valid.

        Raises:
            OSError: from `rename`; the folder then has its old name.
        """
        with self._lock:
            self._segments.folder = rename(self.folder)

    def close(self) -> None:
        """Sync everything and close the files.

        Raises:
            OSError: the disk failed; the files are closed all the same.
        """
        with self._lock:
            self._segments.close()

    @property
    def _last(self) -> BatchPlace | None:
        tail = self._places[-1:]
        return tail[0] if tail else None

    def _places_from(self, offset: int, up_to: int) -> Iterator[BatchPlace]:
        index = bisect_right(self._places, offset, key=end_offset_of)
        while index < len(self._places) and self._places[index].end_offset <= up_to:
            yield self._places[index]
            index += 1

    def _append(self, batches: Iterable[RawBatch]) -> None:
        base, position = self._tail()
        if self._is_torn:
            self._cut(base, position)
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
                self._cut(*self._tail())
            raise
        for place in written:
            self._know(place)
        self._is_torn = False

    def _know(self, place: BatchPlace) -> None:
        self._places.append(place)
        self._size_bytes += place.size
        if place.produced is not None:
            self._producers.add(place.produced)

    def _written(self, batches: Sequence[RawBatch]) -> Produced | None:
        """Return where the batch of an idempotent producer was written before; else None.

        Raises:
            RequestError: as `append_stamped`.
        """
        produced = list(filter(None, [Produced.of(batch.header) for batch in batches]))
        if produced and len(batches) > 1:
            raise RequestError(
                "INVALID_RECORD", f"{len(batches)} batches for a partition; Kafka takes one"
            )
        return self._producers.written(produced[0]) if produced else None

    def _tail(self) -> tuple[int, int]:
        """Return the segment of the last batch, and the byte after that batch."""
        last = self._last
        return (0, 0) if last is None else (last.segment_base, last.position + last.size)

    def _read(self, places: list[BatchPlace]) -> bytes:
        """Read contiguous batches."""
        first, last = places[0], places[-1]
        size = last.position + last.size - first.position
        return self._segments.read(first.segment_base, first.position, size)

    def _cut(self, base: int, position: int) -> None:
        self._segments.cut(base, position)
        self._is_torn = False

    def _load(self, base: int, *, is_last: bool) -> None:
        path = self._segments.path(base)
        if base != self.end_offset:
            raise CorruptLogError(f"{path}: offset {self.end_offset} is missing before it")
        self._segments.bases.append(base)
        position = 0
        try:
            for batch in whole_batches(path.read_bytes()):
                if batch.header.base_offset != self.end_offset:
                    raise CorruptLogError(
                        f"byte {position}: offset {batch.header.base_offset}, not {self.end_offset}"
                    )
                self._know(BatchPlace.of(batch, base, position))
                position += len(batch.data)
        except CorruptLogError as error:
            if not is_last:
                raise CorruptLogError(f"{path} {error}") from error
            # A torn batch was never the only acknowledged copy; the leader has it.
            self._cut(base, position)
        if is_last:
            # Also removes a segment that is empty now.
            self._cut(*self._tail())
