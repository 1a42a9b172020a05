"""Reading the blocks of one file in order; each is checked before it is returned."""

from collections.abc import Iterator
from pathlib import Path

import google_crc32c

from metadata_log.files.fs import ReadableFile
from metadata_log.files.names import MANIFEST, segment_name
from metadata_log.format.batch import Batch
from metadata_log.format.block import (
    ReadBlock,
    StoredBlock,
    block_size,
    decompress,
    parse_block,
    split_batches,
)
from metadata_log.format.block_filter import BlockFilter, BlockRun
from metadata_log.format.needles import Needles, previous_crc32c_bytes, type_needle
from metadata_log.format.segment import (
    HEADER_SIZE_BYTES_MAX,
    SegmentHeader,
    decode_header,
    row_decoder,
)
from records.control import NoOpRunRecord
from records.errors import CorruptLogError
from records.varint import decode_long

_READ_SIZE = 1024 * 1024
_FIRST_READ_SIZE = 64 * 1024
_NO_OP_RUN = type_needle(NoOpRunRecord)


def corrupt(
    path: Path, position: int, what: str, intact_below: int | None = None
) -> CorruptLogError:
    """Return the error for a damaged file: names file, byte, intact offsets and the next command.

    Args:
        what: Description of the damage.
    """
    intact = "" if intact_below is None else f"; offsets below {intact_below} are intact"
    return CorruptLogError(
        f"{path} byte {position}: {what}{intact}; look with `metalog dump {path.parent}"
        + ("`" if intact_below is None else f" --to {max(intact_below - 1, 0)}`")
        + f", restore the file from a backup, or rebuild with `metalog repair {path.parent} COPY`"
    )


def short_copy(path: Path, size: int, marked: str) -> CorruptLogError:
    """Return the error for a file that ends before the commit mark."""
    return corrupt(
        path,
        size,
        f"the file ends here, {marked}. Is this a short copy? "
        "A copy of a live log is made with `metalog backup`",
    )


def read_header(file: ReadableFile, path: Path) -> tuple[SegmentHeader, int]:
    """Read and check a file's header; return it and the position of the first block.

    Raises:
        CorruptLogError: the header is damaged; names the file.
    """
    size = file.size()
    want = _FIRST_READ_SIZE
    while True:
        data = file.pread(want, 0)
        try:
            return decode_header(data)
        except CorruptLogError as error:
            if want < min(size, HEADER_SIZE_BYTES_MAX):
                want = HEADER_SIZE_BYTES_MAX
                continue
            raise corrupt(path, 0, str(error)) from error


def check_identity(path: Path, header: SegmentHeader, cluster_id: str) -> None:
    """Check a segment's header against its file name and its log.

    Raises:
        CorruptLogError: the header belongs to another segment or another cluster.
    """
    if segment_name(header.base_offset) != path.name or header.cluster_id != cluster_id:
        raise corrupt(
            path,
            0,
            f"the header is that of offset {header.base_offset} of cluster "
            f"{header.cluster_id!r}; {MANIFEST} says cluster {cluster_id!r}",
        )


class SegmentScan:
    """Blocks of one file from a position to a limit.

    `position` is the end of the last returned block, `next_offset` the offset expected next (None
    before the first block), `last_crc32c` the CRC of the last block's stored bytes (None if it is
    not known, after a start in the middle of a file).
    """

    def __init__(
        self,
        file: ReadableFile,
        path: Path,
        header: SegmentHeader,
        *,
        position: int,
        limit: int,
        next_offset: int | None,
        last_crc32c: int | None,
        block_filter: BlockFilter | None = None,
    ) -> None:
        self._file = file
        self._filter = block_filter
        self.path = path
        self._decode_rows = row_decoder(header.schema_json)
        self._has_newest_schema = header.has_newest_schema
        self._holds_batches = header.holds_batches
        self._sync_marker = header.sync_marker
        self._limit = limit
        self.position = position
        self.next_offset = next_offset
        self.last_crc32c = last_crc32c
        self.last_position = position
        self.last_base_offset: int | None = None
        self._last_is_damaged = False
        self._buffer = b""
        self._buffer_at = position

    def blocks(
        self,
        needles: Needles | None = None,
        to_offset: int | None = None,
        *,
        from_offset: int | None = None,
    ) -> Iterator[ReadBlock]:
        """Yield each block with its batches, up to the limit.

        Args:
            needles: Blocks without any of these may be left out. They are still checked: either
                decompressed, with their place in the chain of blocks, or by the filter's CRC.
            to_offset: The scan may stop at the first block that begins at or after this offset.
            from_offset: Blocks that end at or before this offset may be left out.

        Raises:
            CorruptLogError: the bytes before the limit are not complete, consecutive blocks; names
                file, byte, and the offset below which everything is intact.
        """
        while self.position < self._limit:
            if needles is not None and self._skip_run(needles):
                if to_offset is not None and self.has_passed(to_offset):
                    return
                continue
            stored = self._next_block()
            try:
                body = decompress(stored)
                if from_offset is not None and (self.next_offset or 0) >= from_offset:
                    from_offset = None  # all blocks from here on are in the range
                is_before = from_offset is not None and self._is_before(from_offset, stored, body)
                if is_before or (needles is not None and self._can_skip(stored, body, needles)):
                    self._skip(stored, body)
                    if to_offset is not None and self.has_passed(to_offset):
                        return
                    continue
                block = self._decode(stored, body)
            except CorruptLogError as error:
                raise corrupt(self.path, self.position, str(error), self.next_offset) from error
            self._check_follows(block)
            self.last_position, self.last_base_offset = stored.position, block.base_offset
            self.position = stored.end_position
            self.next_offset = block.end_offset
            self.last_crc32c = stored.crc32c
            yield block

    def has_passed(self, offset: int) -> bool:
        """True if the last block read begins at or after an offset."""
        return self.last_base_offset is not None and self.last_base_offset >= offset

    def peek_offset(self) -> int | None:
        """Return the first offset of the block at the current position; None if there is no valid
        block.
        """
        if self.position >= self._limit:
            return None
        try:
            offset, _ = decode_long(decompress(self._next_block()), 0)
        except (CorruptLogError, IndexError):
            return None
        return offset

    def skip_to(self, position: int) -> None:
        """Continue at `position`, where another block starts; the bytes between are not checked."""
        self.position, self.next_offset, self.last_crc32c = position, None, None

    def _next_block(self) -> StoredBlock:
        start = self.position - self._buffer_at
        try:
            if not 0 <= start < len(self._buffer):
                start = self._fill(_READ_SIZE)
            block = parse_block(self._buffer, start, self.position, self._sync_marker)
            if block is None:
                size = block_size(self._buffer, start) or _READ_SIZE
                start = self._fill(max(size, _READ_SIZE))
                block = parse_block(self._buffer, start, self.position, self._sync_marker)
        except CorruptLogError as error:
            raise corrupt(self.path, self.position, str(error), self.next_offset) from error
        if block is None:
            raise corrupt(
                self.path,
                self.position,
                f"the block runs past byte {self._limit}, where it must have ended",
                self.next_offset,
            )
        return block

    def _fill(self, size: int) -> int:
        """Read up to `size` bytes from the current position into the buffer.

        Returns the index of the current position in the buffer, which is 0.
        """
        size = min(size, self._limit - self.position)
        self._buffer = self._file.pread(size, self.position)
        self._buffer_at = self.position
        return 0

    def _is_before(self, offset: int, block: StoredBlock, body: bytes) -> bool:
        """True if the block has the next offset and provably ends at or before `offset`."""
        if block.end_position >= self._limit or not self._has_newest_schema:
            return False
        base_offset, _ = decode_long(body, 0)
        is_next = self.next_offset in (None, base_offset)
        # A run of NoOps stands for more offsets than rows.
        return is_next and base_offset + block.count <= offset and _NO_OP_RUN not in body

    def _skip_run(self, needles: Needles) -> bool:
        """Skip the run of blocks that begins here, if the filter shows that no needle is in it and
        its bytes are those for which the filter was written.
        """
        run = None if self._filter is None else self._filter.at(self.position)
        # The last block is always decoded: the next segment must begin at its end offset.
        if run is None or run.end_position >= self._limit or needles.may_be_in(run):
            return False
        if self.next_offset not in (None, run.base_offset):
            return False
        if self.last_crc32c not in (None, run.previous_crc32c) or not self._is_intact(run):
            return False
        self.last_position, self.last_base_offset = run.last_position, run.last_base_offset
        self.position, self.next_offset = run.end_position, run.end_offset
        self.last_crc32c = run.last_crc32c
        return True

    def _is_intact(self, run: BlockRun) -> bool:
        size = run.end_position - run.position
        start = run.position - self._buffer_at
        if not 0 <= start <= len(self._buffer) - size:
            start = self._fill(max(size, _READ_SIZE))
        crc32c: int = google_crc32c.value(self._buffer[start : start + size])
        return crc32c == run.content_crc32c

    def _can_skip(self, block: StoredBlock, body: bytes, needles: Needles) -> bool:
        """True if a block contains no needle and provably follows the block before it."""
        # The last block is always decoded: the next segment must begin at its end offset.
        is_last = block.end_position >= self._limit
        if is_last or self.last_crc32c is None or not self._has_newest_schema:
            return False
        if needles.found_in(body, block.count, holds_batches=self._holds_batches):
            return False
        return previous_crc32c_bytes(self.last_crc32c) in body

    def _skip(self, block: StoredBlock, body: bytes) -> None:
        base_offset, _ = decode_long(body, 0)
        self.last_position, self.last_base_offset = block.position, base_offset
        self.position = block.end_position
        self.next_offset = None if _NO_OP_RUN in body else base_offset + block.count
        self.last_crc32c = block.crc32c

    def _decode(self, stored: StoredBlock, body: bytes) -> ReadBlock:
        rows = self._decode_rows(body, stored.count)
        if not self._holds_batches:
            batch = Batch.of(rows)
            _check(batch, self.next_offset)
            return ReadBlock(stored, (batch,))
        block = ReadBlock(stored, split_batches(rows))
        next_offset = self.next_offset
        for batch in block.batches:
            _check(batch, next_offset)
            if batch.leader_epoch != block.leader_epoch:
                raise CorruptLogError(
                    f"the batch at offset {batch.base_offset} is of epoch {batch.leader_epoch}, "
                    f"its block is of epoch {block.leader_epoch}"
                )
            next_offset = batch.end_offset
        return block

    def _check_follows(self, block: ReadBlock) -> None:
        """Check that this block contains the CRC of the block before it."""
        before, after = self.last_crc32c, block.previous_crc32c
        if before is None or after == before:
            return
        if self.last_base_offset is None:
            raise corrupt(
                self.path,
                self.position,
                f"the first block was written after CRC 0x{after:08x}, but the header says "
                f"0x{before:08x}",
                self.next_offset,
            )
        self._last_is_damaged = True
        raise self.last_block_damage(f"the next block was written after one with 0x{after:08x}")

    @property
    def intact_below(self) -> int | None:
        """The offset below which everything read is intact; None before the first block."""
        return self.last_base_offset if self._last_is_damaged else self.next_offset

    def last_block_damage(self, expected: str) -> CorruptLogError:
        """Return the error for a last block that is valid but has another CRC than expected."""
        return corrupt(
            self.path,
            self.last_position,
            f"the block has CRC 0x{self.last_crc32c or 0:08x}, {expected}",
            self.last_base_offset,
        )


def _check(batch: Batch, next_offset: int | None) -> None:
    """Check the offsets of a batch's rows; the batch must start at `next_offset`, unless that is
    None.
    """
    first = batch.rows[0]
    if first.offset != batch.base_offset:
        raise CorruptLogError(
            f"the first row has offset {first.offset}, its batch starts at {batch.base_offset}"
        )
    if next_offset is not None and first.offset != next_offset:
        raise CorruptLogError(f"the batch has offset {first.offset}, expected {next_offset}")
    for expected, row in enumerate(batch.rows, first.offset):
        if row.offset != expected:
            raise CorruptLogError(f"a row has offset {row.offset}, expected {expected}")
        if row.batch_offset != first.offset:
            raise CorruptLogError(
                f"the row at offset {row.offset} belongs to the batch at {row.batch_offset}, "
                f"but is in the block of the batch at {first.offset}"
            )


def check_follows(path: Path, header: SegmentHeader, previous: SegmentScan) -> None:
    """Check that a segment continues the segment that was read before it.

    Raises:
        CorruptLogError: a segment is missing, or the segment before has changed.
    """
    if (header.base_offset, header.previous_length) != (previous.next_offset, previous.position):
        raise corrupt(
            previous.path,
            previous.position,
            f"the segment ends here at offset {previous.next_offset}, {path.name} was written "
            f"after one of {header.previous_length} bytes: this segment was shortened, or a "
            "segment between them is missing",
            previous.next_offset,
        )
    if previous.last_crc32c not in (None, header.previous_crc32c):
        raise previous.last_block_damage(f"{path.name} says 0x{header.previous_crc32c:08x}")
