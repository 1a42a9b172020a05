"""Inspection of a log's segments in order: headers, every block, links, and indexes."""

from pathlib import Path

import msgspec

from metadata_log.care.block_walk import BadBytes, BlockWalk
from metadata_log.care.filter_check import FilterCheck
from metadata_log.care.findings import Finding, Inspection
from metadata_log.care.index_entries import IndexCheck
from metadata_log.files.fs import ByteStore, ReadableFile
from metadata_log.files.names import index_name, segment_name
from metadata_log.format.block import SYNC_SIZE, ReadBlock
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.manifest import Kind
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import SegmentFile, read_segment_header
from metadata_log.stores.checked_read import Progress
from records.errors import CorruptLogError

REPAIR = "restore the file from a backup, or keep what is intact with `metalog repair LOG COPY`"


class SegmentEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an inspected segment; fields are None if they are unknown because of damage."""

    length: int
    next_offset: int | None = None
    last_crc32c: int | None = None
    max_timestamp: int | None = None
    leader_epoch: int = 0


class SegmentInspector:
    """Inspects the segments of a log one after the other, and collects findings."""

    def __init__(
        self,
        fs: ByteStore,
        directory: Path,
        found: Inspection,
        *,
        cluster_id: str | None,
        kind: Kind | None,
        mark: CommitMark | None,
        progress: Progress,
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._found = found
        self._cluster_id = cluster_id
        self._kind = kind
        self._mark = mark
        self._progress = progress
        self._before: SegmentEnd | None = None
        self.durable_end = 0

    def inspect(self, base: int, following: int | None) -> None:
        """Inspect the segment that starts at `base`.

        Args:
            following: Base offset of the next segment; None for the last one.
        """
        path = self._directory / segment_name(base)
        file = self._fs.open(path)
        try:
            self._found.segments += 1
            try:
                segment = SegmentFile.of(file, path)
            except CorruptLogError as error:
                self._damage(path, 0, str(error.__cause__ or error), offset=base)
                self._before = SegmentEnd(length=file.size(), next_offset=following)
                return
            self._check_header(path, segment.header, base)
            limit = self._limit(file, path, segment.header.sync_marker, base, following)
            self._found.size_bytes += limit
            self._before = self._walk(segment, limit)
        finally:
            file.close()
        self._progress(limit)

    def _limit(
        self, file: ReadableFile, path: Path, marker: bytes, base: int, following: int | None
    ) -> int:
        """Return how many bytes to read, and report missing or surplus bytes.

        A sealed segment that is too short is detected later, from the next segment's header.
        """
        size = file.size()
        if self._mark is not None and base == self._mark.segment_offset:
            return self._limit_by_mark(path, size, self._mark.position)
        if following is None:
            return size
        sealed_at = self._length_before(following)
        # If a segment is missing, the next header refers to that one: no block ends there.
        if not 0 < sealed_at < size or file.pread(SYNC_SIZE, sealed_at - SYNC_SIZE) != marker:
            return size
        what = (
            f"{size - sealed_at} bytes past the end that {segment_name(following)} names, written "
            "by a writer that had lost the log; nobody reads them"
        )
        self._note(path, sealed_at, what)
        return sealed_at

    def _limit_by_mark(self, path: Path, size: int, position: int) -> int:
        if size > position:
            what = (
                f"{size - position} bytes past the commit mark: being written, or left by a "
                "writer that stopped; the next one decides"
            )
            self._note(path, position, what)
        if size < position:
            what = (
                f"the file ends here, the commit mark says byte {position}; is this a short copy? "
                "A copy of a live log is made with `metalog backup`"
            )
            self._damage(path, size, what)
        return min(size, position)

    def _length_before(self, base: int) -> int:
        """Return the length of the file before a segment, from the segment's header.

        Returns 0 if the header is unreadable.
        """
        path = self._directory / segment_name(base)
        try:
            return read_segment_header(self._fs, path).previous_length
        except CorruptLogError:
            return 0

    def _check_header(self, path: Path, header: SegmentHeader, base: int) -> None:
        expected: dict[str, tuple[object, object]] = {"base offset": (header.base_offset, base)}
        if self._cluster_id is not None:
            expected["cluster id"] = (header.cluster_id, self._cluster_id)
        before = self._before
        if before is not None:
            if before.next_offset is not None and before.next_offset != base:
                self._damage(
                    path,
                    0,
                    f"starts at offset {base}, the segment before ends at "
                    f"{before.next_offset}: "
                    "a segment between them, or the end of the one before, is missing",
                    offset=before.next_offset,
                )
            elif before.last_crc32c is not None:
                expected |= {
                    "length of the file before": (header.previous_length, before.length),
                    "CRC of the block before": (header.previous_crc32c, before.last_crc32c),
                    "highest time before": (header.max_timestamp, before.max_timestamp),
                }
            if self._kind is Kind.OWN and header.leader_epoch < before.leader_epoch:
                expected["leader epoch"] = (header.leader_epoch, f">= {before.leader_epoch}")
        for name, (found, wanted) in expected.items():
            if found != wanted:
                self._damage(
                    path, 0, f"the header's {name} is {found}, expected {wanted}", offset=base
                )

    def _walk(self, segment: SegmentFile, limit: int) -> SegmentEnd:
        """Inspect every block of a segment; return the segment's end."""
        path, header = segment.path, segment.header
        walk = BlockWalk(segment, limit)
        index = IndexCheck(self._fs, self._directory, header.base_offset)
        block_filter = FilterCheck(self._fs, self._directory, header.base_offset, segment.file)
        highest, epoch = header.max_timestamp, header.leader_epoch
        for item in walk:
            if isinstance(item, BadBytes):
                self._bad_bytes(path, item)
                continue
            self._found.blocks += 1
            self._found.records += len(item.rows)
            index.see(item, highest)
            block_filter.see(item)
            self._check_block(path, item, highest, header.leader_epoch)
            latest = item.max_timestamp
            highest = max(latest, highest or latest)
            epoch = item.leader_epoch
        scan, mark = walk.scan, self._mark
        is_marked = mark is not None and mark.segment_offset == header.base_offset
        if walk.is_whole:
            if is_marked:
                self._check_end(path, scan.position, scan.next_offset, scan.last_crc32c)
            self._check_index(index, header.base_offset, scan.next_offset if is_marked else None)
        if block_filter.problem is not None:
            name, what = block_filter.problem
            remedy = "remove the file: a filter only makes searching faster"
            self._damage(self._directory / name, 0, what, remedy=remedy)
        return SegmentEnd(
            length=limit,
            next_offset=scan.next_offset,
            last_crc32c=scan.last_crc32c if walk.is_whole else None,
            max_timestamp=highest,
            leader_epoch=epoch,
        )

    def _check_block(self, path: Path, block: ReadBlock, highest: int | None, epoch: int) -> None:
        """Check a block's place: against its segment, and against the blocks before it.

        The block's content was checked when it was read.
        """
        batch, durable_end = block.batches[0], block.durable_end
        self.durable_end = max(self.durable_end, durable_end)
        problems = []
        if durable_end > batch.base_offset:
            problems.append(f"claims that the log was durable up to {durable_end}")
        if self._kind is Kind.OWN:
            if batch.leader_epoch != epoch:
                problems.append(f"is of epoch {batch.leader_epoch}, its segment of {epoch}")
            if highest is not None and batch.timestamp < highest:
                problems.append(f"has time {batch.timestamp}, one before it {highest}")
        for problem in problems:
            self._damage(
                path,
                block.position,
                f"the batch at offset {batch.base_offset} {problem}",
                end=block.end_position,
                offset=batch.base_offset,
            )

    def _check_end(
        self, path: Path, position: int, next_offset: int | None, last_crc32c: int | None
    ) -> None:
        mark = self._mark
        assert mark is not None
        if next_offset != mark.end_offset:
            self._damage(
                path,
                position,
                f"the log ends at offset {next_offset}, the commit mark says {mark.end_offset}",
                offset=next_offset,
            )
        elif last_crc32c != mark.last_crc32c:
            self._damage(
                path,
                position,
                f"the block that ends here has CRC 0x{last_crc32c or 0:08x}"
                f", the commit mark says 0x{mark.last_crc32c:08x}",
            )

    def _check_index(self, index: IndexCheck, base: int, grows_from: int | None) -> None:
        problem = index.problem(grows_from)
        if problem is not None:
            byte, what = problem
            self._damage(
                self._directory / index_name(base),
                byte,
                what,
                remedy="remove the file: an index only makes reading faster",
            )

    def _bad_bytes(self, path: Path, bad: BadBytes) -> None:
        self._damage(path, bad.position, bad.why, end=bad.end_position, offset=bad.next_offset)

    def _damage(
        self,
        path: Path,
        byte: int,
        what: str,
        *,
        remedy: str = REPAIR,
        end: int | None = None,
        offset: int | None = None,
    ) -> None:
        self._found.damage.append(
            Finding(
                file=path.name,
                byte=byte,
                end_byte=end,
                from_offset=offset,
                what=what,
                remedy=remedy.replace("LOG", str(self._directory)),
            )
        )

    def _note(self, path: Path, byte: int, what: str) -> None:
        self._found.notes.append(
            Finding(file=path.name, byte=byte, what=what, remedy="nothing to do")
        )
