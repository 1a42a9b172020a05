"""The option --database: a database of snapshots to start from, instead of the log's own.

A PostgreSQL database may also contain the SQL history; SQLite has one file for snapshots and
another for the history.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metadata_log.reader.log_reader import LogReader
    from replay.image.metadata import MetadataImage
    from replay.snapshot.info import SnapshotInfo
    from replay.snapshot.store import SnapshotStore
    from replay.time_travel.change_index import ChangeIndex
    from replay.timeline import Timeline

DATABASE: ContextVar[str | None] = ContextVar("database", default=None)
"""Value of --database."""


def named_timeline(reader: "LogReader") -> "Timeline | None":
    """Return a timeline that uses the snapshots in --database; None if the option is not given."""
    url = DATABASE.get()
    if url is None:
        return None
    from replay.timeline import Timeline

    return Timeline(reader, _NamedSnapshots(url, reader.cluster_id), _index(url, reader))


def _index(url: str, reader: "LogReader") -> "ChangeIndex | None":
    from replay.timeline import index_beside

    if not url.startswith("postgres"):
        return index_beside(reader)
    from replay.sql_history.server import HistoryDatabase

    return HistoryDatabase(url, reader)


class _NamedSnapshots:
    """The snapshots of one cluster in the database given by --database.

    Each call opens a connection and closes it: answers are computed while they are printed, so
    nothing tells when a connection kept for later calls could be closed. Both methods raise the
    errors of `SnapshotStore.open`, because the user named this database; errors of a log's own
    database are ignored.
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
        """Return the newest loadable image at or before `at` that `accept` allows, or None."""
        with self._opened() as store:
            return store.load_newest(at, accept=accept)

    def _opened(self) -> "SnapshotStore":
        # Importing SQLAlchemy takes half a second.
        from replay.snapshot.store import SnapshotStore

        return SnapshotStore.open(self._url, self._cluster_id)
