"""The database whose snapshots a verb that reads starts from, instead of the one in the log."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metadata_log.log_reader import LogReader
    from replay.image.metadata import MetadataImage
    from replay.snapshot.info import SnapshotInfo
    from replay.snapshot.store import SnapshotStore
    from replay.timeline import Timeline

DATABASE: ContextVar[str | None] = ContextVar("database", default=None)
"""Value of --database."""


def named_timeline(reader: "LogReader") -> "Timeline | None":
    """Return the timeline of a log with the snapshots of --database; None if that is not given."""
    url = DATABASE.get()
    if url is None:
        return None
    from replay.timeline import Timeline

    return Timeline(reader, _NamedSnapshots(url, reader.cluster_id))


class _NamedSnapshots:
    """The snapshots of one cluster in a database, which is connected only while it is asked.

    Answers are computed as they are printed, so nobody can tell when the last question comes.
    Unlike the database in a log's directory, which is passed over when it cannot be read, this one
    must answer: both methods raise what `SnapshotStore.open` does.
    """

    def __init__(self, url: str, cluster_id: str) -> None:
        self._url = url
        self._cluster_id = cluster_id

    def newest_first(self) -> "Sequence[SnapshotInfo]":
        """Return the descriptions of the snapshots, without loading them."""
        with self._opened() as store:
            return store.newest_first()

    def load_newest(
        self, at: int | None = None, *, accept: "Callable[[SnapshotInfo], bool]" = lambda _: True
    ) -> "MetadataImage | None":
        """Return the newest image that can be loaded and is accepted, None if there is none."""
        with self._opened() as store:
            return store.load_newest(at, accept=accept)

    def _opened(self) -> "SnapshotStore":
        # Importing SQLAlchemy takes half a second.
        from replay.snapshot.store import SnapshotStore

        return SnapshotStore.open(self._url, self._cluster_id)
