"""Content of a snapshot: writes and reads its manifest and chunks."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Self, TypeVar

import msgspec
from sqlalchemy import Connection, Result, Row, insert, literal, select, update

from replay.image.digest import PartDigest, part_digests
from replay.image.metadata import MetadataImage
from replay.snapshot import layers
from replay.snapshot.chunks import ENCODING, Chunk
from replay.snapshot.info import SnapshotInfo
from replay.snapshot.layers import DIGESTS, Layout, Overlay, digests_chunk
from replay.snapshot.parts import chunks_of_image
from replay.snapshot.revision import FORMAT, LAYERED_FORMAT
from replay.snapshot.stored import (
    ManifestEntry,
    StoredChunk,
    check_format,
    decode_parts,
    plain_content,
)
from replay.snapshot.tables import snapshot_chunk, snapshot_manifest

K = TypeVar("K", bound=Hashable)

# Databases limit the parameters of a statement; SQLite's limit is 32,766.
_ROWS_A_STATEMENT = 500

_CHUNKS_IN_MEMORY = 16


class Previous(msgspec.Struct, frozen=True):
    """A stored snapshot and its image, to which the next snapshot can add a layer."""

    snapshot_id: int
    end_offset: int
    checksum: bytes
    image: MetadataImage
    entries: tuple[ManifestEntry, ...]
    layout: Layout


class Content(msgspec.Struct, frozen=True):
    """The chunks of a snapshot, by part and position, except those shared with `previous`."""

    chunks: dict[tuple[str, int], Chunk]
    layout: Layout
    previous: Previous | None = None

    @classmethod
    def whole(cls, image: MetadataImage, digests: dict[str, PartDigest]) -> Self:
        """Encode a whole image as a new base: O(objects) time, O(size of the content) space."""
        chunks = {(part, ordinal): chunk for part, ordinal, chunk in chunks_of_image(image)}
        size = _size(chunks.values())
        if size < layers.LAYERED_SIZE_MIN_BYTES:
            return cls(chunks, Layout(base_size=size))
        chunks[DIGESTS, 0] = digests_chunk(digests)
        return cls(chunks, Layout(digests, base_size=size))

    @classmethod
    def layer(
        cls, previous: Previous, overlay: Overlay, digests: dict[str, PartDigest]
    ) -> Self | None:
        """Encode the differences from another snapshot as a layer: O(differences).

        Returns None if there would be too many layers, or too large ones, so that a new base is
        needed.
        """
        base_size, number = previous.layout.base_size, previous.layout.layers + 1
        chunks = {(part, ordinal): chunk for part, ordinal, chunk in overlay.chunks(number)}
        size = previous.layout.overlay_size + _size(chunks.values())
        if number > layers.LAYERS_MAX or size > layers.OVERLAY_SHARE_MAX * base_size:
            return None
        chunks[DIGESTS, 0] = digests_chunk(digests)
        return cls(chunks, Layout(digests, base_size, size, number), previous)

    @property
    def format(self) -> int:
        """Format number of the snapshot."""
        return FORMAT if self.layout.digests is None else LAYERED_FORMAT

    @property
    def entries(self) -> tuple[ManifestEntry, ...]:
        """The complete manifest, including shared chunks."""
        inherited = () if self.previous is None else self.previous.entries
        shared = (entry for entry in inherited if entry.part != DIGESTS)
        own = (ManifestEntry(*key, chunk.hash) for key, chunk in self.chunks.items())
        return (*shared, *own)


class Draft:
    """An image that is to be stored.

    Attributes:
        digests: Digests of the image's parts.
    """

    def __init__(self, image: MetadataImage, previous: Previous | None) -> None:
        """Compare an image with a stored image: O(objects), but fast for objects they share."""
        self._image = image
        self._previous = previous
        if previous is None or previous.layout.digests is None:
            self._overlay = None
            self.digests = part_digests(image)
        else:
            self._overlay = Overlay.between(previous.image, image)
            self.digests = self._overlay.digests(previous.layout.digests)

    def content(self) -> Content:
        """Return a layer on the previous snapshot if that is cheap, else the whole image."""
        layer = None
        if self._previous is not None and self._overlay is not None:
            layer = Content.layer(self._previous, self._overlay, self.digests)
        return layer or self.whole()

    def whole(self) -> Content:
        """Return the content of the whole image."""
        return Content.whole(self._image, self.digests)


def _size(chunks: Iterable[Chunk]) -> int:
    return sum(len(chunk.plain) for chunk in chunks)


def write_chunks(connection: Connection, content: Content) -> None:
    """Store the chunks of `content` that the database lacks or has damaged."""
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
    """Store the manifest: the list of a snapshot's chunks."""
    if content.previous is not None:
        _inherit_manifest(connection, snapshot_id, content.previous)
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


def _inherit_manifest(connection: Connection, snapshot_id: int, previous: Previous) -> None:
    manifest = snapshot_manifest.c
    shared = select(literal(snapshot_id), manifest.part, manifest.ordinal, manifest.chunk_hash)
    which = (manifest.snapshot_id == previous.snapshot_id) & (manifest.part != DIGESTS)
    names = ["snapshot_id", "part", "ordinal", "chunk_hash"]
    connection.execute(insert(snapshot_manifest).from_select(names, shared.where(which)))


def read_previous(
    connection: Connection, info: SnapshotInfo, snapshot_id: int, checksum: bytes
) -> Previous:
    """Load a snapshot: O(objects) time; a few chunks in memory at a time.

    Raises:
        RequestError, CorruptLogError: as for `decode_parts`.
    """
    check_format(info)
    manifest = snapshot_manifest.c
    rows = connection.execute(
        select(manifest.part, manifest.ordinal, manifest.chunk_hash).where(
            manifest.snapshot_id == snapshot_id
        )
    )
    entries = tuple(ManifestEntry(*row) for row in rows)
    # Closed also after damage: PostgreSQL keeps a cursor for it.
    with _stored_chunks(connection, snapshot_id) as stored:
        chunks = (
            StoredChunk(row.part, row.hash, row.encoding, row.size, row.content) for row in stored
        )
        parts = decode_parts(info, checksum, entries, chunks)
    image = parts.image(info.provenance)
    return Previous(snapshot_id, info.end_offset, checksum, image, entries, parts.layout)


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
    """Split keys into lists that are short enough for one SQL statement."""
    remaining = list(keys)
    for start in range(0, len(remaining), _ROWS_A_STATEMENT):
        yield remaining[start : start + _ROWS_A_STATEMENT]
