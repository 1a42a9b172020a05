"""A log in memory that can be slow or full, or lose its epoch to another writer."""

import asyncio

from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.format.block import encode_ahead
from records.envelope import Envelope
from records.errors import RequestError, UnavailableError


class MemoryLog:
    """Keeps batches in the order of the calls.

    Attributes:
        batches: The committed batches.
        error: The error of all appends from now on; None while the log works.
        room: Number of further batches that fit; None for no limit.
        full: The error of an append when the log is full.
    """

    def __init__(self, end_offset: int = 0) -> None:
        self.leader_epoch = 1
        self.end_offset = end_offset
        self.batches: list[NewBatch] = []
        self.error: Exception | None = None
        self.room: int | None = None
        self.full: Exception = UnavailableError("the disk is full")
        self._refusals: list[RequestError] = []
        self._turn = asyncio.Lock()
        self._free = asyncio.Event()
        self._free.set()

    def hold(self) -> None:
        """Make appends wait until `release`."""
        self._free.clear()

    def release(self) -> None:
        self._free.set()

    def refuse_next(self, error: RequestError) -> None:
        """Refuse the next append with this error; later appends are not affected."""
        self._refusals.append(error)

    async def append(
        self, batch: NewBatch, *, expected_end_offset: int | None = None
    ) -> AppendResult:
        async with self._turn:  # a lock is fair, an event is not
            await self._free.wait()
        if self.error is not None:
            raise self.error
        if self._refusals:
            raise self._refusals.pop()
        base = self.end_offset
        if expected_end_offset not in (None, base):
            message = f"the log ends at {base}, expected {expected_end_offset}"
            raise RequestError("INVALID_UPDATE_VERSION", message)
        if self.room is not None:
            if not self.room:
                raise self.full
            self.room -= 1
        assert batch.timestamp is not None
        _check_encoded(batch, base, self.leader_epoch)
        self.batches.append(batch)
        self.end_offset += len(batch.records)
        return AppendResult(
            base_offset=base,
            end_offset=self.end_offset,
            leader_epoch=self.leader_epoch,
            timestamp=batch.timestamp,
        )


def _check_encoded(batch: NewBatch, base: int, leader_epoch: int) -> None:
    """Check that a batch that was encoded in advance has the bytes that the log would write
    here.
    """
    if batch.encoded is None:
        return
    assert batch.timestamp is not None and batch.record_versions is not None
    rows = [
        Envelope(
            offset=base + index,
            leader_epoch=leader_epoch,
            timestamp=batch.timestamp,
            batch_offset=base,
            record_version=version,
            origin=batch.origin,
            payload=record,
        )
        for index, (record, version) in enumerate(
            zip(batch.records, batch.record_versions, strict=True)
        )
    ]
    assert batch.encoded == encode_ahead(rows)
