"""Writer of an existing mirror: appends, and cuts the mirror where Kafka replaced its log.

A cut ends one writer and begins another, so that readers see that the log's end may have gone back:

    1. publish a mark at the end of the last block that is kept whole
    2. remove the segments after the segment of that block, newest first
    3. publish a new segment at that end, with the kept rows of the next block
    4. publish a mark at the end of the new segment
    5. cut the bytes that the new segment replaces

Until step 3 the blocks past the mark are still there, and a writer that opens the log keeps them;
the log is then a prefix of the old one. From step 3 on the new segment seals the segment before it,
as the first segment of any new writer does.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from metadata_log.files.fs import Fs, OsFs
from metadata_log.files.names import segment_name, segment_offsets
from metadata_log.format.commit_mark import read_mark
from metadata_log.format.manifest import Kind
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import read_segment_header
from metadata_log.format.segment_indexes import remove_indexes, shorten_indexes
from metadata_log.limits import BLOCK_DECODED_BYTES_MAX, SEGMENT_SIZE_BYTES_MAX
from metadata_log.recovery.chain import Surplus, cut_surplus
from metadata_log.writer.claims import claim_epoch
from metadata_log.writer.log_writer import LogWriter
from metadata_log.writer.mirror_cut import find_cut
from metadata_log.writer.owned_log import publish_end, take_over
from records.envelope import Envelope
from records.errors import UnavailableError

_CONTINUED_BYTES_MAX = 1024 * 1024
"""A new writer continues a last segment up to this size, by copying it. After a larger one it
starts a new segment, whose header takes 1 % of this size."""


class MirrorWriter:
    """The single writer of a mirror; owns its lock. Use as a context manager.

    After an error other than UnavailableError, `is_usable` is False and only `close` may follow.
    """

    def __init__(
        self,
        directory: Path,
        *,
        fs: Fs | None = None,
        segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
    ) -> None:
        """Open a mirror at its end, after recovering the bytes that a crash left past the commit
        mark.

        Raises:
            RequestError: the directory is not a mirror.
            UnavailableError, FencedError, CorruptLogError: as `owned_log.take_over`.
        """
        self._fs = fs or OsFs()
        self.directory = directory.absolute()
        self._segment_size_bytes_max = segment_size_bytes_max
        owned = take_over(
            self._fs,
            self.directory,
            Kind.MIRROR,
            batch_size_bytes_max=BLOCK_DECODED_BYTES_MAX,
            segment_size_bytes_max=segment_size_bytes_max,
            holds_batches=True,
        )
        self.cluster_id = owned.cluster_id
        self._lock = owned.lock
        self._claim = owned.claim
        self._writer = owned.writer
        self.is_usable = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def end_offset(self) -> int:
        """First offset not yet written; exclusive."""
        return self._writer.tail.end_offset

    @property
    def confirmed_end(self) -> int:
        """Offset below which the mirror is never replaced; exclusive."""
        confirmed_end = self._writer.confirmed_end
        assert confirmed_end is not None
        return confirmed_end

    def append(self, rows: Sequence[Envelope], end_offset: int) -> None:
        """Write whole Kafka batches, all of one epoch, as one block, not yet synced.

        Raises:
            UnavailableError: the disk is full; everything since the last `commit` is undone.
        """
        assert rows[0].offset == self.end_offset, (rows[0].offset, self.end_offset)
        with self._unusable_on_error():
            if self._writer.needs_segment:
                self._continue_or_start_segment(rows[0].leader_epoch)
            self._writer.add_block(list(rows), end_offset)

    def start_segment(self, leader_epoch: int) -> None:
        """Begin a new segment at the end, because the source does.

        Raises:
            UnavailableError: the disk is full; the mirror is unchanged.
        """
        tail = self._writer.tail
        is_empty = tail.segment_offset == tail.end_offset
        if not is_empty or self._last_header().continues_source:
            with self._unusable_on_error():
                self._writer.start_segment(leader_epoch)

    def commit(self, confirmed_end: int = 0) -> None:
        """Sync everything appended, and make it visible to readers.

        Args:
            confirmed_end: End of the part known to be committed by Kafka. If it is below the
                mirror's confirmed end, it has no effect.

        Raises:
            UnavailableError: the disk is full; everything since the last `commit` is undone.
            FencedError: another writer took over.
        """
        with self._unusable_on_error():
            self._writer.commit(confirmed_end)
            # What was confirmed must stay so after a crash.
            self._writer.sync_mark()

    def cut(self, end_offset: int, last_timestamp: int) -> None:
        """Remove all batches from `end_offset` on.

        Args:
            end_offset: The end of a Kafka batch; at least `confirmed_end`.
            last_timestamp: Append time of that batch, ms since 1970.

        Raises:
            UnavailableError, FencedError: as `commit`; open the mirror again.
            CorruptLogError: the mirror is damaged there.
        """
        assert self.confirmed_end <= end_offset <= self.end_offset
        self.commit()
        if end_offset == self.end_offset:
            return
        with self._unusable_on_error(even_unavailable=True):
            self._cut(end_offset, last_timestamp)

    def close(self) -> None:
        """Commit appended blocks, unless something failed; close the files; release the lock."""
        try:
            if self.is_usable:
                self._writer.close()
            else:
                self._writer.abandon()
        finally:
            self._lock.release()

    def _continue_or_start_segment(self, leader_epoch: int) -> None:
        """Continue the last segment if it is small enough and its format allows it; else start a
        new one.
        """
        tail = self._writer.tail
        is_empty = tail.segment_offset == tail.end_offset
        can_continue = (
            not self._writer.is_open
            and not is_empty
            and tail.position <= min(_CONTINUED_BYTES_MAX, self._segment_size_bytes_max)
            and self._last_header().has_newest_schema
            and self._last_header().holds_batches
        )
        if can_continue:
            self._writer.continue_segment()
        else:
            # A segment that takes an empty one's place is to the source what that was.
            continues_source = not is_empty or self._last_header().continues_source
            self._writer.start_segment(leader_epoch, continues_source=continues_source)

    def _last_header(self) -> SegmentHeader:
        path = self.directory / segment_name(self._writer.tail.segment_offset)
        return read_segment_header(self._fs, path)

    def _cut(self, end_offset: int, last_timestamp: int) -> None:
        self._writer.close()
        cut = find_cut(self._fs, self.directory, end_offset, last_timestamp)
        mark = read_mark(self._fs, self.directory)
        self._claim = claim_epoch(self._fs, self.directory, self._claim.leader_epoch)
        self._writer = LogWriter(
            self._fs,
            self.directory,
            self.cluster_id,
            cut.tail,
            self._claim,
            batch_size_bytes_max=BLOCK_DECODED_BYTES_MAX,
            segment_size_bytes_max=self._segment_size_bytes_max,
            holds_batches=True,
        )
        publish_end(self._writer, mark, Kind.MIRROR)
        self._remove_segments_behind(cut.tail.segment_offset)
        shorten_indexes(self._fs, self.directory, cut.tail.segment_offset, cut.tail.position)
        epoch = cut.rows[0].leader_epoch if cut.rows else cut.tail.leader_epoch
        self._writer.start_segment(
            epoch, cut.rows, end_offset, continues_source=cut.continues_source
        )
        self._writer.commit()
        self._writer.sync_mark()
        if cut.tail.segment_offset < cut.tail.end_offset:
            path = self.directory / segment_name(cut.tail.segment_offset)
            # Only what a crash left is worth a warning.
            cut_surplus(self._fs, [Surplus(path, cut.tail.position)], level=logging.INFO)

    def _remove_segments_behind(self, base_offset: int) -> None:
        """Remove the segments after the one at `base_offset`, newest first, so that a crash leaves
        no gap.
        """
        for base in reversed(segment_offsets(self._fs.list(self.directory))):
            if base <= base_offset:
                return
            self._fs.unlink(self.directory / segment_name(base))
            self._fs.sync_directory(self.directory)
            remove_indexes(self._fs, self.directory, base)

    @contextmanager
    def _unusable_on_error(self, *, even_unavailable: bool = False) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if even_unavailable or not isinstance(error, UnavailableError):
                self.is_usable = False
            raise
