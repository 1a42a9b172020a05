"""True if a snapshot is of a log: the one check before replay may start from it.

Offset and leader epoch of a record name one history: two logs of a cluster that hold the same
epoch at the same offset agree on everything before it, and a mirror whose tail Kafka took back
holds another epoch there. A fork can claim the same epoch as the log it left, so the time is
compared, too.

Source: the log matching property of Raft, which KRaft shares (KIP-595).
"""

from metadata_log.batch import Batch
from records.control import NoOpRunRecord
from replay.loader import BatchSource
from replay.snapshot.info import SnapshotInfo


def is_of(source: BatchSource, info: SnapshotInfo) -> bool:
    """True if a log holds, or starts right after, exactly what a snapshot contains."""
    # At 0 there is no record that could tell, and nothing to save.
    if not max(source.history_start, 1) <= info.end_offset <= source.end_offset:
        return False
    if info.end_offset == source.history_start:
        base = source.base
        return base is not None and (base.leader_epoch, base.timestamp) == (
            info.leader_epoch,
            info.timestamp_ms,
        )
    last = next(iter(source.batches(info.end_offset - 1, info.end_offset)))
    return last.leader_epoch == info.leader_epoch and info.timestamp_ms in _times(last)


def _times(batch: Batch) -> tuple[int, ...]:
    """Return the times that an image which ends in or after a batch can have."""
    last = batch.rows[-1].payload
    if isinstance(last, NoOpRunRecord):
        return batch.timestamp, last.last_timestamp
    return (batch.timestamp,)
