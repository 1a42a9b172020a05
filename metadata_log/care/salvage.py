"""Salvage: copies the provably intact part of a damaged log, segment by segment."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from metadata_log.care.block_walk import BadBytes, BlockWalk
from metadata_log.care.findings import Inspection, IntactEnd, Lost
from metadata_log.care.index_entries import IndexEntries
from metadata_log.care.inspection import read_slots
from metadata_log.care.lost_header import rebuild_header
from metadata_log.care.lost_identity import claims, find_base, find_manifest
from metadata_log.care.new_log import NewLog
from metadata_log.files.fs import ByteStore, ReadableFile
from metadata_log.files.names import (
    CONFIRMATIONS,
    KRAFT_TABLES,
    index_name,
    segment_name,
    segment_offsets,
)
from metadata_log.format.block import ReadBlock
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.kraft_tables import kept_tables
from metadata_log.format.manifest import Kind
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import ScanStart, SegmentFile, read_segment_header
from metadata_log.stores.checked_read import CheckedRead, Progress
from records.errors import CorruptLogError, RequestError


class Salvage:
    """State of one repair: copies one segment after the other until it finds damage.

    Attributes:
        bases: Base offsets of the segments, ascending.
    """

    def __init__(self, fs: ByteStore, directory: Path, progress: Progress) -> None:
        """Read the commit mark and the file names of the directory.

        Raises:
            RequestError: the directory is not a log.
        """
        self._fs = fs
        self._directory = directory
        self._progress = progress
        damaged = Inspection()
        # Before the names: a live writer's mark refers to files that existed before it.
        self._mark = read_slots(fs, directory, damaged)
        self._names = fs.list(directory)
        self.bases = segment_offsets(self._names)
        if not self.bases:
            raise RequestError("LOG_NOT_FOUND", f"{directory} holds no segment of a log")
        self._end: IntactEnd | None = None
        self._before_last: IntactEnd | None = None
        self._stopped = False
        # A segment begins only when all before it is on stable storage.
        self.proven_end = max(self._mark.end_offset if self._mark else 0, self.bases[-1])
        self.rebuilt = [f"{f.file} byte {f.byte}: {f.what}" for f in damaged.damage]
        self.lost: list[Lost] = []
        self.base_end = 0

    @property
    def mark_is_lost(self) -> bool:
        """True if neither slot of the commit mark is valid."""
        return self._mark is None

    def read_identity(self, first_base: int) -> None:
        """Find the log's cluster id and kind.

        Raises:
            CorruptLogError: neither the manifest nor the first header can be read.
        """
        self.manifest, mended = find_manifest(self._fs, self._directory, self._names, first_base)
        if mended is not None:
            self.rebuilt.append(mended)

    def highest_epoch(self) -> int:
        """Return the highest epoch found in the commit mark, the kept blocks and the claims."""
        marked = self._mark.leader_epoch if self._mark else 0
        kept = self._end.leader_epoch if self._end else 0
        return max([marked, kept, *claims(self._names)])

    def copy_base(self, copy: NewLog, start: int) -> None:
        """Copy the base checkpoint that the segments need.

        Raises:
            CorruptLogError: the checkpoint is damaged or missing.
        """
        base, left_out = find_base(
            self._fs, self._directory, self.manifest.cluster_id, self._names, start
        )
        self.rebuilt += left_out
        if base is not None:
            self.base_end = base.end_offset
            copy.add(base.path.name, CheckedRead(self._fs, base.path, base.size))

    def copy_mirror_files(self, copy: NewLog) -> None:
        """Copy the small files of a mirror, but not a table file that is damaged."""
        try:
            kept_tables(self._fs, self._directory)
        except CorruptLogError:
            what = "damaged, left out; import into the copy with --tables DIR"
            self.rebuilt.append(f"{KRAFT_TABLES}: {what}")
            copy.add_mirror_files(self._fs, self._directory, (CONFIRMATIONS,))
            return
        copy.add_mirror_files(self._fs, self._directory)

    def take(self, copy: NewLog, base: int) -> None:
        """Copy the intact part of the next segment.

        After damage was found, nothing more is copied; the segment's contents are only reported.
        """
        path = self._directory / segment_name(base)
        file = self._fs.open(path)
        try:
            if self._stopped:
                self._look_through(file, path, base)
            else:
                self._take(copy, file, path, base)
            self._progress(file.size())
        finally:
            file.close()

    def new_mark(self) -> CommitMark:
        """Return the commit mark of the copy.

        Raises:
            CorruptLogError: nothing is intact.
        """
        end = self._end
        if end is None:
            lost = self.lost[0]
            raise CorruptLogError(
                f"{self._directory / lost.file} byte {lost.byte}: {lost.why}; nothing before it is "
                "intact: restore the log from a backup"
            )
        confirmed = end.end_offset
        if self.manifest.kind is Kind.MIRROR:
            confirmed = min(self._mark.confirmed_end if self._mark else 0, confirmed)
        return CommitMark(
            sequence=self._mark.sequence + 1 if self._mark else 1,
            leader_epoch=end.leader_epoch,
            end_offset=end.end_offset,
            segment_offset=end.segment_offset,
            position=end.position,
            confirmed_end=confirmed,
            last_crc32c=end.last_crc32c,
            max_timestamp=end.max_timestamp or 0,
        )

    def _take(self, copy: NewLog, file: ReadableFile, path: Path, base: int) -> None:
        end = self._end
        try:
            segment, rebuilt = self._opened(file, path, base)
        except CorruptLogError as error:
            self._stop(path, 0, file.size(), base, str(error.__cause__ or error))
            return
        header = segment.header
        if end is not None and (header.previous_crc32c, base) != (end.last_crc32c, end.end_offset):
            self._look_through(file, path, base, f"does not follow offset {end.end_offset}")
            return
        following = self._header_after(base)
        limit = self._limit(file, path, following)
        start = IntactEnd(
            segment_offset=base,
            position=segment.first_position,
            end_offset=base,
            last_crc32c=header.previous_crc32c,
            max_timestamp=header.max_timestamp,
            leader_epoch=header.leader_epoch,
            schema_json=header.schema_json,
            holds_batches=header.holds_batches,
        )
        index = IndexEntries()
        self._end = self._walk(segment, limit, start, index)
        self._distrust_last_block(path, following)
        content = CheckedRead(self._fs, path, self._end.position)
        copy.add(path.name, _with_header(header.encode(), content) if rebuilt else content)
        if index.encode():
            copy.add(index_name(base), [index.encode()])

    def _walk(
        self,
        segment: SegmentFile,
        limit: int,
        start: IntactEnd,
        index: IndexEntries,
    ) -> IntactEnd:
        """Walk over the blocks of a segment; return the end of its intact blocks."""
        kept = before_last = start
        path = segment.path
        place = ScanStart(start.position, start.end_offset, start.last_crc32c)
        for item in BlockWalk(segment, limit, place):
            if isinstance(item, BadBytes):
                if not self._stopped and item.position < kept.position:
                    kept = before_last
                self._bad(path, item, limit)
            elif self._stopped:
                self._left_out(path, item)
            else:
                index.maybe_add(item.base_offset, item.position, kept.max_timestamp)
                before_last, kept = kept, self._kept(kept, item)
        self._before_last = before_last
        return kept

    def _distrust_last_block(self, path: Path, following: SegmentHeader | None) -> None:
        """Drop the last block if its CRC differs from the one in the next header or the commit
        mark.
        """
        end, mark = self._end, self._mark
        assert end is not None
        if self._stopped or end.end_offset == end.segment_offset:
            return
        expected = end.last_crc32c
        if following is not None and following.base_offset == end.end_offset:
            expected = following.previous_crc32c
        elif mark is not None and mark.end_offset == end.end_offset:
            expected = mark.last_crc32c
        if expected != end.last_crc32c:
            before = self._end = self._before_last
            assert before is not None
            self._stop(
                path,
                before.position,
                end.position,
                before.end_offset,
                f"the block has CRC 0x{end.last_crc32c:08x}, what follows says 0x{expected:08x}",
            )

    def _limit(self, file: ReadableFile, path: Path, following: SegmentHeader | None) -> int:
        """Return the size at which the segment was sealed; bytes after that are left out."""
        size = file.size()
        if following is None or not 0 < following.previous_length < size:
            return size
        surplus = size - following.previous_length
        self.rebuilt.append(
            f"{path.name} byte {following.previous_length}: {surplus} bytes too "
            "many, past the end that the next header names, are left out"
        )
        return following.previous_length

    def _opened(self, file: ReadableFile, path: Path, base: int) -> tuple[SegmentFile, bool]:
        """Read a segment's header, or rebuild it with the header of the preceding segment.

        Returns:
            The segment, and True if its header was rebuilt.
        """
        try:
            return SegmentFile.of(file, path), False
        except CorruptLogError:
            end = self._end
            if end is None:
                raise
            known = SegmentHeader(
                cluster_id=self.manifest.cluster_id,
                base_offset=base,
                leader_epoch=end.leader_epoch,
                previous_length=end.position,
                previous_crc32c=end.last_crc32c,
                max_timestamp=end.max_timestamp,
                schema_json=end.schema_json,
                holds_batches=end.holds_batches,
            )
            epochs = range(end.leader_epoch, self.highest_epoch() + 1)
            found = rebuild_header(file, _variants(known, self.manifest.kind), epochs)
            if found is None:
                raise
            self.rebuilt.append(f"{path.name} byte 0: the header, from the segment before it")
            return SegmentFile(file, path, *found), True

    def _header_after(self, base: int) -> SegmentHeader | None:
        """Return the next segment's header; None if there is no next segment or its header is
        damaged.
        """
        later = [other for other in segment_offsets(self._names) if other > base]
        if not later:
            return None
        path = self._directory / segment_name(later[0])
        try:
            return read_segment_header(self._fs, path)
        except CorruptLogError:
            return None

    def _kept(self, kept: IntactEnd, block: ReadBlock) -> IntactEnd:
        self.proven_end = max(self.proven_end, block.durable_end)
        latest = block.max_timestamp
        return msgspec.structs.replace(
            kept,
            position=block.end_position,
            end_offset=block.end_offset,
            last_crc32c=block.crc32c,
            max_timestamp=max(latest, kept.max_timestamp or latest),
            leader_epoch=block.leader_epoch,
        )

    def _look_through(
        self, file: ReadableFile, path: Path, base: int, why: str | None = None
    ) -> None:
        """Examine a segment that follows damage, only to report its contents."""
        try:
            segment = SegmentFile.of(file, path)
        except CorruptLogError as error:
            self._stop(path, 0, file.size(), base, why or str(error.__cause__ or error))
            return
        self._stop(path, 0, segment.first_position, base, why or "comes after damage")
        start = IntactEnd(
            segment_offset=base,
            position=segment.first_position,
            end_offset=base,
            last_crc32c=segment.header.previous_crc32c,
            max_timestamp=None,
            leader_epoch=segment.header.leader_epoch,
        )
        self._walk(segment, file.size(), start, IndexEntries())

    def _bad(self, path: Path, bad: BadBytes, limit: int) -> None:
        end = limit if bad.end_position is None else bad.end_position
        self._stop(path, bad.position, end, bad.next_offset, bad.why)

    def _left_out(self, path: Path, block: ReadBlock) -> None:
        """Report a valid block that follows damage."""
        self.proven_end = max(self.proven_end, block.durable_end)
        last = self.lost[-1]
        if last.readable and (last.file, last.end_byte) == (path.name, block.position):
            self.lost[-1] = msgspec.structs.replace(last, end_byte=block.end_position)
            return
        self.lost.append(
            Lost(
                file=path.name,
                byte=block.position,
                end_byte=block.end_position,
                from_offset=block.base_offset,
                why="reads well, but comes after damage",
                readable=True,
            )
        )

    def _stop(self, path: Path, byte: int, end_byte: int, offset: int | None, why: str) -> None:
        """Report lost bytes, and copy nothing from here on."""
        self._stopped = True
        self.lost.append(
            Lost(file=path.name, byte=byte, end_byte=end_byte, from_offset=offset, why=why)
        )


def _variants(known: SegmentHeader, kind: Kind) -> Iterator[SegmentHeader]:
    """Yield possible headers of the segment that follows a known one, most likely first."""
    yield known
    if kind is Kind.MIRROR:
        # Another release may have gone on, and with a segment of its own.
        for holds_batches in (known.holds_batches, not known.holds_batches):
            for continues_source in (True, False):
                yield msgspec.structs.replace(
                    known, holds_batches=holds_batches, continues_source=continues_source
                )


def _with_header(header: bytes, content: CheckedRead) -> Iterator[bytes]:
    """Yield a file's bytes with its header replaced by another of the same length."""
    position = 0
    for chunk in content:
        replaced = header[position : position + len(chunk)]
        yield replaced + chunk[len(replaced) :]
        position += len(chunk)
