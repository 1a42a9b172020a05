"""A cursor over a live log: each read returns the batches committed since the previous read.

A cursor reads only new bytes: the commit mark, the header of its current segment, and the blocks up
to the mark. It keeps no file open, so it can be dropped at any time, even while another thread
reads with it.

A file can be replaced by another of the same name in two ways. A new writer replaces an empty
segment; so the cursor remembers nothing of a segment until it has read a committed block of it. And
a directory can be restored to an older state of the log; then the commit mark is older than the
mark that the cursor read last.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from metadata_log.files.fs import File, Fs, OsFs, missing_as_unavailable
from metadata_log.files.names import COMMIT_MARK, segment_name, segment_offsets
from metadata_log.format.batch import Batch
from metadata_log.format.block import ReadBlock
from metadata_log.format.commit_mark import CommitMark, read_mark, read_marks
from metadata_log.format.manifest import Kind, read_manifest
from metadata_log.format.segment_file import ScanStart, SegmentFile
from metadata_log.format.segment_scan import SegmentScan, check_follows, corrupt
from metadata_log.limits import FOLLOW_READ_RECORDS
from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import crc_before
from records.errors import CorruptLogError, RequestError, UnavailableError, UnknownHistoryError

# The two slots of a mark are not read atomically. A writer can replace both in between, so that
# an older mark looks like the newest. A second read clears that up.
_MARK_READS = 3


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place where the next block begins.

    `position` is None before a segment's first block. `last_crc32c` is the CRC of the block before,
    None if that block was not read. `previous` is the scan that read the preceding segment to its
    end, None if that segment was not read.
    """

    segment_offset: int
    position: int | None = None
    next_offset: int
    last_crc32c: int | None = None
    previous: SegmentScan | None = None


class LogCursor:
    """Reads a log forward up to its commit mark; later reads continue there. Takes no lock."""

    def __init__(
        self, directory: Path, from_offset: int | None = None, *, fs: Fs | None = None
    ) -> None:
        """Start at the batch that contains `from_offset`; None means the first batch kept.

        Raises:
            RequestError: the directory is not a log; or OFFSET_OUT_OF_RANGE: the offset is past the
                log's end.
            UnknownHistoryError: the offset is before the kept history.
            CorruptLogError: the log is damaged in a part that is read on opening.
        """
        self._fs = fs or OsFs()
        self._directory = directory.absolute()
        self._kind = read_manifest(self._fs, self._directory).kind
        # Read before the reader's mark, which may be newer: a mark below this one means that the
        # log went back.
        self._mark = read_mark(self._fs, self._directory)
        with LogReader.open(directory, fs=self._fs) as reader:
            first = reader.start_offset if from_offset is None else from_offset
            if first < reader.start_offset:
                raise _not_kept(first, reader.start_offset)
            if first > reader.end_offset:
                raise RequestError(
                    "OFFSET_OUT_OF_RANGE",
                    f"offset {first} is past the end: the log ends at {reader.end_offset} "
                    "(exclusive)",
                )
            self._cluster_id = reader.cluster_id
            self._first = first
            self._end = reader.mark
            self._place = _place_of(reader, first)

    def read(self, records_max: int = FOLLOW_READ_RECORDS) -> list[Batch]:
        """Return the next committed batches; an empty list if all were read.

        Stops after the block that reaches `records_max`.

        Raises:
            RequestError: OFFSET_OUT_OF_RANGE, the log's end went back: the log was restored, or the
                unconfirmed end of a mirror was replaced.
            UnknownHistoryError: the log's start has moved past the cursor.
            UnavailableError: the log was removed.
            CorruptLogError: damage; names file, byte and offset.
        """
        place = self._place
        try:
            with missing_as_unavailable(self._directory):
                return self._next_batches(records_max)
        except BaseException as error:
            # Batches read before the error were not returned: the next call must read them again.
            self._place = place
            if isinstance(error, CorruptLogError) and self._may_have_been_cut():
                return self.read(records_max)
            raise

    def _may_have_been_cut(self) -> bool:
        """True if the log is a mirror that another writer took over since the mark was read."""
        mark = read_mark(self._fs, self._directory)
        return self._kind is Kind.MIRROR and mark.writer != self._mark.writer

    def _next_batches(self, records_max: int) -> list[Batch]:
        found: list[Batch] = []
        records = 0
        for block in self._new_blocks():
            # Reading may have started before the requested batch.
            found += [batch for batch in block.batches if batch.end_offset > self._first]
            records += len(block.rows)
            if found and records >= records_max:
                break
        return found

    def _new_blocks(self) -> Iterator[ReadBlock]:
        mark = self._newest_mark()
        if self._kind is Kind.MIRROR and mark.writer != self._mark.writer:
            self._end = mark
        self._mark = mark
        # After a machine crash, blocks past the mark can be proven to be committed.
        end = self._end = max(self._end, self._mark, key=lambda mark: mark.end_offset)
        while self._place.next_offset < end.end_offset:
            yield from self._rest_of_segment(end)

    def _newest_mark(self) -> CommitMark:
        last = self._mark
        for _ in range(_MARK_READS):
            if not self._fs.exists(self._directory / COMMIT_MARK):
                raise UnavailableError(
                    f"{self._directory} vanished while it was followed; open it again later"
                )
            marks = read_marks(self._fs, self._directory)
            mark = marks.newest
            if mark.sequence >= last.sequence and mark.end_offset >= last.end_offset:
                self._check_history(mark)
                return mark
            if marks.damaged_byte is not None and mark.writer == last.writer:
                return last  # the newest mark was torn after it was read
        raise self._went_back(f"from offset {last.end_offset} to {mark.end_offset}")

    def _check_history(self, mark: CommitMark) -> None:
        """Check that a mirror with a new writer still has the block that was read last."""
        place = self._place
        is_same_writer = self._kind is Kind.OWN or mark.writer == self._mark.writer
        if is_same_writer or place.last_crc32c is None:
            return
        with LogReader.open(self._directory, fs=self._fs) as reader:
            end = reader.end_offset
            if place.next_offset > end or crc_before(reader, place.next_offset) != (
                place.last_crc32c
            ):
                raise self._went_back(f"to before offset {place.next_offset}")

    def _went_back(self, where: str) -> RequestError:
        with LogReader.open(self._directory, fs=self._fs) as reader:
            if self._place.next_offset < reader.start_offset:
                # A mirror goes on after a gap, in another directory of the same name.
                return _not_kept(self._place.next_offset, reader.start_offset)
        return RequestError(
            "OFFSET_OUT_OF_RANGE",
            f"{self._directory} went back {where} while it was followed: the log "
            "was restored, or the unconfirmed end of a mirror was replaced; "
            "what was read may no longer hold, so start anew",
        )

    def _rest_of_segment(self, end: CommitMark) -> Iterator[ReadBlock]:
        """Yield the committed blocks of the current segment, and advance."""
        segment = self._place.segment_offset
        path = self._directory / segment_name(segment)
        is_last = segment == end.segment_offset
        # Look for the next segment before opening this one: segments are removed oldest first, so
        # if this one still exists, its successor did too.
        limit = end.position if is_last else self._length(segment, end)
        file = self._open(path)
        try:
            scan = self._scan(SegmentFile.of(file, path), limit)
            for block in scan.blocks():
                self._place = _Place(
                    segment_offset=segment,
                    position=scan.position,
                    next_offset=block.end_offset,
                    last_crc32c=scan.last_crc32c,
                )
                yield block
        finally:
            file.close()
        if is_last:
            _check_end(scan, end)
        else:
            self._go_to_next_segment(scan)

    def _length(self, segment: int, end: CommitMark) -> int:
        """Return the length of a segment before the last one, from the next segment's header.

        The file can be longer: a fenced writer may have written to it after the next segment began.
        """
        bases = segment_offsets(self._fs.list(self._directory))
        following = min((base for base in bases if base > segment), default=end.segment_offset)
        path = self._directory / segment_name(following)
        file = self._open(path)
        try:
            return SegmentFile.of(file, path).header.previous_length
        finally:
            file.close()

    def _scan(self, segment: SegmentFile, limit: int) -> SegmentScan:
        place, path, header = self._place, segment.path, segment.header
        if (header.base_offset, header.cluster_id) != (place.segment_offset, self._cluster_id):
            raise corrupt(
                path,
                0,
                f"the header is that of offset {header.base_offset} of cluster "
                f"{header.cluster_id!r}, expected cluster {self._cluster_id!r}",
            )
        if place.previous is not None:
            check_follows(path, header, place.previous)
        if place.position is None:
            return segment.scan(limit)
        start = ScanStart(place.position, place.next_offset, place.last_crc32c)
        return segment.scan(limit, start)

    def _go_to_next_segment(self, scan: SegmentScan) -> None:
        assert scan.next_offset is not None
        if scan.next_offset == self._place.segment_offset:
            raise corrupt(
                scan.path, scan.position, "the segment holds nothing, and is not the last one"
            )
        self._place = _Place(
            segment_offset=scan.next_offset,
            next_offset=scan.next_offset,
            previous=scan,
        )

    def _open(self, path: Path) -> File:
        try:
            return self._fs.open(path)
        except FileNotFoundError as error:
            kept = segment_offsets(self._fs.list(self._directory))
            if kept and kept[0] > self._place.segment_offset:
                raise _not_kept(self._place.next_offset, kept[0]) from error
            raise corrupt(path, 0, "the segment is missing", self._place.next_offset) from error


def _place_of(reader: LogReader, offset: int) -> _Place:
    mark = reader.mark
    if mark.segment_offset < offset == mark.end_offset:
        # At the end nothing has to be read: the mark names the CRC that the next block must follow.
        return _Place(
            segment_offset=mark.segment_offset,
            position=mark.position,
            next_offset=offset,
            last_crc32c=mark.last_crc32c,
        )
    block = reader.blocks.at_offset(offset)
    return _Place(
        segment_offset=reader.blocks.segment_of(offset),
        position=block.position or None,
        next_offset=block.offset,
    )


def _check_end(scan: SegmentScan, end: CommitMark) -> None:
    if scan.next_offset != end.end_offset:
        raise corrupt(
            scan.path,
            scan.position,
            f"offset {scan.next_offset} would follow here, but the commit mark says "
            f"{end.end_offset}",
            scan.next_offset,
        )
    if scan.last_crc32c != end.last_crc32c:
        raise scan.last_block_damage(f"the commit mark says 0x{end.last_crc32c:08x}")


def _not_kept(offset: int, start: int) -> UnknownHistoryError:
    return UnknownHistoryError(f"offset {offset} is not kept: history starts at {start}")
