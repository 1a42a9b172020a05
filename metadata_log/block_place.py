"""Reading one batch whose place in the log is known, without opening the whole log."""

from pathlib import Path

import msgspec

from metadata_log.batch import Batch
from metadata_log.fs import ByteStore
from metadata_log.names import segment_name
from metadata_log.segment_file import ScanStart, SegmentFile


class BlockPlace(msgspec.Struct, frozen=True, gc=False):
    """The bytes of a block: its segment's base offset, and where it begins and ends there."""

    segment_offset: int
    position: int
    end_position: int


def read_batch(fs: ByteStore, directory: Path, place: BlockPlace) -> Batch:
    """Return the first batch of a block, checked; costs as much in a long log as in a short one.

    Raises:
        FileNotFoundError: the segment is gone: the log's start has moved up.
        CorruptLogError: the block is damaged; names file and byte.
    """
    path = directory / segment_name(place.segment_offset)
    with SegmentFile.opened(fs, path) as segment:
        block = next(segment.scan(place.end_position, ScanStart(place.position)).blocks())
        return block.batches[0]
