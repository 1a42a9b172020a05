"""Reading a log without a lock and without writing, even while it is being written.

The log is a directory, or an archive in an object store, which is read by byte ranges.

A reader sees the log up to the commit mark at opening, and after it the blocks that are proven to
have been acknowledged. All of these bytes were on stable storage, so invalid bytes among them are
damage.
"""

import functools
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Self

from metadata_log.files.fs import ByteStore, OsFs, UrlPath, missing_as_unavailable, moved_up
from metadata_log.files.names import segment_name, segment_offsets
from metadata_log.format.base import find_base
from metadata_log.format.batch import Batch
from metadata_log.format.block import ReadBlock
from metadata_log.format.block_filter import BlockFilter
from metadata_log.format.checkpoint import Checkpoint
from metadata_log.format.commit_mark import CommitMark, read_mark
from metadata_log.format.manifest import Kind, read_manifest
from metadata_log.format.needles import Needles
from metadata_log.format.offset_index import IndexEntry
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import BlockPlace, ScanStart, SegmentFile, kept_segment
from metadata_log.format.segment_scan import SegmentScan, check_follows, check_identity, short_copy
from metadata_log.reader.block_search import BlockSearch
from metadata_log.reader.position import Position, position_at
from metadata_log.recovery.committed_end import find_end
from records.control import NoOpRunRecord
from records.errors import CorruptLogError, UnavailableError, UnknownHistoryError
from records.text import time_text

if TYPE_CHECKING:
    from records.kafka.tables import Tables


class LogReader:
    """Reads a log up to its commit mark.

    Attributes:
        directory: The log directory, or the path that represents a prefix of a bucket.
        kind: Whether the log is a mirror or assigns its own offsets.
        cluster_id: Id of the cluster whose metadata this is.
        mark: The commit mark at opening, advanced to the end proven by later blocks
            (committed_end.py).
        awaits_writer: True if complete blocks follow `end_offset`: a writer is writing them now; or
            it was cut off, and the next writer keeps them.
        blocks: Finds the block to start reading from.
        base: The checkpoint that the log starts from, or None if it starts at offset 0.
        start_offset: First offset that can be read.
        history_start: First offset above the base; the earliest image is as of the offset before.
        end_offset: Exclusive end of the log.
        confirmed_end: Exclusive end of the final part; in a mirror, Kafka may still replace offsets
            from here on.
    """

    def __init__(self, fs: ByteStore, directory: Path | str) -> None:
        # The path of an object is of a class of its own, which a copy would lose.
        directory = Path(directory) if isinstance(directory, str) else directory
        self.fs = fs
        self.directory = directory
        manifest = read_manifest(fs, directory)
        self.kind: Kind = manifest.kind
        self.cluster_id: str = manifest.cluster_id
        self._published = read_mark(fs, directory) if self.kind is Kind.MIRROR else None
        end = find_end(fs, directory, manifest)
        end.warn(directory)
        self.mark: CommitMark = end.mark
        self.awaits_writer: bool = end.has_more
        self.end_offset: int = self.mark.end_offset
        names = fs.list(directory)
        self._segments = [
            base for base in segment_offsets(names) if base <= self.mark.segment_offset
        ]
        if not self._segments:
            raise moved_up(directory / segment_name(self.mark.segment_offset))
        self.blocks = BlockSearch(fs, directory, self._segments, names)
        self.base: Checkpoint | None = find_base(
            fs, directory, self.cluster_id, names, self._segments
        )
        self.start_offset: int = self._segments[0]
        self.history_start: int = self.base.end_offset if self.base else self.start_offset
        self.confirmed_end: int = self.mark.confirmed_end

    @classmethod
    def open(cls, place: Path | str, *, fs: ByteStore | None = None) -> Self:
        """Open a log for reading.

        Args:
            place: A directory, or the `s3://bucket/prefix` of an archive or a backup. In an object
                store, all reads are of the file versions at the time of opening.
            fs: File system of the directory; None is this machine's file system.

        Raises:
            RequestError: there is no log, or it has a newer format.
            CorruptLogError: the log's manifest, mark, base checkpoint or last segment is damaged.
            UnavailableError: the log's start moved up meanwhile, or the log was removed.
        """
        if fs is None and isinstance(place, str) and "://" in place:
            from metadata_log.stores.store import open_store

            store = open_store(place)
            fs, directory = store.pinned(), store.directory
        else:
            directory = (Path(place) if isinstance(place, str) else place).absolute()
        with missing_as_unavailable(directory):
            return cls(fs or OsFs(), directory)

    def close(self) -> None:
        """Close the reader. Unfinished iterators close their own files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def local_directory(self) -> Path | None:
        """The log's directory on this machine; None if it is in an object store."""
        return None if isinstance(self.directory, UrlPath) else self.directory

    @functools.cached_property
    def tables(self) -> "Tables":
        """Field tables of record types that this release does not know; only a mirror has such
        tables.

        Raises:
            CorruptLogError: the table file is damaged.
        """
        from metadata_log.format.kraft_tables import kept_tables

        return kept_tables(self.fs, self.directory)

    def size_bytes(self) -> int:
        """Return the total size in bytes of all files in the log's directory."""
        return sum(self.file_sizes().values())

    def file_sizes(self) -> dict[str, int]:
        """Return the size in bytes of each file in the log's directory, by name.

        A path that is no regular file, such as a FIFO, has the size 0.
        """
        return {name: self._size(self.directory / name) for name in self.fs.list(self.directory)}

    def _size(self, path: Path) -> int:
        try:
            file = self.fs.open(path)
        except (FileNotFoundError, IsADirectoryError, CorruptLogError):
            return 0
        try:
            return file.size()
        finally:
            file.close()

    @property
    def segment_paths(self) -> list[Path]:
        """The paths of the committed segments, ascending; the last one is committed up to
        `mark.position`.
        """
        return [self.directory / segment_name(base) for base in self._segments]

    def header(self, path: Path | str) -> SegmentHeader:
        """Return a segment's header, checked."""
        with kept_segment(self.fs, Path(path) if isinstance(path, str) else path) as segment:
            return segment.header

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield the whole batches that have any offset in [from_offset, to_offset).

        One batch is in memory at a time.

        Raises:
            UnknownHistoryError: `from_offset` is before the kept history.
            CorruptLogError: damage; names file, byte, and the offset below which everything is
                intact.
        """
        first = self.start_offset if from_offset is None else from_offset
        end = self.end_offset if to_offset is None else min(to_offset, self.end_offset)
        if first < self.start_offset:
            raise UnknownHistoryError(
                f"offset {first} is not kept: history starts at {self.start_offset}"
            )
        if first < end:
            yield from self._read(self.blocks.at_offset(first), first, end)

    def placed_blocks(self, from_offset: int) -> Iterator[tuple[BlockPlace, ReadBlock]]:
        """Yield each block and its place, from the block that contains an offset on.

        Raises:
            CorruptLogError: damage; names file and byte.
        """
        if from_offset < self.end_offset:
            yield from self._placed(
                self.blocks.at_offset(from_offset), from_offset, self.end_offset
            )

    def skim(
        self, needles: Needles, to_offset: int | None = None, *, from_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield the batches that contain one of `needles` (bytes or types), and perhaps others.

        Only batches with an offset in [from_offset, to_offset) are yielded. Every block is read and
        checked, but only blocks that contain one of `needles` are decoded. Needles may be added
        between two batches.

        Raises:
            CorruptLogError: damage; names file and byte.
        """
        end = self.end_offset if to_offset is None else min(to_offset, self.end_offset)
        first = self.start_offset if from_offset is None else max(from_offset, self.start_offset)
        if first < end:
            # The header of the first segment has the CRC that an index entry lacks.
            is_start = first == self.start_offset
            start = IndexEntry(first, 0, None) if is_start else self.blocks.at_offset(first)
            yield from self._read(start, first, end, needles)

    def position(self, end_offset: int) -> Position:
        """Return the proof of position (offset, epoch, CRC) at `end_offset`.

        Args:
            end_offset: From the reader's `history_start` to its `end_offset`, inclusive.

        Raises:
            CorruptLogError: the log is damaged there.
        """
        return position_at(self, end_offset)

    def last_offset_at(self, timestamp: int) -> int:
        """Return the offset before the first record whose time is later than `timestamp` (ms).

        Every conversion of a time to an offset uses this rule, because times can go backwards in
        imported logs. If the time is inside a run of NoOps, of which only the first and the last
        time are kept, the result is the run's second offset, or `history_start` if that is higher;
        but always less than the run's last offset.

        Returns:
            At least history_start - 1, at most end_offset - 1.

        Raises:
            UnknownHistoryError: the time is before that of the base checkpoint.
        """
        if self.base and timestamp < self.base.timestamp:
            raise UnknownHistoryError(
                f"time {time_text(timestamp)} is unknown: "
                f"history starts at offset {self.history_start}, "
                f"time {time_text(self.base.timestamp)}"
            )
        for batch in self._read(self.blocks.at_time(timestamp), self.start_offset, self.end_offset):
            if batch.timestamp > timestamp:
                return max(batch.base_offset, self.history_start) - 1
            payload = batch.rows[-1].payload
            if isinstance(payload, NoOpRunRecord) and payload.last_timestamp > timestamp:
                return min(max(batch.rows[-1].offset + 1, self.history_start), batch.end_offset - 2)
        return self.end_offset - 1

    def first_offset_at(self, timestamp: int) -> int:
        """Return the offset of the first record at or after `timestamp` (ms); `end_offset` if there
        is none.

        If the time is inside a run of NoOps, the result is the offset that `last_offset_at`
        returns, so that a range of times inside the run has a record.

        Raises:
            UnknownHistoryError: as for `last_offset_at` just before the time.
        """
        last = self.last_offset_at(timestamp - 1)
        return last if self._is_between_two_times(last) else last + 1

    def _is_between_two_times(self, offset: int) -> bool:
        if self.kind is not Kind.MIRROR or offset < self.history_start:
            return False
        earliest, latest = next(self.batches(offset, offset + 1)).times_at(offset)
        return earliest < latest

    def end_timestamp(self) -> int | None:
        """Return the time of the last record, in ms since 1970; None for an empty log.

        Raises:
            CorruptLogError: the end of the log is damaged.
        """
        if self.start_offset == self.end_offset:
            return self.base.timestamp if self.base else None
        (last,) = deque(self.batches(self.end_offset - 1), maxlen=1)
        return last.times_at(self.end_offset - 1)[1]

    def latest_timestamp(self) -> int | None:
        """Return the latest time of any record, in ms since 1970; None for an empty log.

        Times can go backwards in a mirror, so this may be later than the last record's time. Never
        raises for damage.
        """
        latest = self.mark.max_timestamp
        if self.kind is Kind.MIRROR and self.local_directory is not None:
            # An earlier release noted only the first time of a run of NoOps.
            with suppress(CorruptLogError):
                latest = max(latest, self.end_timestamp() or 0)
        return latest or None

    def _read(
        self, entry: IndexEntry, first: int, end: int, needles: Needles | None = None
    ) -> Iterator[Batch]:
        """Yield batches from an indexed block at or before `first`, across segments."""
        for _, block in self._placed(entry, first, end, needles):
            for batch in block.batches:
                if batch.base_offset >= end:
                    return
                if batch.end_offset > first:
                    yield batch

    def _placed(
        self, entry: IndexEntry, first: int, end: int, needles: Needles | None = None
    ) -> Iterator[tuple[BlockPlace, ReadBlock]]:
        """Yield blocks with their places, from an indexed block at or before `first` on."""
        try:
            yield from self._segment_blocks(entry, first, end, needles)
        except CorruptLogError as error:
            if self._was_replaced():
                raise UnavailableError(
                    f"{self.directory}: the unconfirmed end of this mirror was replaced while it "
                    "was read; open it again"
                ) from error
            raise

    def _was_replaced(self) -> bool:
        """True if the end of this mirror may have been cut since the mirror was opened.

        A cut first publishes a mark of a new writer, then removes blocks. A reader opened between
        the two steps still reads those blocks, but with the new writer's mark.
        """
        published = self._published
        if published is None:
            return False
        mark = read_mark(self.fs, self.directory)
        is_past_mark = published.end_offset < self.end_offset
        has_moved = mark.sequence != published.sequence
        return mark.writer != published.writer or (is_past_mark and has_moved)

    def _segment_blocks(
        self, entry: IndexEntry, first: int, end: int, needles: Needles | None
    ) -> Iterator[tuple[BlockPlace, ReadBlock]]:
        previous: SegmentScan | None = None
        at = max(index for index, base in enumerate(self._segments) if base <= entry.offset)
        for base, following in zip_longest(self._segments[at:], self._segments[at + 1 :]):
            path = self.directory / segment_name(base)
            with kept_segment(self.fs, path) as segment:
                start = None
                if previous is None and entry.position:
                    start = ScanStart(entry.position, entry.offset)
                found = None if needles is None else self.blocks.filter_of(base)
                scan = self._scan(segment, following, previous, start, found)
                for block in scan.blocks(needles, end, from_offset=first):
                    if block.base_offset >= end:
                        return
                    if block.end_offset > first:
                        yield BlockPlace(base, block.position, block.end_position), block
                if scan.has_passed(end):
                    return
            if following is not None and scan.next_offset is not None and scan.next_offset >= end:
                return
            previous = scan
        self._check_last_block(previous)

    def _scan(
        self,
        segment: SegmentFile,
        following: int | None,
        previous: SegmentScan | None,
        start: ScanStart | None,
        block_filter: BlockFilter | None,
    ) -> SegmentScan:
        file, path = segment.file, segment.path
        check_identity(path, segment.header, self.cluster_id)
        if previous is not None:
            check_follows(path, segment.header, previous)
        # The file can be longer: a fenced writer may have written more after the end.
        if following is None:
            limit = self.mark.position
            if file.size() < limit:
                raise short_copy(path, file.size(), f"the commit mark says byte {limit}")
        else:
            # The bytes that exist can be read; the check of the next segment reports the rest.
            next_header = self.header(self.directory / segment_name(following))
            limit = min(next_header.previous_length, file.size())
        return segment.scan(limit, start, block_filter)

    def _check_last_block(self, scan: SegmentScan | None) -> None:
        if scan is None or scan.last_crc32c in (None, self.mark.last_crc32c):
            return
        raise scan.last_block_damage(f"the commit mark says 0x{self.mark.last_crc32c:08x}")
