"""Snapshot plus tail: the image at a point without replaying the whole log.

A snapshot counts only if the log still holds what it was made of. Offset and leader epoch of a
record name one history: two logs of a cluster that hold the same epoch at the same offset agree on
everything before it, and a mirror whose tail Kafka took back holds another epoch there. A fork can
claim the same epoch as the log it left, so the time is compared, too.

Source: the log matching property of Raft, which KRaft shares (KIP-595).
"""

from collections.abc import Callable
from typing import Protocol

from metadata_log.batch import Batch
from records.control import NoOpRunRecord
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, load_image
from replay.snapshot.info import SnapshotInfo
from replay.snapshot.store import SnapshotStore


class ConfirmedSource(BatchSource, Protocol):
    """A log that knows which of its records stay."""

    @property
    def confirmed_end(self) -> int:
        """Exclusive; offsets from here on may still be replaced."""


def load_image_via_snapshot(
    source: BatchSource,
    store: SnapshotStore,
    at: int | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> MetadataImage:
    """Return the cluster as of offset `at`, inclusive; None is the end of the log.

    Equal to `load_image(source, at)`. Starts from the newest usable snapshot at or below `at`, or
    from the start of the log when there is none: O(objects + records replayed) time.

    Args:
        progress: Called with the end offset of each batch as it is replayed.

    Raises:
        UnknownHistoryError: `at` lies before the kept history.
        RequestError: OFFSET_OUT_OF_RANGE, `at` lies past the end.
        CorruptLogError: a record contradicts the state before it; the file of the database is
            damaged.
        UnavailableError: the database cannot be reached.
    """
    return load_image(source, at, start=newest_image(source, store, at), progress=progress)


def newest_image(
    source: BatchSource, store: SnapshotStore, at: int | None = None
) -> MetadataImage | None:
    """Return the image of the newest usable snapshot at or below `at`, None if there is none."""
    return store.load_newest(at, accept=lambda info: _is_of(source, info))


def create_snapshot(
    source: ConfirmedSource,
    store: SnapshotStore,
    at: int | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> SnapshotInfo:
    """Store a snapshot of the cluster as of offset `at`, inclusive; None is the end of the log.

    Inside an open transaction it is the state before Begin.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError, UnavailableError: as for
            `load_image_via_snapshot`.
    """
    image = load_image_via_snapshot(source, store, at, progress=progress)
    confirmed = image.provenance.next_offset <= source.confirmed_end
    return store.create(image, confirmed=confirmed)


def prune_snapshots(source: BatchSource, store: SnapshotStore, keep: int) -> int:
    """Delete what is older than the newest `keep` snapshots that a log can start from.

    Others may share the database: a copy of the log, a fork, the tail that was replaced.

    Returns:
        How many snapshots were deleted.

    Raises:
        RequestError, CorruptLogError, UnavailableError: as for `SnapshotStore.prune`.
    """
    return store.prune(keep, counts=lambda info: _is_of(source, info))


def _is_of(source: BatchSource, info: SnapshotInfo) -> bool:
    """Whether a log holds, or starts after, exactly what a snapshot contains."""
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
