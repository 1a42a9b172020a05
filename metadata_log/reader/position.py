"""Proof of position: identifies a log, and the offset up to which data was derived from it.

Blocks are chained by their CRCs, so two equal positions have the same history before them. Data
derived from a log keeps its position, and is used only while the log agrees with that position.
"""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from metadata_log.format.batch import Batch
from metadata_log.format.checkpoint import Checkpoint
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.manifest import Kind
from records.control import NoOpRunRecord
from records.errors import RequestError


class Position(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A place in the log of a cluster.

    `end_offset` is exclusive; `leader_epoch` is the epoch of the last record before it.
    `last_crc32c` is the CRC-32C of the block with that record; None if it is not known. In
    a mirror, `last_crc32c` is the CRC of Kafka's batch, because a mirror's blocks are not part of
    the source.
    """

    cluster_id: str
    end_offset: int
    leader_epoch: int
    last_crc32c: int | None

    def contradicts(self, other: "Position") -> bool:
        """True if the two positions cannot be the same place in the same history."""
        crcs = {self.last_crc32c, other.last_crc32c} - {None}
        mine = self.cluster_id, self.end_offset, self.leader_epoch
        return len(crcs) > 1 or mine != (other.cluster_id, other.end_offset, other.leader_epoch)


class ChainedLog(Protocol):
    """A log whose blocks are chained by their CRCs."""

    @property
    def kind(self) -> Kind: ...

    @property
    def cluster_id(self) -> str: ...

    @property
    def base(self) -> Checkpoint | None: ...

    @property
    def history_start(self) -> int: ...

    @property
    def mark(self) -> CommitMark:
        """The commit mark up to which the log is read."""

    def batches(self, from_offset: int, to_offset: int) -> Iterator[Batch]:
        """Return the whole batches that have any offset in [from_offset, to_offset)."""


def position_at(log: ChainedLog, end_offset: int) -> Position:
    """Return the position at an end offset; reads at most two blocks.

    Args:
        end_offset: In [log.history_start, log.end_offset].

    Raises:
        CorruptLogError: the log is damaged there.
    """
    if end_offset == log.history_start:
        leader_epoch, crc = _at_start(log)
    else:
        batches = iter(log.batches(end_offset - 1, log.mark.end_offset))
        last = next(batches)
        leader_epoch = last.leader_epoch
        if log.kind is Kind.MIRROR:
            crc = source_crc(last)
        else:
            # The log is not read to its end, which is where its last block is checked.
            is_end = last.end_offset == log.mark.end_offset
            crc = _crc_before(log, None if is_end else next(batches))
    return Position(
        cluster_id=log.cluster_id,
        end_offset=end_offset,
        leader_epoch=leader_epoch,
        last_crc32c=crc,
    )


def _at_start(log: ChainedLog) -> tuple[int, int | None]:
    if log.base is None:
        return 0, None
    header = log.base.header
    # A base written by `retain` names the CRC of the last block it replaces.
    is_known = log.kind is Kind.OWN and header.previous_length > 0
    return log.base.leader_epoch, header.previous_crc32c if is_known else None


def crc_before(log: ChainedLog, offset: int) -> int:
    """Return the CRC of the block that ends at an offset, read from the next block or the mark."""
    return _crc_before(log, next(iter(log.batches(offset, offset + 1)), None))


def _crc_before(log: ChainedLog, following: Batch | None) -> int:
    if following is None:
        return log.mark.last_crc32c
    return following.rows[0].previous_crc32c or 0


def source_crc(batch: Batch) -> int | None:
    """Return the CRC of Kafka's batch; None for a run of NoOps, which stands for many batches."""
    from metadata_log.kraft_format.batch import parse_header
    from metadata_log.kraft_format.batch_codec import encode_batch

    if isinstance(batch.rows[-1].payload, NoOpRunRecord):
        return None
    try:
        return parse_header(encode_batch(batch.rows)).crc
    except RequestError:
        return None
