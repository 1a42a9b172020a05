"""A segment's header made anew: all that is in it follows from what stands around it.

Which epoch it was is told by the sync marker, a hash of cluster id, base offset and epoch: when the
marker of an epoch ends the header and the first block, no other header can have stood there.
"""

import msgspec

from metadata_log.block import SYNC_SIZE, parse_block
from metadata_log.fs import File
from metadata_log.limits import BLOCK_STORED_BYTES_MAX
from metadata_log.segment import SegmentHeader
from records.errors import CorruptLogError


def rebuild_header(
    file: File, before: SegmentHeader, epochs: range
) -> tuple[SegmentHeader, int] | None:
    """Find the header that a damaged one must have been.

    Args:
        before: What is known of it, with the schema that the segments around it have.
        epochs: Which may have begun the segment.

    Returns:
        The header and the position of the first block; None when no first block proves it.
    """
    for epoch in epochs:
        header = msgspec.structs.replace(before, leader_epoch=epoch)
        end = len(header.encode())
        # The marker is compared before the block is read: there may be many epochs.
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
