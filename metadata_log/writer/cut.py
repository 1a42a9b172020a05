"""Cutting a log so that it ends at a given offset."""

import msgspec

from metadata_log.format.batch import offsets_covered
from metadata_log.format.block import BlockEncoder, ReadBlock
from metadata_log.format.segment import SegmentHeader
from metadata_log.limits import BLOCK_DECODED_BYTES_MAX
from metadata_log.reader.committed import CommittedSegment
from records.envelope import Envelope


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """Where to cut a segment, and the rows of the cut block to keep.

    The first `position` bytes of the segment are kept: all blocks up to `end_offset`. If the
    requested offset is inside the next block, `rows` are the rows of that block below the offset.
    If the requested offset is inside a batch, `cut_batch` has that batch's base offset and end
    offset.
    """

    segment: CommittedSegment
    position: int
    end_offset: int
    leader_epoch: int
    last_crc32c: int
    max_timestamp: int | None
    rows: tuple[Envelope, ...] = ()
    cut_batch: tuple[int, int] | None = None

    @property
    def replaces_segment(self) -> bool:
        """True if no block of the segment is kept: a new segment with the kept rows replaces it."""
        return self.end_offset == self.segment.base_offset

    @property
    def continues_source(self) -> bool:
        """The value of `continues_source` in the header of a mirror's segment that starts at the
        cut.
        """
        return self.segment.header.continues_source or not self.replaces_segment


class CutEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The last segment of a cut log: its only block has the kept rows of the block that was cut."""

    header: SegmentHeader
    stored: bytes
    end_offset: int


def cut_at(segment: CommittedSegment, end_offset: int) -> Cut:
    """Return where to cut a segment so that the log ends at `end_offset` (exclusive).

    If the offset is inside a run of NoOps, the cut is before the run: the run's batches are not
    known separately, and its records change nothing.

    Raises:
        CorruptLogError: the segment is damaged before the cut.
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
        for block in scan.blocks():
            if block.end_offset > end_offset:
                return _inside(cut, block, end_offset)
            latest = block.max_timestamp
            cut = msgspec.structs.replace(
                cut,
                position=block.end_position,
                end_offset=block.end_offset,
                leader_epoch=block.leader_epoch,
                last_crc32c=block.crc32c,
                max_timestamp=max(latest, cut.max_timestamp or latest),
            )
        return cut


def _inside(cut: Cut, block: ReadBlock, end_offset: int) -> Cut:
    rows = tuple(
        row for row in block.rows if row.offset + offsets_covered(row.payload) <= end_offset
    )
    cut_batch = None
    for batch in block.batches:
        if batch.base_offset < end_offset < batch.end_offset:
            cut_batch = batch.base_offset, batch.end_offset
    return msgspec.structs.replace(cut, rows=rows, cut_batch=cut_batch)


def encode_cut_end(cut: Cut, cluster_id: str, *, is_mirror: bool) -> CutEnd:
    """Return a new segment that contains only the kept rows of the block that was cut.

    The rows need a segment of their own, because the segment before may have an older schema.
    """
    first, last = cut.rows[0], cut.rows[-1]
    replaces = cut.replaces_segment
    header = SegmentHeader(
        cluster_id=cluster_id,
        base_offset=first.offset,
        leader_epoch=first.leader_epoch,
        previous_length=cut.segment.header.previous_length if replaces else cut.position,
        previous_crc32c=cut.last_crc32c,
        max_timestamp=cut.max_timestamp,
        holds_batches=cut.segment.header.holds_batches,
        continues_source=is_mirror and cut.continues_source,
    )
    stored = BlockEncoder(BLOCK_DECODED_BYTES_MAX).encode(cut.rows, header.sync_marker)
    return CutEnd(
        header=header, stored=stored, end_offset=last.offset + offsets_covered(last.payload)
    )
