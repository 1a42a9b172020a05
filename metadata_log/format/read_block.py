"""A block as read: its place in the file, and the batches in it."""

import itertools
from collections.abc import Sequence

import msgspec

from metadata_log.format.batch import Batch, latest_time
from metadata_log.format.block import StoredBlock
from records.envelope import Envelope


class ReadBlock(msgspec.Struct, frozen=True, gc=False):
    """A stored block and its batches, in order.

    There is one batch; in a mirror whose segment header allows it, several whole batches of the
    source, all of one leader epoch. Only a block's first row has the CRC of the preceding block.
    """

    stored: StoredBlock
    batches: tuple[Batch, ...]

    @property
    def position(self) -> int:
        """Start byte of the block in its file."""
        return self.stored.position

    @property
    def end_position(self) -> int:
        """Byte after the block in its file."""
        return self.stored.end_position

    @property
    def crc32c(self) -> int:
        """CRC-32C of the block's stored bytes."""
        return self.stored.crc32c

    @property
    def base_offset(self) -> int:
        """Offset of the first row."""
        return self.batches[0].base_offset

    @property
    def end_offset(self) -> int:
        """The offset after the last row."""
        return self.batches[-1].end_offset

    @property
    def leader_epoch(self) -> int:
        """The epoch of all rows."""
        return self.batches[0].leader_epoch

    @property
    def max_timestamp(self) -> int:
        """The highest append time of the block's batches, ms since 1970."""
        return max(latest_time(row) for b in self.batches for row in (b.rows[0], b.rows[-1]))

    @property
    def previous_crc32c(self) -> int:
        """CRC-32C of the block before, 0 if there is none."""
        return self.batches[0].rows[0].previous_crc32c or 0

    @property
    def durable_end(self) -> int:
        """The end offset of the log that was on stable storage when the block was encoded."""
        return self.batches[0].rows[0].durable_end or 0

    @property
    def rows(self) -> tuple[Envelope, ...]:
        """The rows of all batches."""
        if len(self.batches) == 1:
            return self.batches[0].rows
        return tuple(itertools.chain.from_iterable(batch.rows for batch in self.batches))


def split_batches(rows: Sequence[Envelope]) -> tuple[Batch, ...]:
    """Split the rows of a block into batches, without checking them."""
    groups = itertools.groupby(rows, key=lambda row: row.batch_offset)
    return tuple(Batch.of(list(group)) for _, group in groups)
