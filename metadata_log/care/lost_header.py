"""Reconstruction of a segment's damaged header from the files around it.

The epoch is found with the sync marker, which is a hash of cluster id, base offset and epoch: if
the marker computed for an epoch ends both the header and the first block, the segment has that
epoch.
"""

import itertools
from collections.abc import Iterable

import msgspec

from metadata_log.files.fs import ReadableFile
from metadata_log.format.block import SYNC_SIZE, parse_block
from metadata_log.format.segment import SegmentHeader
from metadata_log.limits import BLOCK_STORED_BYTES_MAX
from records.errors import CorruptLogError


def rebuild_header(
    file: ReadableFile, variants: Iterable[SegmentHeader], epochs: range
) -> tuple[SegmentHeader, int] | None:
    """Reconstruct a damaged header of a segment.

    Args:
        variants: Possible headers, with the schemas of the neighbouring segments. No two have the
            same length.
        epochs: Epochs in which the segment may have been started.

    Returns:
        The header and the position of the first block; None if the first block does not match any
        header.
    """
    for variant, epoch in itertools.product(variants, epochs):
        header = msgspec.structs.replace(variant, leader_epoch=epoch)
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
