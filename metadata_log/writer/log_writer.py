r"""Writes blocks to the segments of one log: in order, synced, then marked.

Synchronous, and used by one thread at a time. Offsets and epochs come from the callers: log.py
or, in a mirror, mirror.py and mirror_writer.py.

    write, write, ... -> commit: sync -> check the claim -> move the mark     one group
                     \-> roll back                                            when the disk is full

`commit` is the only code that makes a batch durable. A node's folder is a copy of a shared log,
which makes batches durable first (node_writer.py).
"""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.files.file_publish import Owner, publish_file
from metadata_log.files.fs import File, Fs, copy_start, full_as_unavailable
from metadata_log.files.names import COMMIT_MARK, segment_name
from metadata_log.format.batch import EncodedRows
from metadata_log.format.block import BlockEncoder
from metadata_log.format.commit_mark import MARK_SIZE, CommitMark, MarkWriter
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import BlockPlace, SegmentFile
from metadata_log.format.segment_indexes import SegmentIndexes
from metadata_log.format.tail import Tail
from metadata_log.limits import (
    BATCH_SIZE_BYTES_MAX,
    SEGMENT_SIZE_BYTES_MAX,
    WRITE_SIZE_BYTES,
)
from records.base import Record
from records.envelope import Envelope
from records.errors import FencedError, UnavailableError

_LOG = logging.getLogger(__name__)


class LogWriter:
    """Appends blocks to a log, from its tail on.

    `tail` is the end of the added blocks, `synced` the end of the blocks known to be on stable
    storage. Only a sync moves `synced`, and never backwards. `confirmed_end` is None in a log that
    is not a mirror: nothing committed is ever replaced there.
    Invariant: mark.end_offset <= synced.end_offset <= tail.end_offset.
    """

    def __init__(
        self,
        fs: Fs,
        directory: Path,
        cluster_id: str,
        tail: Tail,
        owner: Owner,
        *,
        batch_size_bytes_max: int = BATCH_SIZE_BYTES_MAX,
        segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
        holds_batches: bool = False,
    ) -> None:
        """Continue a log at its tail; with `holds_batches` a block may contain several batches."""
        self._owner = owner
        self._fs = fs
        self._directory = directory
        self._cluster_id = cluster_id
        self._segment_size_bytes_max = segment_size_bytes_max
        self._holds_batches = holds_batches
        self._encoder = BlockEncoder(batch_size_bytes_max, is_thorough=holds_batches)
        self._file: File | None = None
        self._indexes: SegmentIndexes | None = None
        # Encoded blocks not yet written to the file: few large writes are cheaper.
        self._unwritten: list[bytes] = []
        self._unwritten_bytes = 0
        self._sync_marker = b""
        self._mark = MarkWriter(fs, directory)
        self.tail = tail
        self.synced = tail
        self.confirmed_end: int | None = None

    @property
    def needs_segment(self) -> bool:
        """True if the next block needs a new segment."""
        tail = self.tail
        is_full = tail.position >= self._segment_size_bytes_max
        return self._file is None or (is_full and tail.end_offset > tail.segment_offset)

    @property
    def is_open(self) -> bool:
        """True if a segment is open for writing."""
        return self._file is not None

    @property
    def group_size_bytes(self) -> int:
        """Bytes added since the last sync."""
        return self.tail.position - self.synced.position

    @property
    def encoded_bytes(self) -> int:
        """Bytes encoded so far, before compression."""
        return self._encoder.encoded_bytes

    def take_over(self, found: CommitMark) -> None:
        """Take over from the previous writer: publish and sync this writer's first mark, at the
        tail.

        Raises:
            FencedError: another writer took over meanwhile.
            UnavailableError: the disk is full; the mark is unchanged.
        """
        self._mark.take_over(self._marked(), found, self._owner)

    def start_segment(
        self,
        leader_epoch: int,
        rows: Sequence[Envelope] = (),
        end_offset: int | None = None,
        *,
        continues_source: bool = False,
    ) -> None:
        """Start a new segment at the tail; the segment before is sealed from now on.

        The segment is renamed into place with its complete header.

        Args:
            rows: Rows of a first block, which is in the file already when it is renamed into place.
                The new segment then replaces all bytes after the tail in the preceding file.
            end_offset: The offset after `rows`.
            continues_source: In a mirror, True if the source's segment continues here.

        Raises:
            FencedError: another writer took over; the log is unchanged.
            UnavailableError: the disk is full; the log is unchanged, and this can be retried.
        """
        self._finish_segment()
        header = self.next_header(leader_epoch, continues_source=continues_source)
        first = self._encode(rows, header.sync_marker) if rows else b""
        self._create_segment(header, header.encode() + first)
        if rows:
            tail = self.tail
            self.tail = self.synced = msgspec.structs.replace(
                tail,
                end_offset=end_offset if end_offset is not None else tail.end_offset,
                last_crc32c=google_crc32c.value(first),
                max_timestamp=tail.latest(rows),
            )

    def next_header(self, leader_epoch: int, *, continues_source: bool = False) -> SegmentHeader:
        """Return the header of a segment that starts at the tail; see `start_segment`."""
        tail = self.tail
        # An empty last segment is replaced by one of the same name, which follows the same file.
        is_empty = tail.segment_offset == tail.end_offset
        return SegmentHeader(
            cluster_id=self._cluster_id,
            base_offset=tail.end_offset,
            leader_epoch=leader_epoch,
            previous_length=tail.previous_length if is_empty else tail.position,
            previous_crc32c=tail.last_crc32c,
            max_timestamp=tail.max_timestamp,
            holds_batches=self._holds_batches,
            continues_source=continues_source and tail.end_offset > 0,
        )

    def continue_segment(self) -> None:
        """Copy the last segment up to the tail to a new file that replaces it, and continue there.

        A fenced writer may still have the old file open.

        Raises:
            FencedError, UnavailableError: as `start_segment`.
        """
        tail = self.tail
        path = self._directory / segment_name(tail.segment_offset)
        old = self._fs.open(path)
        try:
            self._sync_marker = SegmentFile.of(old, path).header.sync_marker
            self._file = publish_file(
                self._fs, path, lambda new: copy_start(old, new, tail.position), self._owner
            )
        finally:
            old.close()
        self._indexes = SegmentIndexes.of_continued(
            self._fs, self._directory, tail.segment_offset, tail.position
        )

    def add_block(
        self,
        rows: Sequence[Envelope],
        end_offset: int,
        rest: EncodedRows | None = None,
        records: Sequence[Record] | None = None,
    ) -> BlockPlace:
        """Encode one block to be written; return its place.

        Added blocks are written to the file once they are large enough, at the latest by `commit`.

        The block contains one batch or, if the segment's header allows it, several whole batches of
        one epoch. The first row gets `previous_crc32c` and `durable_end`; the other rows are
        written unchanged.

        Args:
            rest: The rows after `rows`, if they are already encoded.
            records: The records of all rows; None if `rows` are all.

        Raises:
            RequestError: the batch is too large; nothing was written.
            UnavailableError: the disk is full; everything since the last sync was rolled back.
            OSError: it is unknown how much reached the file; only `abandon` may follow.
        """
        assert self._file is not None and self._indexes is not None, "start_segment comes first"
        tail = self.tail
        first = rows[0]
        stored = self._encode(rows, self._sync_marker, rest)
        self._unwritten.append(stored)
        self._unwritten_bytes += len(stored)
        self.tail = Tail(
            end_offset=end_offset,
            leader_epoch=first.leader_epoch,
            segment_offset=tail.segment_offset,
            position=tail.position + len(stored),
            previous_length=tail.previous_length,
            last_crc32c=google_crc32c.value(stored),
            max_timestamp=tail.latest(rows if self._holds_batches else (rows[0], rows[-1])),
        )
        payloads = [row.payload for row in rows] if records is None else records
        self._indexes.add(payloads, stored, tail, self.tail)
        self._flush_if_large()
        return BlockPlace(tail.segment_offset, tail.position, tail.position + len(stored))

    def commit(self, confirmed_end: int = 0) -> float:
        """Commit everything written: sync it, check that the log is still owned, move the mark.

        Only after the check is it known that a writer that takes over will find the bytes. The
        mark is not synced (`sync_mark`), but other processes see it immediately.

        Args:
            confirmed_end: Exclusive end of the part of a mirror that is never replaced. If it is
                below `self.confirmed_end`, or the log is not a mirror, it has no effect.

        Returns:
            The duration of sync and check in seconds.

        Raises:
            FencedError: another writer took over.
            UnavailableError: the disk is full; everything since the last sync was rolled back.
            OSError: it is unknown how much reached the disk; only `abandon` may follow.
        """
        start = time.perf_counter()
        self._sync()
        self._owner.check()
        took_s = time.perf_counter() - start
        if self.confirmed_end is not None:
            confirmed_end = min(confirmed_end, self.synced.end_offset)
            self.confirmed_end = max(self.confirmed_end, confirmed_end)
        self._move_mark()
        return took_s

    def sync_mark(self) -> None:
        """Fsync the commit mark."""
        self._mark.sync()

    def close(self) -> None:
        """Commit everything written, and write and sync the mark in both slots.

        A writer that lost the log only warns: everything acknowledged is safe, and the mark belongs
        to the other writer. The files are closed even if this fails.
        """
        try:
            self._finish_segment()
            # With two equal slots, damage to one slot of a closed log costs nothing.
            self.commit()
            self.sync_mark()
        except FencedError as error:
            _LOG.warning("%s", error)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files without writing: after a failed write nothing may be committed any more.

        A second sync can succeed although the first lost data, so it proves nothing.
        """
        self._close_segment()
        self._mark.close()

    def _marked(self) -> CommitMark:
        synced = self.synced
        return CommitMark(
            sequence=0,
            leader_epoch=synced.leader_epoch,
            end_offset=synced.end_offset,
            segment_offset=synced.segment_offset,
            position=synced.position,
            confirmed_end=synced.end_offset if self.confirmed_end is None else self.confirmed_end,
            last_crc32c=synced.last_crc32c,
            max_timestamp=synced.max_timestamp or 0,
        )

    def _sync(self) -> None:
        """Fsync everything written."""
        if self._file is not None:
            self._flush()
            self._file.sync()
        self.synced = self.tail

    def _move_mark(self) -> None:
        """Write the commit mark and the index up to the synced end."""
        self._mark.write(self._marked())
        if self._indexes is not None:
            self._indexes.commit()

    def _roll_back(self) -> None:
        """Undo everything written since the last sync, and sync the truncated file.

        Without the sync a crash could bring back batches whose callers were told that nothing was
        written. A writer that takes over meanwhile writes to a new file instead (recovery.py).

        Raises:
            FencedError: another writer took over, and may have kept these bytes.
        """
        self._owner.check()
        self._unwritten.clear()
        self._unwritten_bytes = 0
        self.tail = self.synced
        if self._file is not None and self._indexes is not None:
            self._indexes.forget()
            self._file.truncate(self.synced.position)
            self._file.sync()
            self._owner.check()

    def _flush_if_large(self) -> None:
        if self._unwritten_bytes >= WRITE_SIZE_BYTES:
            self._flush()

    def _flush(self) -> None:
        """Write the queued encoded blocks to the file."""
        if not self._unwritten:
            return
        assert self._file is not None
        data = b"".join(self._unwritten)
        try:
            with full_as_unavailable(self._directory):
                self._file.pwrite(data, self.tail.position - len(data))
        except UnavailableError:
            self._roll_back()
            raise
        self._unwritten.clear()
        self._unwritten_bytes = 0

    def _finish_segment(self) -> None:
        if self._file is None:
            return
        self.commit()
        self.sync_mark()
        self._close_segment()

    def _close_segment(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._indexes is not None:
            self._indexes.close()
            self._indexes = None

    def _encode(
        self, rows: Sequence[Envelope], sync_marker: bytes, rest: EncodedRows | None = None
    ) -> bytes:
        """Return the stored bytes of a block to be written at the tail."""
        first = msgspec.structs.replace(
            rows[0],
            previous_crc32c=self.tail.last_crc32c or None,
            durable_end=self.synced.end_offset or None,
        )
        return self._encoder.encode([first, *rows[1:]], sync_marker, rest)

    def _create_segment(self, header: SegmentHeader, encoded: bytes) -> None:
        """Publish a new segment file with these bytes, and open it for writing at their end."""
        path = self._directory / segment_name(header.base_offset)
        self._file = publish_file(self._fs, path, lambda file: file.pwrite(encoded, 0), self._owner)
        self._sync_marker = header.sync_marker
        self._indexes = SegmentIndexes.of_new(self._fs, self._directory, header.base_offset)
        self.tail = self.synced = msgspec.structs.replace(
            self.tail,
            leader_epoch=header.leader_epoch,
            segment_offset=header.base_offset,
            position=len(encoded),
            previous_length=header.previous_length,
        )


def create_mark(fs: Fs, directory: Path) -> None:
    """Create the `commit.mark` file of a new log, without a mark in it."""
    file = fs.open(directory / COMMIT_MARK, create=True)
    try:
        file.pwrite(bytes(MARK_SIZE), 0)
        file.sync()
    finally:
        file.close()
