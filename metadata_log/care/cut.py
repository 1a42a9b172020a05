"""Cuts a log so that it ends at a given offset."""

import msgspec

from metadata_log.batch import Batch, offsets_covered
from metadata_log.block import BlockEncoder
from metadata_log.care.committed import CommittedSegment
from metadata_log.limits import BLOCK_DECODED_BYTES_MAX
from metadata_log.segment import SegmentHeader
from records.envelope import Envelope


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """The end of what is kept of one segment.

    Its first `position` bytes are kept: whole batches below `end_offset`. If the requested offset
    is inside the next batch, `rows` are that batch's rows below it.
    """

    segment: CommittedSegment
    position: int
    end_offset: int
    leader_epoch: int
    last_crc32c: int
    max_timestamp: int | None
    rows: tuple[Envelope, ...] = ()
    cut_batch: tuple[int, int] | None = None


class CutEnd(msgspec.Struct, frozen=True, kw_only=True):
    """A segment whose only block is the beginning of a batch."""

    header: SegmentHeader
    stored: bytes
    end_offset: int


def cut_at(segment: CommittedSegment, end_offset: int) -> Cut:
    """Return where to cut a segment so that the log ends at `end_offset` (exclusive).

    Inside a run of NoOps the cut is before the run: its batches are not known separately, and none
    of its records changes anything.

    Raises:
        CorruptLogError: the segment is damaged before that place.
    """
    header = segment.header
    with segment.scan() as scan:
        cut = Cut(
            segment=segment,
            position=scan.position,
            end_offset=header.base_offset,
            leader_epoch=header.leader_epoch,
            last_crc32c=header.previous_crc32c,
            max_timestamp=header.max_timestamp,
        )
        for block, batch in scan.batches():
            if batch.end_offset > end_offset:
                return _inside(cut, batch, end_offset)
            cut = msgspec.structs.replace(
                cut,
                position=block.end_position,
                end_offset=batch.end_offset,
                leader_epoch=batch.leader_epoch,
                last_crc32c=block.crc32c,
                max_timestamp=max(batch.timestamp, cut.max_timestamp or batch.timestamp),
            )
        return cut


def _inside(cut: Cut, batch: Batch, end_offset: int) -> Cut:
    rows = tuple(
        row for row in batch.rows if row.offset + offsets_covered(row.payload) <= end_offset
    )
    if batch.base_offset >= end_offset:
        return cut
    return msgspec.structs.replace(cut, rows=rows, cut_batch=(batch.base_offset, batch.end_offset))


def encode_cut_end(cut: Cut, cluster_id: str) -> CutEnd:
    """Return a segment with the kept rows of a batch that was cut.

    They need a segment of their own, because the one before may have an older schema.
    """
    first, last = cut.rows[0], cut.rows[-1]
    replaces = cut.end_offset == cut.segment.base_offset
    header = SegmentHeader(
        cluster_id=cluster_id,
        base_offset=first.offset,
        leader_epoch=first.leader_epoch,
        previous_length=cut.segment.header.previous_length if replaces else cut.position,
        previous_crc32c=cut.last_crc32c,
        max_timestamp=cut.max_timestamp,
    )
    stored = BlockEncoder(BLOCK_DECODED_BYTES_MAX).encode(cut.rows, header.sync_marker)
    return CutEnd(
        header=header, stored=stored, end_offset=last.offset + offsets_covered(last.payload)
    )
