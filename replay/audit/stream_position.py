"""Positions of a stream in a log: how far the stream may read, and whether the log is the same.

A position includes a proof (metadata_log/reader/position.py). The proof reveals, before any row is
read, that a log was restored or replaced, or that its unconfirmed end was rewritten.
"""

from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import Position
from records.errors import RequestError
from replay.audit.earlier_part import KeptHistory


def readable_end(reader: KeptHistory, *, unconfirmed: bool) -> int:
    """Return the end offset, exclusive, up to which a stream may read.

    Args:
        unconfirmed: Include the end of a mirror that Kafka may still replace.
    """
    return reader.end_offset if unconfirmed else reader.confirmed_end


def stream_position(reader: LogReader, end_offset: int) -> Position:
    """Return the position at an end offset in [reader.start_offset, reader.end_offset].

    At the log's start the position has no proof if the preceding record is no longer kept.

    Raises:
        CorruptLogError: the log is damaged at that offset.
    """
    if end_offset == reader.start_offset != reader.history_start:
        return Position(
            cluster_id=reader.cluster_id, end_offset=end_offset, leader_epoch=0, last_crc32c=None
        )
    return reader.position(end_offset)


def check_same_history(reader: LogReader, position: Position) -> None:
    """Check that a log still has the history that a stream has read up to a position.

    For a position at or before the log's start only the cluster id can be checked.

    Raises:
        RequestError: WRONG_LOG: it is another log, it was restored to an earlier point, or the
            unconfirmed end of a mirror was replaced.
        CorruptLogError: the log is damaged at the position.
    """
    at = position.end_offset
    if position.cluster_id != reader.cluster_id:
        raise RequestError(
            "WRONG_LOG",
            f"{reader.directory} is a log of cluster {reader.cluster_id}, what was read before is "
            f"of {position.cluster_id}; name the log of that cluster, or start anew in another "
            "place",
        )
    if at > reader.end_offset:
        raise _wrong_log(reader, f"the stream is at {at}, the log ends at {reader.end_offset}")
    if at > reader.start_offset and stream_position(reader, at).contradicts(position):
        raise _wrong_log(
            reader, f"the log's records before offset {at} are not those that were read"
        )


def limited_end(reader: LogReader, first: int, end: int, records_max: int) -> int:
    """Return the end offset of a read that starts at `first` and has at most `records_max` records.

    The end is at most `end`. Only whole batches are read: at least one batch, even if it has more
    records.
    """
    first = max(first, reader.start_offset)
    limit = first + records_max
    if limit >= end:
        return end
    batch = next(iter(reader.batches(limit, limit + 1)))
    return batch.base_offset if batch.base_offset > first else min(batch.end_offset, end)


def _wrong_log(reader: LogReader, why: str) -> RequestError:
    return RequestError(
        "WRONG_LOG",
        f"{reader.directory}: {why}: the log was replaced or restored, or the unconfirmed end of a "
        f"mirror was replaced. Records below {reader.confirmed_end} are confirmed now; what was "
        "written from where the two logs differ is wrong, so start anew in another place",
    )
