"""The writer of a node's folder, which is a copy of a shared log.

Blocks stay in memory until the shared log has committed them; `commit` writes them to the files.
Callers are answered without a sync: blocks that a crash of the machine loses are fetched again. The
files are synced before the commit mark, at least once a second, so there is little to fetch.

    leader:   write, write -> (committed in the shared log) -> commit
    follower: copy_segment, copy_block -> commit
"""

from collections.abc import Sequence

import msgspec

from metadata_log.files.file_publish import publish_file
from metadata_log.files.names import checkpoint_name, segment_name
from metadata_log.format.base import check_base_header
from metadata_log.format.checkpoint import open_checkpoint
from metadata_log.format.segment import SegmentHeader, decode_header
from metadata_log.format.segment_file import read_segment_header
from metadata_log.format.segment_indexes import remove_indexes
from metadata_log.format.tail import EMPTY_TAIL, Tail
from metadata_log.writer.log_writer import LogWriter
from records.base import Record


class NodeWriter(LogWriter):
    """Writes to the files of a node's folder only what the shared log has committed.

    Invariant: a byte that the shared log has not committed never reaches a file. Recovery keeps
    intact blocks after the commit mark, so such a block would become visible.

    Attributes:
        durable_end: End offset of what this process has put on stable storage.
    """

    durable_end = 0

    @property
    def unwritten(self) -> Sequence[bytes]:
        """The stored blocks since the last commit; none of them has reached a file."""
        return self._unwritten

    def drop_unwritten(self) -> None:
        """Forget the blocks since the last commit: the shared log did not commit them."""
        self._unwritten.clear()
        self._unwritten_bytes = 0
        self.tail = self.synced
        if self._indexes is not None:
            self._indexes.forget()

    def begin(self, header: SegmentHeader, encoded: bytes, base: bytes) -> None:
        """Let an empty log start from a checkpoint, with its first segment.

        After a crash in the middle, recovery gives an empty log again.

        Args:
            header: That of the segment; `encoded` are its bytes.
            base: The content of the checkpoint.

        Raises:
            CorruptLogError: the checkpoint is damaged, or is not one that the segment follows.
            UnavailableError: the disk is full.
        """
        of_base, _ = decode_header(base)
        path = self._directory / checkpoint_name(of_base.base_offset, of_base.leader_epoch)
        publish_file(self._fs, path, lambda file: file.pwrite(base, 0), self._owner).close()
        open_checkpoint(self._fs, path)
        self._close_segment()
        self.tail = msgspec.structs.replace(
            EMPTY_TAIL,
            end_offset=header.base_offset,
            last_crc32c=header.previous_crc32c,
            max_timestamp=header.max_timestamp,
        )
        self._create_segment(header, encoded)
        start = header.base_offset
        check_base_header(self._fs, self._directory, self._cluster_id, [path.name], [start])
        if start > 0:
            remove_indexes(self._fs, self._directory, 0)
            if self._fs.exists(self._directory / segment_name(0)):
                self._fs.unlink(self._directory / segment_name(0))

    def copy_segment(self, header: SegmentHeader, encoded: bytes) -> None:
        """Start a segment at the tail with a header that another node encoded.

        Raises:
            UnavailableError: the disk is full; the log is unchanged.
        """
        self._finish_segment()
        self._create_segment(header, encoded)

    def copy_block(self, stored: bytes, tail: Tail, records: Sequence[Record]) -> None:
        """Add a block of `records` that another node encoded; `tail` is the end of the log after
        the block.
        """
        assert self._indexes is not None, "a segment comes first"
        self._indexes.add(records, stored, self.tail, tail)
        self._unwritten.append(stored)
        self._unwritten_bytes += len(stored)
        self.tail = tail

    def last_header(self) -> SegmentHeader:
        """Return the header of the last segment."""
        return read_segment_header(
            self._fs, self._directory / segment_name(self.tail.segment_offset)
        )

    def sync_mark(self) -> None:
        """Fsync what was written, then the commit mark."""
        end_offset = self.synced.end_offset
        if self._file is not None:
            self._file.sync()
        super().sync_mark()
        self.durable_end = end_offset

    def close(self) -> None:
        """Sync what is committed, and close the files."""
        self.drop_unwritten()
        super().close()

    def _flush_if_large(self) -> None:
        """Do nothing: blocks stay in memory until the shared log has committed them."""

    def _sync(self) -> None:
        self._flush()
        self.synced = self.tail
