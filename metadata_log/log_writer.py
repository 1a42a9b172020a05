"""Writing blocks to the segments of one log: in order, synced, then marked.

Synchronous, and used by one thread at a time. It knows nothing of who gives offsets and epochs:
the own log (log.py) and the mirror (mirror.py) do.
"""

from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.block import BlockEncoder
from metadata_log.commit_mark import MARK_SIZE, CommitMark
from metadata_log.fs import File, Fs
from metadata_log.limits import (
    BATCH_SIZE_BYTES_MAX,
    SEGMENT_SIZE_BYTES_MAX,
    WRITE_SIZE_BYTES,
)
from metadata_log.names import COMMIT_MARK, segment_name
from metadata_log.offset_index import IndexBuilder
from metadata_log.segment import SegmentHeader
from records.envelope import Envelope


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """The end of what is written: where the next block goes, and what it must follow.

    `segment_offset` and `position` are of the last segment (position 0: there is none yet),
    `previous_length` is the length of the file before it (0: none), `last_crc32c` the CRC-32C of
    the last block anywhere before `position` (0: none).
    """

    end_offset: int
    leader_epoch: int
    segment_offset: int
    position: int
    previous_length: int
    last_crc32c: int
    max_timestamp: int | None


class LogWriter:
    """Appends blocks after a tail.

    `durable_end` is the end offset known to be on stable storage; exclusive. It is moved by
    `commit` only, never backwards, and never past what was synced.
    Invariant: mark.end_offset <= durable_end <= tail.end_offset.
    """

    def __init__(
        self,
        fs: Fs,
        directory: Path,
        cluster_id: str,
        tail: Tail,
        *,
        sequence: int,
        confirmed_end: int,
        batch_size_bytes_max: int = BATCH_SIZE_BYTES_MAX,
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._cluster_id = cluster_id
        self._sequence = sequence
        self._encoder = BlockEncoder(batch_size_bytes_max)
        self._index = IndexBuilder()
        self._file: File | None = None
        # Blocks that were encoded but not yet handed to the file: few large writes are cheaper.
        self._unwritten: list[bytes] = []
        self._unwritten_bytes = 0
        self._sync_marker = b""
        self._mark = fs.open(directory / COMMIT_MARK, write=True)
        self.tail = tail
        self.durable_end = tail.end_offset
        self.confirmed_end = confirmed_end

    def start_segment(self, leader_epoch: int) -> None:
        """Begin a new segment at the end; the one before is complete from now on.

        The segment appears under its name with its whole header, by a rename.
        """
        self._finish_segment()
        tail = self.tail
        # An empty last segment is replaced by one of the same name: what stood before it stands
        # before the new one.
        is_empty = tail.segment_offset == tail.end_offset
        header = SegmentHeader(
            cluster_id=self._cluster_id,
            base_offset=tail.end_offset,
            leader_epoch=leader_epoch,
            previous_length=tail.previous_length if is_empty else tail.position,
            previous_crc32c=tail.last_crc32c,
            max_timestamp=tail.max_timestamp,
        )
        self._open_segment(header)
        self.tail = msgspec.structs.replace(
            tail,
            leader_epoch=leader_epoch,
            segment_offset=tail.end_offset,
            position=len(header.encode()),
            previous_length=header.previous_length,
        )

    def write(self, rows: list[Envelope], end_offset: int) -> None:
        """Write one batch as one block, not yet synced.

        The first row gets `previous_crc32c` and `durable_end`; the rows are otherwise as given.

        Raises:
            RequestError: the batch is too large; nothing was written.
        """
        if self.tail.position >= SEGMENT_SIZE_BYTES_MAX:
            self.start_segment(rows[0].leader_epoch)
        assert self._file is not None, "start_segment comes first"
        tail = self.tail
        first = msgspec.structs.replace(
            rows[0],
            previous_crc32c=tail.last_crc32c or None,
            durable_end=self.durable_end or None,
        )
        stored = self._encoder.encode([first, *rows[1:]], self._sync_marker)
        self._unwritten.append(stored)
        self._unwritten_bytes += len(stored)
        self._index.maybe_add(first.offset, tail.position, tail.max_timestamp)
        self.tail = Tail(
            end_offset=end_offset,
            leader_epoch=first.leader_epoch,
            segment_offset=tail.segment_offset,
            position=tail.position + len(stored),
            previous_length=tail.previous_length,
            last_crc32c=google_crc32c.value(stored),
            max_timestamp=max(first.timestamp, tail.max_timestamp or first.timestamp),
        )
        if self._unwritten_bytes >= WRITE_SIZE_BYTES:
            self._flush()

    def commit(self) -> None:
        """Put everything written on stable storage, then move the commit mark to it."""
        if self._file is not None:
            self._flush()
            self._file.sync()
        self.durable_end = self.tail.end_offset
        self._write_mark()

    def sync_mark(self) -> None:
        """Put the commit mark itself on stable storage."""
        self._mark.sync()

    def close(self) -> None:
        """Commit, sync the mark, and close the files."""
        self._finish_segment()
        self._mark.close()

    def abandon(self) -> None:
        """Close the files as they are: after a failed write nothing may be committed any more.

        A second sync can succeed although the first lost the data, so it proves nothing.
        """
        if self._file is not None:
            self._file.close()
        self._mark.close()

    def _flush(self) -> None:
        """Write what was encoded; it ends at the tail's position."""
        assert self._file is not None
        data = b"".join(self._unwritten)
        self._file.pwrite(data, self.tail.position - len(data))
        self._unwritten.clear()
        self._unwritten_bytes = 0

    def _finish_segment(self) -> None:
        if self._file is None:
            return
        self.commit()
        self.sync_mark()
        self._file.close()
        self._file = None
        self._index.write(self._fs, self._directory, self.tail.segment_offset)

    def _open_segment(self, header: SegmentHeader) -> None:
        path = self._directory / segment_name(header.base_offset)
        part = path.with_suffix(".avro.part")
        for leftover in {part.name} & set(self._fs.list(self._directory)):
            self._fs.unlink(self._directory / leftover)
        file = self._fs.open(part, create=True)
        file.pwrite(header.encode(), 0)
        file.sync()
        self._fs.rename(part, path)
        self._fs.sync_directory(self._directory)
        self._file = file
        self._sync_marker = header.sync_marker
        self._index = IndexBuilder()

    def _write_mark(self) -> None:
        self._sequence += 1
        tail = self.tail
        mark = CommitMark(
            sequence=self._sequence,
            leader_epoch=tail.leader_epoch,
            end_offset=tail.end_offset,
            segment_offset=tail.segment_offset,
            position=tail.position,
            confirmed_end=self.confirmed_end,
            last_crc32c=tail.last_crc32c,
        )
        self._mark.pwrite(mark.encode(), mark.slot_position)


EMPTY_TAIL = Tail(
    end_offset=0,
    leader_epoch=0,
    segment_offset=0,
    position=0,
    previous_length=0,
    last_crc32c=0,
    max_timestamp=None,
)
"""The end of a log that has nothing yet."""


def create_mark(fs: Fs, directory: Path) -> None:
    """Make the commit mark's file for a new log, without a mark in it."""
    file = fs.open(directory / COMMIT_MARK, create=True)
    try:
        file.pwrite(bytes(MARK_SIZE), 0)
        file.sync()
    finally:
        file.close()
