"""Reading one batch whose place in the log is known, without opening the whole log."""

from pathlib import Path

import msgspec

from metadata_log.batch import Batch
from metadata_log.fs import Fs
from metadata_log.names import segment_name
from metadata_log.segment_scan import SegmentScan, read_header


class BlockPlace(msgspec.Struct, frozen=True, gc=False):
    """The bytes of a block: its segment's base offset, and where it begins and ends there."""

    segment_offset: int
    position: int
    end_position: int


def read_batch(fs: Fs, directory: Path, place: BlockPlace) -> Batch:
    """Return the batch at a place, checked; costs as much in a long log as in a short one.

    Raises:
        FileNotFoundError: the segment is gone: the log's start has moved up.
        CorruptLogError: the block is damaged; names file and byte.
    """
    path = directory / segment_name(place.segment_offset)
    file = fs.open(path)
    try:
        header, _ = read_header(file, path)
        scan = SegmentScan(
            file,
            path,
            header,
            position=place.position,
            limit=place.end_position,
            next_offset=None,
            last_crc32c=None,
        )
        _, batch = next(scan.batches())
        return batch
    finally:
        file.close()
