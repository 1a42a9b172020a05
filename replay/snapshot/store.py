"""Snapshots of one cluster in a database: create, list, load and prune.

A snapshot exists once its transaction commits, with its manifest and all of its chunks; a crash
before that changes nothing. Stored data is always verified: the row of a snapshot has a checksum of
itself and its manifest, and the manifest has the hashes of the chunks.
"""

import logging
from collections.abc import Callable
from typing import Any, Self

import msgspec
from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Engine,
    Row,
    and_,
    delete,
    exists,
    insert,
    select,
    update,
)

from metadata_log.writer.clock import Clock, SystemClock
from records.errors import CorruptLogError, RequestError
from replay.image.digest import digest_of_parts, image_digest
from replay.image.metadata import MetadataImage
from replay.snapshot import schema
from replay.snapshot.content import (
    Content,
    Draft,
    Previous,
    read_previous,
    write_chunks,
    write_manifest,
)
from replay.snapshot.database import open_database, reading, writing
from replay.snapshot.info import SnapshotInfo, decode_info
from replay.snapshot.stored import damaged, manifest_checksum
from replay.snapshot.tables import snapshot, snapshot_chunk, snapshot_manifest

_LOG = logging.getLogger(__name__)


class SnapshotStore:
    """The snapshots of one cluster. Other processes may use the same database concurrently.

    Every method raises UnavailableError if the database cannot be reached, stays locked or is full,
    and CorruptLogError if its file is damaged; nothing is changed then.
    """

    def __init__(self, engine: Engine, cluster_id: str, clock: Clock | None = None) -> None:
        self._engine = engine
        self._cluster_id = cluster_id
        self._clock = clock or SystemClock()
        # The snapshot that was loaded or stored last; the next image is probably a neighbour.
        self._previous: Previous | None = None

    @classmethod
    def open(
        cls,
        url: str | URL,
        cluster_id: str,
        *,
        upgrade: bool = False,
        clock: Clock | None = None,
    ) -> Self:
        """Open the snapshots of a cluster.

        Args:
            upgrade: Create the database if there is none, or migrate it to this release's schema.

        Raises:
            RequestError: SNAPSHOT_NOT_FOUND, there is no database; SCHEMA_OUT_OF_DATE, its schema
                is older than this release's; UNSUPPORTED_VERSION, its schema is newer;
                INVALID_REQUEST, `url` cannot be opened.
        """
        engine = open_database(url, create=upgrade)
        try:
            if upgrade:
                schema.upgrade(engine)
            else:
                schema.check(engine)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, cluster_id, clock)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create(
        self,
        image: MetadataImage,
        *,
        confirmed: bool = True,
        last_crc32c: int | None = None,
        rotated: bool = False,
    ) -> SnapshotInfo:
        """Store an image: O(objects).

        Fast if the image is similar to the one that this store loaded or stored last: then only
        the objects that differ are written.

        An existing snapshot of the same image is kept if it can be loaded. It becomes confirmed if
        `confirmed` is set, and is no longer rotated if `rotated` is not set. Any other snapshot at
        the same offset is replaced, because it is damaged, has a tail that Kafka replaced, or is of
        another release.

        Args:
            confirmed: False while Kafka could still replace the last records in the image.
            last_crc32c: CRC of the last block before the image's end offset; None if not known.
            rotated: Let `prune(..., rotated_only=True)` delete the snapshot.
        """
        draft = Draft(image, self._previous)
        info = SnapshotInfo.of(
            image,
            digest_of_parts(draft.digests),
            cluster_id=self._cluster_id,
            confirmed=confirmed,
            created_at_ms=self._clock.now_ms(),
            last_crc32c=last_crc32c,
            rotated=rotated,
        )
        if self._keep_existing(info):
            return self.info(info.end_offset)
        content = draft.content()
        with writing(self._engine) as connection:
            connection.execute(delete(snapshot).where(self._at(info.end_offset)))
            if content.previous is not None and not self._is_stored(connection, content.previous):
                content = draft.whole()
            info = msgspec.structs.replace(info, format=content.format)
            stored = self._write(connection, info, content, image)
        self._remember(stored)
        return info

    def list(self) -> tuple[SnapshotInfo, ...]:
        """Return all snapshots, oldest first."""
        query = select(snapshot).where(self._is_ours()).order_by(snapshot.c.end_offset)
        with reading(self._engine) as connection:
            return tuple(map(_info, connection.execute(query)))

    def newest_first(self) -> tuple[SnapshotInfo, ...]:
        """Return all snapshots, newest first."""
        return self.list()[::-1]

    def info(self, end_offset: int) -> SnapshotInfo:
        """Return the description of a snapshot, without loading it.

        Raises:
            RequestError: SNAPSHOT_NOT_FOUND, there is none at this offset.
        """
        with reading(self._engine) as connection:
            return _info(self._row(connection, end_offset))

    def load(self, end_offset: int) -> MetadataImage:
        """Return the image of a snapshot; O(objects).

        Raises:
            RequestError: SNAPSHOT_NOT_FOUND, there is none at this offset; UNSUPPORTED_VERSION,
                this release cannot read it.
            CorruptLogError: the snapshot is damaged.
        """
        return self._loaded(end_offset)[1]

    def verify(self, end_offset: int) -> SnapshotInfo:
        """Load a snapshot and check its image's digest; O(objects).

        Raises:
            RequestError: as for `load`.
            CorruptLogError: as for `load`, or the digest differs.
        """
        info, image = self._loaded(end_offset)
        digest = image_digest(image)
        if digest != info.digest:
            raise damaged(info, f"its image has digest {digest}, expected {info.digest}")
        return info

    def load_newest(
        self,
        at: int | None = None,
        *,
        accept: Callable[[SnapshotInfo], bool] = lambda _: True,
    ) -> MetadataImage | None:
        """Return the newest image that can be loaded and is accepted, None if there is none.

        Damaged snapshots, and those of another release, are skipped with a warning.

        Args:
            at: Last offset that the image may contain, inclusive; None means no limit.
            accept: Called for each snapshot, newest first; returns True if the snapshot may be
                used.
        """
        for info in self.newest_first():
            if (at is None or info.end_offset <= at + 1) and accept(info):
                try:
                    found, image = self._loaded(info.end_offset)
                except (CorruptLogError, RequestError) as error:
                    _LOG.warning("snapshot passed over: %s", error)
                    continue
                # Another process may have replaced it by one of another history meanwhile.
                if found.same_image(info):
                    return image
        return None

    def prune(
        self,
        keep: int,
        *,
        rotated_only: bool = False,
        counts: Callable[[SnapshotInfo], bool] = lambda _: True,
    ) -> int:
        """Delete all snapshots older than the newest `keep`, and chunks that are no longer used.

        Args:
            rotated_only: Ignore snapshots that were not created with `rotated`.
            counts: Returns True for snapshots that count towards `keep`. Other snapshots, such as
                those of a copy of the log, are deleted if they are older than the newest `keep`
                that count.

        Returns:
            The number of snapshots deleted.

        Raises:
            RequestError: INVALID_REQUEST, `keep` is negative.
        """
        if keep < 0:
            raise RequestError(
                "INVALID_REQUEST", f"cannot keep {keep} snapshots; expected 0 or more"
            )
        which = self._is_ours()
        if rotated_only:
            which &= snapshot.c.rotated
        newest_first = select(snapshot).where(which).order_by(snapshot.c.end_offset.desc())
        with writing(self._engine) as connection:
            counted = [
                info for info in map(_info, connection.execute(newest_first)) if counts(info)
            ]
            if len(counted) <= keep:
                return 0
            old = snapshot.c.end_offset <= counted[keep].end_offset
            return self._delete(connection, and_(which, old))

    def _keep_existing(self, info: SnapshotInfo) -> bool:
        """Update the flags of an intact snapshot of the same image; False if there is none.

        The flags are `confirmed` and `rotated`.
        """
        with writing(self._engine) as connection:
            row = connection.execute(
                select(snapshot).where(self._at(info.end_offset))
            ).one_or_none()
            if row is None:
                return False
            try:
                found = _info(row)
                if not found.same_image(info):
                    return False
                read_previous(connection, found, row.id, row.checksum)
            except (CorruptLogError, RequestError) as error:
                _LOG.warning("snapshot replaced: %s", error)
                return False
            values = {"confirmed": found.confirmed or info.confirmed}
            values["rotated"] = found.rotated and info.rotated
            connection.execute(update(snapshot).where(snapshot.c.id == row.id).values(values))
            return True

    def _write(
        self, connection: Connection, info: SnapshotInfo, content: Content, image: MetadataImage
    ) -> Previous:
        write_chunks(connection, content)
        checksum = manifest_checksum(info, content.entries)
        row = msgspec.structs.asdict(info) | {"checksum": checksum}
        added = connection.execute(insert(snapshot).returning(snapshot.c.id), row)
        snapshot_id = added.scalar_one()
        write_manifest(connection, snapshot_id, content)
        return Previous(
            snapshot_id, info.end_offset, checksum, image, content.entries, content.layout
        )

    def _is_stored(self, connection: Connection, previous: Previous) -> bool:
        """True if the snapshot is still stored: no other process has pruned or replaced it."""
        found = select(snapshot.c.checksum).where(snapshot.c.id == previous.snapshot_id)
        return connection.scalar(found) == previous.checksum

    def _remember(self, previous: Previous) -> None:
        self._previous = None if previous.layout.digests is None else previous

    def _loaded(self, end_offset: int) -> tuple[SnapshotInfo, MetadataImage]:
        with reading(self._engine) as connection:
            row = self._row(connection, end_offset)
            info = _info(row)
            loaded = read_previous(connection, info, row.id, row.checksum)
        self._remember(loaded)
        return info, loaded.image

    def _is_ours(self) -> ColumnElement[bool]:
        return snapshot.c.cluster_id == self._cluster_id

    def _at(self, end_offset: int) -> ColumnElement[bool]:
        return and_(self._is_ours(), snapshot.c.end_offset == end_offset)

    def _row(self, connection: Connection, end_offset: int) -> Row[Any]:
        row = connection.execute(select(snapshot).where(self._at(end_offset))).one_or_none()
        if row is None:
            raise RequestError(
                "SNAPSHOT_NOT_FOUND",
                f"no snapshot at end offset {end_offset} of cluster {self._cluster_id}; `metalog "
                "snapshot list` lists all snapshots",
            )
        return row

    def _delete(self, connection: Connection, which: ColumnElement[bool]) -> int:
        """Delete snapshots, their manifests (by cascade), and chunks no longer in any manifest."""
        deleted = connection.execute(delete(snapshot).where(self._is_ours(), which)).rowcount
        used = exists().where(snapshot_manifest.c.chunk_hash == snapshot_chunk.c.hash)
        connection.execute(delete(snapshot_chunk).where(~used))
        return deleted


def _info(row: Row[Any]) -> SnapshotInfo:
    return decode_info(row._asdict(), row.id)
