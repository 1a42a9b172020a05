"""Timeline: the way from a log to its states and changes.

It joins a log with the snapshots that were made of it. A snapshot only saves time: the answers are
those of a replay from the log's start.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, Self

from metadata_log.batch import Batch
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, images, load_image
from replay.snapshot.ports import SNAPSHOTS_NAME, Snapshots

Progress = Callable[[int], None]
"""Called with the end offset of each batch as it is read."""


class LogDirectory(BatchSource, Protocol):
    """A log in a directory, whose snapshots stand beside it."""

    @property
    def directory(self) -> Path:
        """Where it is."""

    @property
    def cluster_id(self) -> str:
        """Whose metadata it is."""


class Timeline:
    """The states and changes of one log."""

    def __init__(self, source: BatchSource, snapshots: Snapshots | None = None) -> None:
        """Use a log, and the snapshots in a store; None: everything is replayed."""
        self.source = source
        self._snapshots = snapshots

    @classmethod
    def of(cls, log: LogDirectory) -> Self:
        """Use a log with the snapshots in its directory, if there are any."""
        path = log.directory / SNAPSHOTS_NAME
        if not path.exists():
            return cls(log)
        from replay.snapshot.file import SnapshotFile

        return cls(log, SnapshotFile(path, log.cluster_id))

    def image(
        self,
        at: int | None = None,
        *,
        start: MetadataImage | None = None,
        progress: Progress | None = None,
    ) -> MetadataImage:
        """Return the cluster as of offset `at`, inclusive; None is the end of the log.

        O(objects + records after the newest usable snapshot) time.

        Args:
            start: An image of this log to continue from instead of a snapshot.
            progress: Called with the end offset of each batch as it is replayed.

        Raises:
            UnknownHistoryError: `at` lies before the kept history.
            RequestError: OFFSET_OUT_OF_RANGE, `at` lies past the end.
            CorruptLogError: a record contradicts the state before it; names the offset.
        """
        if start is None:
            start = self.newest_snapshot(at)
        return load_image(self.source, at, start=start, progress=progress)

    def images(
        self, from_offset: int, to_offset: int, *, start: MetadataImage | None = None
    ) -> Iterator[tuple[Batch, MetadataImage]]:
        """Yield each batch that holds any offset in [from_offset, to_offset), with the image after.

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `image`.
        """
        if start is None:
            start = self.newest_snapshot(from_offset - 1)
        return images(self.source, from_offset, to_offset, start=start)

    def newest_snapshot(self, at: int | None = None) -> MetadataImage | None:
        """Return the image of the newest usable snapshot at or below `at`, None without one."""
        if self._snapshots is None:
            return None
        from replay.snapshot.match import is_of

        return self._snapshots.load_newest(at, accept=lambda info: is_of(self.source, info))
