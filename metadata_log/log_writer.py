r"""Writes blocks to the segments of one log: in order, synced, then marked.

Synchronous, and used by one thread at a time. Offsets and epochs come from the caller: the own log
(log.py) or the mirror (mirror.py).

    write, write, ... -> sync -> publish (the mark, the index)     one group
                     \-> roll_back                                 when the disk is full
"""

from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.batch import EncodedRows
from metadata_log.block import BlockEncoder
from metadata_log.block_place import BlockPlace
from metadata_log.commit_mark import MARK_SIZE, CommitMark, MarkWriter
from metadata_log.disk_full import full_as_unavailable
from metadata_log.file_publish import Owner, publish_file
from metadata_log.fs import File, Fs
from metadata_log.limits import (
    BATCH_SIZE_BYTES_MAX,
    SEGMENT_SIZE_BYTES_MAX,
    WRITE_SIZE_BYTES,
)
from metadata_log.names import COMMIT_MARK, segment_name
from metadata_log.offset_index import IndexWriter
from metadata_log.segment import SegmentHeader
from records.envelope import Envelope
from records.errors import UnavailableError


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the written log: where the next block goes, and which block it follows.

    `segment_offset` and `position` refer to the last segment (position 0: there is none yet).
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

    `tail` is the end of what was written, `synced` the end of what is known to be on stable
    storage. Only `sync` moves that one, and never backwards. `confirmed_end` is None in an own log,
    where nothing committed is ever replaced.
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
    ) -> None:
        self._owner = owner
        self._fs = fs
        self._directory = directory
        self._cluster_id = cluster_id
        self._segment_size_bytes_max = segment_size_bytes_max
        self._encoder = BlockEncoder(batch_size_bytes_max)
        self._file: File | None = None
        self._index: IndexWriter | None = None
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
    def group_size_bytes(self) -> int:
        """Bytes written since the last sync."""
        return self.tail.position - self.synced.position

    @property
    def encoded_bytes(self) -> int:
        """Bytes encoded so far, before compression."""
        return self._encoder.encoded_bytes

    def take_over(self, found: CommitMark) -> None:
        """Take over from the writer before: publish our own mark at the tail, synced.

        Raises:
            FencedError: another writer took over meanwhile.
            UnavailableError: the disk is full; the mark is unchanged.
        """
        self._mark.take_over(self._marked(), found, self._owner)

    def start_segment(self, leader_epoch: int) -> None:
        """Start a new segment at the end; the one before is sealed from now on.

        The segment is renamed into place with its whole header.

        Raises:
            FencedError: another writer took over; the log is unchanged.
            UnavailableError: the disk is full; the log is unchanged, and this can be retried.
        """
        self._finish_segment()
        tail = self.tail
        # An empty last segment is replaced by one of the same name, which follows the same file.
        is_empty = tail.segment_offset == tail.end_offset
        header = SegmentHeader(
            cluster_id=self._cluster_id,
            base_offset=tail.end_offset,
            leader_epoch=leader_epoch,
            previous_length=tail.previous_length if is_empty else tail.position,
            previous_crc32c=tail.last_crc32c,
            max_timestamp=tail.max_timestamp,
        )
        size = self._create_segment(header)
        self.tail = self.synced = msgspec.structs.replace(
            tail,
            leader_epoch=leader_epoch,
            segment_offset=tail.end_offset,
            position=size,
            previous_length=header.previous_length,
        )

    def write(
        self, rows: list[Envelope], end_offset: int, rest: EncodedRows | None = None
    ) -> BlockPlace:
        """Write one batch as one block, not yet synced; return its place.

        Sets `previous_crc32c` and `durable_end` on the first row; the rest is written as given.

        Args:
            rest: The rows after `rows`, if they are already encoded.

        Raises:
            RequestError: the batch is too large; nothing was written.
            UnavailableError: the disk is full; everything since the last sync was rolled back.
            OSError: it is unknown what reached the file; only `abandon` may follow.
        """
        assert self._file is not None and self._index is not None, "start_segment comes first"
        tail = self.tail
        first = msgspec.structs.replace(
            rows[0],
            previous_crc32c=tail.last_crc32c or None,
            durable_end=self.synced.end_offset or None,
        )
        stored = self._encoder.encode([first, *rows[1:]], self._sync_marker, rest)
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
        return BlockPlace(tail.segment_offset, tail.position, tail.position + len(stored))

    def sync(self) -> None:
        """Put everything written on stable storage.

        Raises:
            UnavailableError: the disk is full; everything since the last sync was rolled back.
            OSError: it is unknown what reached the disk; only `abandon` may follow.
        """
        if self._file is not None:
            self._flush()
            self._file.sync()
        self.synced = self.tail

    def publish(self) -> None:
        """Advance the commit mark to what was synced; other processes see it at once."""
        self._mark.write(self._marked())
        if self._index is not None:
            self._index.commit()

    def sync_mark(self) -> None:
        """Put the commit mark itself on stable storage."""
        self._mark.sync()

    def roll_back(self) -> None:
        """Undo everything written since the last sync, and sync.

        Without the sync a crash could bring back batches whose callers were told that nothing
        happened. A writer that takes over meanwhile writes to a file of its own (recovery.py).

        Raises:
            FencedError: another writer took over, and may have kept these bytes.
        """
        self._owner.check()
        self._unwritten.clear()
        self._unwritten_bytes = 0
        self.tail = self.synced
        if self._file is not None and self._index is not None:
            self._index.forget()
            self._file.truncate(self.synced.position)
            self._file.sync()
            self._owner.check()

    def close(self) -> None:
        """Commit, sync the mark in both slots, and close the files even if something fails."""
        try:
            self._finish_segment()
            # With two equal slots, damage to one slot of a closed log costs nothing.
            self.publish()
            self.sync_mark()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files as they are: after a failed write nothing may be committed any more.

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

    def _flush(self) -> None:
        """Write the encoded blocks, so that the file ends at the tail's position."""
        assert self._file is not None
        if not self._unwritten:
            return
        data = b"".join(self._unwritten)
        try:
            with full_as_unavailable(self._directory):
                self._file.pwrite(data, self.tail.position - len(data))
        except UnavailableError:
            self.roll_back()
            raise
        self._unwritten.clear()
        self._unwritten_bytes = 0

    def _finish_segment(self) -> None:
        if self._file is None:
            return
        self.sync()
        self.publish()
        self.sync_mark()
        self._close_segment()

    def _close_segment(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._index is not None:
            self._index.close()
            self._index = None

    def _create_segment(self, header: SegmentHeader) -> int:
        """Rename the new segment into place, ready for writing; return its size."""
        path, encoded = self._directory / segment_name(header.base_offset), header.encode()
        self._file = publish_file(self._fs, path, lambda file: file.pwrite(encoded, 0), self._owner)
        self._sync_marker = header.sync_marker
        self._index = IndexWriter(self._fs, self._directory, header.base_offset)
        return len(encoded)


EMPTY_TAIL = Tail(
    end_offset=0,
    leader_epoch=0,
    segment_offset=0,
    position=0,
    previous_length=0,
    last_crc32c=0,
    max_timestamp=None,
)
"""The tail of an empty log."""


def create_mark(fs: Fs, directory: Path) -> None:
    """Create a new log's `commit.mark`, without a mark in it."""
    file = fs.open(directory / COMMIT_MARK, create=True)
    try:
        file.pwrite(bytes(MARK_SIZE), 0)
        file.sync()
    finally:
        file.close()
