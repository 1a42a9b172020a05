"""A log that stores nothing, on which a controller decides exactly as on the real log."""

from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.writer.clock import Clock, SystemClock


class RehearsalLog:
    """Acknowledges every batch immediately, without storing it.

    Attributes:
        leader_epoch: The epoch that a writer of the real log would claim.
        end_offset: The log's end, exclusive; each append advances it, as in the real log.
        clock: This machine's clock.
    """

    def __init__(self, *, leader_epoch: int, end_offset: int) -> None:
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset
        self.clock: Clock = SystemClock()

    async def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> AppendResult:
        """Advance the end offset by the number of records; return the result of a successful
        append.
        """
        assert expected_end_offset in (None, self.end_offset), "only one controller writes here"
        assert batch.timestamp is not None, "a controller dates its batches"
        base = self.end_offset
        self.end_offset += len(batch.records)
        return AppendResult(
            base_offset=base,
            end_offset=self.end_offset,
            leader_epoch=self.leader_epoch,
            timestamp=batch.timestamp,
        )
