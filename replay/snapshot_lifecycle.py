"""Creation and pruning of a log's snapshots."""

from collections.abc import Callable
from typing import Protocol

from replay.loader import BatchSource
from replay.snapshot.info import SnapshotInfo
from replay.snapshot.match import is_of
from replay.snapshot.store import SnapshotStore
from replay.timeline import Timeline


class ConfirmedSource(BatchSource, Protocol):
    """Interface of a log that knows which of its records are final."""

    @property
    def confirmed_end(self) -> int:
        """End of the final records, exclusive; later records may still be replaced."""


def create_snapshot(
    source: ConfirmedSource,
    store: SnapshotStore,
    at: int | None = None,
    *,
    rotated: bool = False,
    progress: Callable[[int], None] | None = None,
) -> SnapshotInfo:
    """Store a snapshot of the cluster as of offset `at`, inclusive; None means the log's end.

    If a transaction is open at `at`, the snapshot has the state before Begin.

    Args:
        rotated: Mark the snapshot so that `prune_snapshots(..., rotated_only=True)` may delete it.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `Timeline.image`.
        UnavailableError: the database cannot be reached.
    """
    image = Timeline(source, store).image(at, progress=progress)
    confirmed = image.provenance.next_offset <= source.confirmed_end
    position = source.position(image.provenance.next_offset)
    return store.create(
        image, confirmed=confirmed, last_crc32c=position.last_crc32c, rotated=rotated
    )


def prune_snapshots(
    source: BatchSource, store: SnapshotStore, keep: int, *, rotated_only: bool = False
) -> int:
    """Delete the snapshots that are older than the newest `keep` usable ones.

    A snapshot is usable if this log can start from it. The database may also have snapshots of a
    copy, a fork, or a replaced tail; they do not count towards `keep`.

    Args:
        rotated_only: Ignore snapshots that were created without `rotated`.

    Returns:
        The number of deleted snapshots.

    Raises:
        RequestError, CorruptLogError, UnavailableError: as for `SnapshotStore.prune`.
    """
    return store.prune(keep, rotated_only=rotated_only, counts=lambda info: is_of(source, info))
