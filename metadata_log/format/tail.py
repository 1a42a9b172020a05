"""Tail: the end of the written log, where the next block goes."""

from collections.abc import Sequence

import msgspec

from metadata_log.format.segment import SegmentHeader
from records.control import NoOpRunRecord
from records.envelope import Envelope


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the written log: the place of the next block, and the block before it.

    `segment_offset` and `position` refer to the last segment; `position` is 0 if no segment exists.
    `previous_length` is the length of the file before that segment, 0 without such a file.
    `last_crc32c` is the CRC-32C of the last block before `position`, even if that block is in an
    earlier file; 0 if there is no block.
    """

    end_offset: int
    leader_epoch: int
    segment_offset: int
    position: int
    previous_length: int
    last_crc32c: int
    max_timestamp: int | None

    def latest(self, rows: Sequence[Envelope]) -> int | None:
        """Return the highest append time of `rows` and all earlier records; None without any."""
        times = {row.timestamp for row in rows}
        payloads = [row.payload for row in rows]
        times.update([each.last_timestamp for each in payloads if type(each) is NoOpRunRecord])
        if self.max_timestamp is not None:
            times.add(self.max_timestamp)
        return max(times, default=None)

    def precedes(self, header: SegmentHeader) -> bool:
        """True if a segment continues the log here, as its header says."""
        return (header.base_offset, header.previous_length, header.previous_crc32c) == (
            self.end_offset,
            self.position,
            self.last_crc32c,
        )


EMPTY_TAIL = Tail(
    end_offset=0,
    leader_epoch=0,
    segment_offset=0,
    position=0,
    previous_length=0,
    last_crc32c=0,
    max_timestamp=None,
)
"""The tail of an empty log."""
