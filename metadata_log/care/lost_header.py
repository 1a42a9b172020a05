"""Rebuilds a segment's damaged header from the files around it.

The epoch is found by the sync marker, a hash of cluster id, base offset and epoch: if the marker of
an epoch ends both the header and the first block, that was the epoch.
"""

import msgspec

from metadata_log.block import SYNC_SIZE, parse_block
from metadata_log.fs import ReadableFile
from metadata_log.limits import BLOCK_STORED_BYTES_MAX
from metadata_log.segment import SegmentHeader
from records.errors import CorruptLogError


def rebuild_header(
    file: ReadableFile, before: SegmentHeader, epochs: range
) -> tuple[SegmentHeader, int] | None:
    """Reconstruct a damaged header.

    Args:
        before: What is known of it, with the schema of the segments around it.
        epochs: Epochs that may have started the segment.

    Returns:
        The header and the position of the first block; None if no first block proves it.
    """
    for epoch in epochs:
        header = msgspec.structs.replace(before, leader_epoch=epoch)
        end = len(header.encode())
        # Compare the marker before reading the block: there may be many epochs.
        if file.pread(SYNC_SIZE, end - SYNC_SIZE) != header.sync_marker:
            continue
        data = file.pread(min(BLOCK_STORED_BYTES_MAX, file.size() - end), end)
        try:
            block = parse_block(data, 0, end, header.sync_marker)
        except CorruptLogError:
            continue
        if block is not None:
            return header, end
    return None
