"""Reading of one batch at a known place in the log, without opening the whole log."""

from pathlib import Path

import msgspec

from metadata_log.batch import Batch
from metadata_log.fs import ByteStore
from metadata_log.names import segment_name
from metadata_log.segment_file import ScanStart, SegmentFile


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
