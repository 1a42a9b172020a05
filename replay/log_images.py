"""Images of a log at any offset, replayed from the newest usable snapshot.

Snapshots only save time: the images are the same as after a replay from the log's start.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from metadata_log.format.batch import Batch
from replay.image.metadata import MetadataImage
from replay.image.provenance import NotUnderstood
from replay.loader import BatchSource, check_point, images, load_image
from replay.snapshot.ports import SNAPSHOTS_NAME, ReadableTopics, Snapshots
from replay.time_travel.contradictions import explained
from replay.time_travel.past_topics import PastTopics

if TYPE_CHECKING:
    from replay.snapshot.info import SnapshotInfo

Progress = Callable[[int], None]
"""Called with the end offset of each batch as it is read."""


class StoredLog(BatchSource, Protocol):
    """A log that may have snapshots."""

    @property
    def local_directory(self) -> Path | None:
        """The log's directory on this machine; None if it is elsewhere, without snapshots."""

    @property
    def cluster_id(self) -> str:
        """Id of the log's cluster."""


class LogImages:
    """The images of one log.

    Attributes:
        source: The log.
    """

    def __init__(self, source: BatchSource, snapshots: Snapshots | None = None) -> None:
        """Read images from a log and its snapshots; without snapshots, from the log only."""
        self.source = source
        self._snapshots = snapshots
        # The end of the records that are known to be understood, since an image of them says so.
        self._understood_end = 0

    def image(
        self,
        at: int | None = None,
        *,
        start: MetadataImage | None = None,
        progress: Progress | None = None,
        on_batch: Callable[[Batch], None] | None = None,
    ) -> MetadataImage:
        """Return the image of the cluster as of offset `at`, inclusive; None means the log's end.

        Takes O(objects + records after the newest usable snapshot) time.

        Args:
            start: An image of this log to continue from, instead of a snapshot.
            progress: Called with the end offset of each batch as it is replayed.
            on_batch: Called with each batch that is replayed, as by `load_image`.

        Raises:
            UnknownHistoryError: `at` is before the kept history.
            RequestError: OFFSET_OUT_OF_RANGE, `at` is past the end; INVALID_REQUEST, `at` is not
                an int.
            CorruptLogError: a record contradicts the state before it; names the offset.
        """
        check_point(self.source, at)
        if start is None:
            start = self.newest_snapshot(at)
        with explained(self.source):
            found = load_image(self.source, at, start=start, progress=progress, on_batch=on_batch)
        if not found.provenance.not_understood:
            self._understood_end = max(self._understood_end, found.provenance.next_offset)
        return found

    def images(
        self, from_offset: int, to_offset: int, *, start: MetadataImage | None = None
    ) -> Iterator[tuple[Batch, MetadataImage]]:
        """Yield each batch with any offset in [from_offset, to_offset), and the image after it.

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `image`.
        """
        if start is None:
            start = self.newest_snapshot(from_offset - 1)
        with explained(self.source):
            yield from images(self.source, from_offset, to_offset, start=start)

    def not_understood(self, at: int) -> NotUnderstood | None:
        """Return the count of records up to `at` of types unknown to this release, None if 0.

        Raises:
            CorruptLogError: the log is damaged.
        """
        from replay.not_understood import count_not_understood

        # An image also counts unknown tags, which reading the log misses: the answer must not
        # depend on it.
        if self._understood_end > at:
            return None
        understood = (info.end_offset for info in self._usable(at) if not info.not_understood)
        from_offset = max(self._understood_end, next(understood, 0))
        return count_not_understood(self.source, at, from_offset=from_offset)

    def newest_snapshot_end(self) -> int:
        """Return the end offset of the newest snapshot of this log, 0 if there is none."""
        newest = next(self._usable(), None)
        return 0 if newest is None else newest.end_offset

    def newest_snapshot(self, at: int | None = None) -> MetadataImage | None:
        """Return the image of the newest usable snapshot at or below `at`, if there is one."""
        if self._snapshots is None:
            return None
        return self._snapshots.load_newest(at, accept=self._is_usable)

    def _usable(self, at: int | None = None) -> "Iterator[SnapshotInfo]":
        """Yield the usable snapshots at or below `at`, newest first, without loading them."""
        if self._snapshots is None:
            return
        for info in self._snapshots.newest_first():
            if (at is None or info.end_offset <= at + 1) and self._is_usable(info):
                yield info

    def _is_usable(self, info: "SnapshotInfo") -> bool:
        """True if a snapshot belongs to this log."""
        from replay.snapshot.match import is_of

        return is_of(self.source, info)

    @cached_property
    def _past(self) -> PastTopics | None:
        """Return a reader of single topics from usable snapshots; None if the store has none."""
        if not isinstance(self._snapshots, ReadableTopics):
            return None
        return self._snapshots.topics(self._is_usable)

    def _snapshot_ends(self) -> list[int]:
        """Return the end offsets of all snapshots, ascending; some may belong to another log."""
        infos = [] if self._snapshots is None else self._snapshots.newest_first()
        return sorted(info.end_offset for info in infos)


def snapshots_beside(log: StoredLog) -> Snapshots | None:
    """Return the snapshots in a log's directory, None if there are none."""
    directory = log.local_directory
    if directory is None or not (directory / SNAPSHOTS_NAME).is_file():
        return None
    from replay.snapshot.file import SnapshotFile

    return SnapshotFile(directory / SNAPSHOTS_NAME, log.cluster_id)
