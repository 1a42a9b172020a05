"""One segment file: its header, scans of its blocks from any position, and reads of one block.

The length of a segment is in the next segment's header; that of the last segment is in the commit
mark. The file can be longer: a fenced writer may have written to it after the next segment began.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from metadata_log.files.fs import ByteStore, ReadableFile, moved_up
from metadata_log.files.names import segment_name
from metadata_log.format.batch import Batch
from metadata_log.format.block_filter import BlockFilter
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_scan import SegmentScan, read_header


class ScanStart(msgspec.Struct, frozen=True):
    """The start of a block, with the values to check it against.

    `next_offset` is the offset of the block's first record, `last_crc32c` the CRC of the block
    before it; a value is None if it is not known.
    """

    position: int
    next_offset: int | None = None
    last_crc32c: int | None = None


class SegmentFile(msgspec.Struct, frozen=True):
    """An open segment or checkpoint.

    Attributes:
        first_position: Byte at which the first block begins.
    """

    file: ReadableFile
    path: Path
    header: SegmentHeader
    first_position: int

    @classmethod
    def of(cls, file: ReadableFile, path: Path) -> Self:
        """Read the header of an open file.

        Raises:
            CorruptLogError: the header is damaged; names the file.
        """
        return cls(file, path, *read_header(file, path))

    @classmethod
    @contextmanager
    def opened(cls, fs: ByteStore, path: Path) -> Iterator[Self]:
        """Open a file, and close it on exit.

        Raises:
            FileNotFoundError: there is no such file.
            CorruptLogError: as for `of`.
        """
        file = fs.open(path)
        try:
            yield cls.of(file, path)
        finally:
            file.close()

    @property
    def first_block(self) -> ScanStart:
        """The start of a segment's first block."""
        return ScanStart(self.first_position, self.header.base_offset, self.header.previous_crc32c)

    def scan(
        self,
        end: int,
        start: ScanStart | None = None,
        block_filter: BlockFilter | None = None,
    ) -> SegmentScan:
        """Return a scan of the blocks up to byte `end`, from the first one or from `start`.

        Args:
            block_filter: The segment's, if blocks are to be searched.
        """
        start = start or self.first_block
        return SegmentScan(
            self.file,
            self.path,
            self.header,
            position=start.position,
            limit=end,
            next_offset=start.next_offset,
            last_crc32c=start.last_crc32c,
            block_filter=block_filter,
        )


@contextmanager
def kept_segment(fs: ByteStore, path: Path) -> Iterator[SegmentFile]:
    """Open a segment that `retain` may remove meanwhile; close it on exit.

    Raises:
        UnavailableError: the segment was removed.
        CorruptLogError: as for `SegmentFile.of`.
    """
    try:
        file = fs.open(path)
    except FileNotFoundError as error:
        raise moved_up(path) from error
    try:
        yield SegmentFile.of(file, path)
    finally:
        file.close()


def read_segment_header(fs: ByteStore, path: Path) -> SegmentHeader:
    """Return a segment's header, which also gives the length of the segment before it.

    Raises:
        FileNotFoundError, CorruptLogError: as for `SegmentFile.opened`.
    """
    with SegmentFile.opened(fs, path) as segment:
        return segment.header


class BlockPlace(msgspec.Struct, frozen=True, gc=False):
    """The place of a block: its segment's base offset, and its start and end byte in that file."""

    segment_offset: int
    position: int
    end_position: int


def read_batch(fs: ByteStore, directory: Path, place: BlockPlace) -> Batch:
    """Return the first batch of a block, checked. The cost does not depend on the log's length.

    Raises:
        FileNotFoundError: the segment was removed, because the log's start has moved up.
        CorruptLogError: the block is damaged; names file and byte.
    """
    path = directory / segment_name(place.segment_offset)
    with SegmentFile.opened(fs, path) as segment:
        block = next(segment.scan(place.end_position, ScanStart(place.position)).blocks())
        return block.batches[0]
