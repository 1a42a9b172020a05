"""Content of a snapshot: writes and reads manifest and chunks."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection, Result, Row, insert, select, update

from replay.image.metadata import MetadataImage
from replay.snapshot.chunks import ENCODING, Chunk
from replay.snapshot.info import SnapshotInfo
from replay.snapshot.parts import Parts
from replay.snapshot.stored import (
    ManifestEntry,
    StoredChunk,
    check_format,
    decode_image,
    manifest_checksum,
    plain_content,
)
from replay.snapshot.tables import snapshot_chunk, snapshot_manifest

K = TypeVar("K", bound=Hashable)

# Databases limit the parameters of a statement; SQLite's limit is 32,766.
_ROWS_A_STATEMENT = 500

_CHUNKS_IN_MEMORY = 16


class Content(msgspec.Struct, frozen=True):
    """The chunks of a snapshot, by part and position."""

    chunks: dict[tuple[str, int], Chunk]

    @classmethod
    def of(cls, image: MetadataImage) -> "Content":
        """Encode an image: O(objects) time, O(size of the content) space."""
        chunks = Parts.of(image).chunks()
        return cls({(part, ordinal): chunk for part, ordinal, chunk in chunks})

    def checksum(self, info: SnapshotInfo) -> bytes:
        """Return the SHA-256 of a snapshot's description and its chunks' names."""
        entries = (ManifestEntry(*key, chunk.hash) for key, chunk in self.chunks.items())
        return manifest_checksum(info, entries)


def write_chunks(connection: Connection, content: Content) -> None:
    """Store chunks that are missing or damaged."""
    chunks = {chunk.hash: chunk for chunk in content.chunks.values()}
    for hashes in _slices(chunks):
        stored = snapshot_chunk.c
        found = select(stored.hash, stored.encoding, stored.size, stored.content)
        rows: Iterable[Row[Any]] = connection.execute(
            found.where(stored.hash.in_(hashes)), execution_options={"yield_per": _CHUNKS_IN_MEMORY}
        )
        damaged_hashes = []
        for row in rows:
            if _is_whole(row):
                del chunks[row.hash]
            else:
                damaged_hashes.append(row.hash)
        for hash_ in damaged_hashes:
            # Other snapshots may use it, so repair it in place.
            mended = _chunk_row(chunks.pop(hash_))
            connection.execute(
                update(snapshot_chunk).where(snapshot_chunk.c.hash == hash_).values(mended)
            )
    for missing in _slices(chunks):
        connection.execute(insert(snapshot_chunk), [_chunk_row(chunks[hash_]) for hash_ in missing])


def _is_whole(row: Any) -> bool:
    try:
        plain_content(row.hash, row.size, row.content)
    except ValueError:
        return False
    is_whole: bool = row.encoding == ENCODING
    return is_whole


def write_manifest(connection: Connection, snapshot_id: int, content: Content) -> None:
    """Store the list of a snapshot's chunks."""
    for keys in _slices(content.chunks):
        rows = [
            {
                "snapshot_id": snapshot_id,
                "part": part,
                "ordinal": ordinal,
                "chunk_hash": content.chunks[part, ordinal].hash,
            }
            for part, ordinal in keys
        ]
        connection.execute(insert(snapshot_manifest), rows)


def read_image(
    connection: Connection, info: SnapshotInfo, snapshot_id: int, checksum: bytes
) -> MetadataImage:
    """Load an image: O(objects) time; a few chunks in memory at a time.

    Raises:
        RequestError, CorruptLogError: as for `decode_image`.
    """
    check_format(info)
    manifest = snapshot_manifest.c
    entries = connection.execute(
        select(manifest.part, manifest.ordinal, manifest.chunk_hash).where(
            manifest.snapshot_id == snapshot_id
        )
    ).all()
    # Closed also after damage: PostgreSQL keeps a cursor for it.
    with _stored_chunks(connection, snapshot_id) as rows:
        chunks = (
            StoredChunk(row.part, row.hash, row.encoding, row.size, row.content) for row in rows
        )
        return decode_image(info, checksum, (ManifestEntry(*entry) for entry in entries), chunks)


def _stored_chunks(connection: Connection, snapshot_id: int) -> Result[Any]:
    manifest, chunk = snapshot_manifest.c, snapshot_chunk.c
    query = (
        select(manifest.part, chunk.hash, chunk.encoding, chunk.size, chunk.content)
        .join(snapshot_chunk, manifest.chunk_hash == chunk.hash)
        .where(manifest.snapshot_id == snapshot_id)
    )
    return connection.execute(query.execution_options(yield_per=_CHUNKS_IN_MEMORY))


def _chunk_row(chunk: Chunk) -> dict[str, Any]:
    return {
        "hash": chunk.hash,
        "encoding": ENCODING,
        "size": len(chunk.plain),
        "content": chunk.compressed(),
    }


def _slices(keys: Iterable[K]) -> Iterator[list[K]]:
    """Split keys into lists that fit a statement."""
    remaining = list(keys)
    for start in range(0, len(remaining), _ROWS_A_STATEMENT):
        yield remaining[start : start + _ROWS_A_STATEMENT]
