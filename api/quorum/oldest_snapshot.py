"""Finds the snapshot at the start of a leader's log.

A leader that is asked for a record before its log answers with its *latest* snapshot. The leader
may still have up to 7 days of earlier records, from its oldest snapshot on; but it tells only where
its log starts, not the epoch, which is part of the snapshot's id. The epoch is found by asking for
an offset far beyond the log's end: an epoch below that of the oldest snapshot is answered with a
snapshot, any other with a diverging epoch. Each answer halves the epochs that are left.

Source: KIP-630, and `validateOffsetAndEpoch` of Kafka 3.7 to 4.3.
"""

from api.kafka.messages.records_io import SnapshotId
from api.quorum.answers import SnapshotNeeded
from api.quorum.observer import Observer
from api.quorum.requests import Position

_BEYOND = 1 << 62


async def oldest_snapshot(observer: Observer, answer: SnapshotNeeded) -> SnapshotId:
    """Return the id of the snapshot at the start of the leader's log.

    Args:
        answer: The leader's answer for offset 0.

    Raises:
        UnavailableError, RequestError: as `Observer.fetch`.
    """
    start = answer.log_start_offset
    if not 0 < start < answer.snapshot.end_offset:
        return answer.snapshot
    low, high = 0, answer.snapshot.epoch
    while low < high:
        middle = (low + high) // 2
        found = await observer.fetch(Position(_BEYOND, middle), max_wait_ms=0)
        if isinstance(found, SnapshotNeeded):
            low = middle + 1
        else:
            high = middle
    return SnapshotId(end_offset=start, epoch=low)
