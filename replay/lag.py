"""Lag of snapshots and SQL history: how far they are behind the end of their log."""

import msgspec

from replay.loader import BatchSource


class Lag(msgspec.Struct, frozen=True, kw_only=True):
    """Lag of a snapshot, or of the SQL history, behind the log's end.

    Attributes:
        end_offset: The snapshot or history contains all records below this offset.
        records: Number of the log's records from `end_offset` on.
        ms: Time of the log's latest record minus the time of the last record contained; None if
            either is unknown.
    """

    end_offset: int
    records: int
    ms: int | None


def lag_behind(source: BatchSource, latest_ms: int | None, end_offset: int) -> Lag:
    """Return the lag of a snapshot or SQL history that ends at `end_offset` (exclusive).

    Args:
        latest_ms: Time of the log's latest record; None for an empty log.

    Raises:
        CorruptLogError: the log is damaged at `end_offset`.
    """
    held_ms = _time_before(source, end_offset)
    return Lag(
        end_offset=end_offset,
        records=source.end_offset - end_offset,
        ms=None if held_ms is None or latest_ms is None else latest_ms - held_ms,
    )


def _time_before(source: BatchSource, end_offset: int) -> int | None:
    """Return the time of the record before an offset; None if it is unknown."""
    if end_offset <= source.start_offset:
        return source.base.timestamp if source.base else None
    batch = next(iter(source.batches(end_offset - 1, end_offset)))
    return batch.times_at(end_offset - 1)[0]
