"""Copies rows of one log to a writable log, with the regular log writer."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from metadata_log.format.batch import NewBatch
from metadata_log.limits import BATCH_RECORDS_MAX
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.envelope import Envelope, Origin


class _StandingClock:
    """A clock with a fixed time; the rows have their own times."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms


async def save_new(log: Path, cluster_id: str, units: Sequence[Sequence[Envelope]]) -> None:
    """Create a writable log (not a mirror) from rows.

    Each unit becomes one batch, or a transaction if it is too large for one batch. Its rows get new
    offsets and keep their time, principal and reason.

    Raises:
        RequestError: LOG_EXISTS, the directory is not empty.
        UnavailableError: the disk is full.
    """
    create_log(log, cluster_id)
    await save(log, units)


async def save(log: Path, units: Sequence[Sequence[Envelope]]) -> None:
    """Append rows to a writable log (not a mirror), one batch per unit.

    Raises:
        UnavailableError: another writer has opened the log, or the disk is full.
    """
    first_ms = units[0][0].timestamp if units else 0
    writer = await MetadataLog.open(log, clock=_StandingClock(first_ms))
    try:
        for unit in units:
            for batch in _batches(unit):
                await writer.append(batch)
    finally:
        await writer.close()


def _batches(unit: Sequence[Envelope]) -> Iterator[NewBatch]:
    """Yield the batches of one unit; a unit too large for one batch becomes a transaction."""
    if len(unit) <= BATCH_RECORDS_MAX:
        yield _batch(unit)
        return
    origin, time_ms = _origin(unit[0]), unit[0].timestamp
    begin, end = BeginTransactionRecord(name=None), EndTransactionRecord()
    yield NewBatch(records=(begin,), origin=origin, timestamp=time_ms)
    for start in range(0, len(unit), BATCH_RECORDS_MAX):
        yield _batch(unit[start : start + BATCH_RECORDS_MAX])
    yield NewBatch(records=(end,), origin=origin, timestamp=time_ms)


def _batch(rows: Sequence[Envelope]) -> NewBatch:
    return NewBatch(
        records=tuple([row.payload for row in rows]),
        record_versions=tuple([row.record_version for row in rows]),
        origin=_origin(rows[0]),
        timestamp=rows[0].timestamp,
    )


def _origin(row: Envelope) -> Origin | None:
    """Return the origin of a row without its request id, which belongs to the other log."""
    if row.origin is None:
        return None
    return msgspec.structs.replace(row.origin, request_id=None, request_hash=None)
