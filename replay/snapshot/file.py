"""Reads the snapshots stored beside a log, with the standard library's sqlite3.

Used by all commands that only read: importing SQLAlchemy would take half a second. This module
never creates, writes or upgrades the database, and waits at most 100 ms for a writer. Snapshots
that cannot be read now, or not by this release, are skipped with a warning, because replay gives
the same result, only more slowly.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from records.errors import CorruptLogError, RequestError
from replay.image.metadata import MetadataImage
from replay.snapshot.info import SnapshotInfo, decode_info
from replay.snapshot.revision import SCHEMA_REVISION, VERSION_TABLE

if TYPE_CHECKING:
    from replay.snapshot.past_topics import SnapshotTopics

_LOG = logging.getLogger(__name__)

_WAIT_S = 0.1

RECORDS_BETWEEN_MIN = 25_000
"""Minimum number of records between two snapshots whose topics are read.

Measured on 32,478 partitions: checking a snapshot and reading one of its topics take 13 ms of CPU,
searching 25,000 records 35 ms.
"""


class _Row(msgspec.Struct, frozen=True):
    id: int
    info: SnapshotInfo
    checksum: bytes


class _Chunks:
    """Manifests and chunks of snapshots; implements `past_topics.ChunkSource`."""

    def __init__(
        self,
        reading: Callable[[], AbstractContextManager[sqlite3.Connection]],
        rows: Mapping[int, _Row],
    ) -> None:
        self._reading, self._rows = reading, rows

    def manifest(self, end_offset: int) -> dict[str, list[bytes]]:
        from replay.snapshot.stored import ManifestEntry, checked_manifest

        row = self._rows[end_offset]
        query = (
            "SELECT part, ordinal, chunk_hash FROM snapshot_manifest WHERE snapshot_id = ? "
            "ORDER BY part, ordinal"
        )
        with self._reading() as connection:
            found = connection.execute(query, (row.id,)).fetchall()
        parts: dict[str, list[bytes]] = {}
        for entry in checked_manifest(row.info, row.checksum, [ManifestEntry(*f) for f in found]):
            parts.setdefault(entry.part, []).append(entry.chunk_hash)
        return parts

    def chunk(self, hash_: bytes) -> bytes:
        from replay.snapshot.stored import plain_content

        query = "SELECT size, content FROM snapshot_chunk WHERE hash = ?"
        with self._reading() as connection:
            found = connection.execute(query, (hash_,)).fetchone()
        if found is None:
            raise CorruptLogError(
                f"chunk {hash_.hex()} of a snapshot is missing; remove the database and make it "
                "anew with `metalog snapshot create`"
            )
        return plain_content(hash_, *found)


class SnapshotFile:
    """The snapshots of one cluster in a SQLite file, which need not exist."""

    def __init__(self, path: Path, cluster_id: str) -> None:
        self._path = path
        self._cluster_id = cluster_id

    def load_newest(
        self,
        at: int | None = None,
        *,
        accept: Callable[[SnapshotInfo], bool] = lambda _: True,
    ) -> MetadataImage | None:
        """Return the newest image that can be loaded and is accepted, None if there is none.

        Args:
            at: Last offset that the image may contain, inclusive; None means no limit.
            accept: Called for each snapshot, newest first; returns True if the snapshot may be
                used.
        """
        try:
            for row in self._rows():
                if (at is None or row.info.end_offset <= at + 1) and accept(row.info):
                    image = self._load(row)
                    if image is not None:
                        return image
        except (sqlite3.Error, CorruptLogError, RequestError) as error:
            self._pass_over(error)
        return None

    def newest_first(self) -> list[SnapshotInfo]:
        """Return the descriptions of the snapshots, without loading them."""
        try:
            return [row.info for row in self._rows()]
        except (sqlite3.Error, CorruptLogError, RequestError) as error:
            self._pass_over(error)
            return []

    def topics(self, accept: Callable[[SnapshotInfo], bool]) -> "SnapshotTopics":
        """Return an object that reads single topics, on demand, from the accepted snapshots.

        Snapshots close to the next newer one are left out: reading a topic from them would take
        longer than searching the log between the two.
        """
        from replay.snapshot.past_topics import SnapshotTopics

        rows: dict[int, _Row] = {}
        newer: int | None = None
        try:
            for row in self._rows():
                end = row.info.end_offset
                if (newer is None or end <= newer - RECORDS_BETWEEN_MIN) and accept(row.info):
                    rows[end], newer = row, end
        except (sqlite3.Error, CorruptLogError, RequestError) as error:
            self._pass_over(error)
            rows = {}
        return SnapshotTopics(sorted(rows), _Chunks(self._reading, rows), self._pass_over)

    def _pass_over(self, error: Exception) -> None:
        _LOG.warning("snapshots in %s passed over: %s", self._path, error)

    def _rows(self) -> Iterator[_Row]:
        """Yield the snapshots, newest first; each is decoded only then."""
        # Opening a FIFO would wait for its other end.
        if not self._path.is_file():
            return
        with self._reading() as connection:
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                return  # the first snapshot is still being made
            self._check_revision(connection)
            connection.row_factory = sqlite3.Row
            query = "SELECT * FROM snapshot WHERE cluster_id = ? ORDER BY end_offset DESC"
            found = connection.execute(query, (self._cluster_id,)).fetchall()
        for row in found:
            yield _Row(row["id"], decode_info(dict(row), row["id"]), row["checksum"])

    def _load(self, row: _Row) -> MetadataImage | None:
        """Return the image of a snapshot; None, with a warning, if it cannot be read."""
        # Not imported by those who only read descriptions.
        from replay.snapshot.stored import ManifestEntry, StoredChunk, decode_parts

        try:
            # Fetch everything first, so that writers do not wait for the decoding.
            with self._reading() as connection:
                entries = connection.execute(
                    "SELECT part, ordinal, chunk_hash FROM snapshot_manifest WHERE snapshot_id = ?",
                    (row.id,),
                ).fetchall()
                chunks = connection.execute(
                    "SELECT part, hash, encoding, size, content FROM snapshot_manifest "
                    "JOIN snapshot_chunk ON chunk_hash = hash WHERE snapshot_id = ?",
                    (row.id,),
                ).fetchall()
            # A snapshot that was replaced meanwhile fails the checksum of the row read before.
            parts = decode_parts(
                row.info,
                row.checksum,
                (ManifestEntry(*entry) for entry in entries),
                (StoredChunk(*chunk) for chunk in chunks),
            )
            return parts.image(row.info.provenance)
        except (CorruptLogError, RequestError) as error:
            _LOG.warning("snapshot passed over: %s", error)
            return None

    def _check_revision(self, connection: sqlite3.Connection) -> None:
        (found,) = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone() or [""]
        if found != SCHEMA_REVISION:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"the schema is at revision {found or 'none'}, but this release reads "
                f"{SCHEMA_REVISION}; `metalog snapshot create` upgrades an older schema",
            )

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        uri = f"file:{quote(str(self._path))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT_S)) as connection:
            # One transaction: what is read belongs together.
            connection.execute("BEGIN")
            yield connection
