"""Decodes and verifies stored rows, for every reader of a snapshot database.

No stored data is trusted: the row of a snapshot has a checksum over itself and its manifest, and
the manifest identifies each chunk by the hash of its content. Does not need SQLAlchemy.
"""

import hashlib
from collections.abc import Iterable

import msgspec

from records.errors import CorruptLogError, RequestError
from replay.snapshot.chunks import ENCODING, decompressed
from replay.snapshot.info import SnapshotInfo
from replay.snapshot.layers import LayeredParts
from replay.snapshot.parts import Parts
from replay.snapshot.revision import FORMATS


class ManifestEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry of a manifest: a chunk's part, its position in the part, and its hash."""

    part: str
    ordinal: int
    chunk_hash: bytes


class StoredChunk(msgspec.Struct, frozen=True, gc=False):
    """A chunk as stored in the database."""

    part: str
    hash: bytes
    encoding: str
    size: int
    content: bytes

    def plain(self) -> bytes:
        """Return the chunk's MessagePack.

        Raises:
            ValueError: the content does not match size or hash.
        """
        return plain_content(self.hash, self.size, self.content)


def plain_content(hash_: bytes, size: int, content: bytes) -> bytes:
    """Decompress a chunk and check its hash.

    Raises:
        ValueError: the content does not match size or hash.
    """
    plain = decompressed(content, size)
    found = hashlib.sha256(plain).digest()
    if found != hash_:
        raise ValueError(f"the content has another SHA-256, {found.hex()}")
    return plain


def decode_parts(
    info: SnapshotInfo,
    checksum: bytes,
    entries: Iterable[ManifestEntry],
    chunks: Iterable[StoredChunk],
) -> LayeredParts:
    """Check and decode the chunks of a snapshot: O(octets, and objects that are no partitions).

    Partitions are decoded only when they are read, from octets that were checked here. Those of one
    topic of each chunk are decoded here, to find a snapshot that another release wrote.

    Raises:
        RequestError: UNSUPPORTED_VERSION, the snapshot has a format that this release does not
            know.
        CorruptLogError: the snapshot is damaged; the error names snapshot, part and chunk.
    """
    manifest = checked_manifest(info, checksum, list(entries))
    parts = LayeredParts(Parts())
    count = 0
    for chunk in chunks:
        _decode(parts, info, chunk)
        count += 1
    if count != len(manifest):
        raise damaged(info, f"{len(manifest) - count} of its {len(manifest)} chunks are missing")
    return parts


def checked_manifest(
    info: SnapshotInfo, checksum: bytes, entries: list[ManifestEntry]
) -> list[ManifestEntry]:
    """Return `entries`, the manifest of a snapshot, after checking format and checksum.

    Raises:
        RequestError, CorruptLogError: as for `decode_parts`.
    """
    check_format(info)
    if manifest_checksum(info, entries) != checksum:
        raise damaged(
            info, f"its row and its manifest of {len(entries)} chunks do not match its checksum"
        )
    return entries


def check_format(info: SnapshotInfo) -> None:
    """Check that this release knows the format of a snapshot.

    Raises:
        RequestError: UNSUPPORTED_VERSION, the format is unknown.
    """
    if info.format not in FORMATS:
        raise _unsupported(info, f"format {info.format}, this release knows {max(FORMATS)}")


def manifest_checksum(info: SnapshotInfo, entries: Iterable[ManifestEntry]) -> bytes:
    """Return the SHA-256 of a snapshot's description and manifest."""
    # Sorted here: databases differ in how they order text.
    manifest = sorted(f"{e.part} {e.ordinal} {e.chunk_hash.hex()}" for e in entries)
    return hashlib.sha256("\n".join([info.identity, *manifest]).encode()).digest()


def damaged(info: SnapshotInfo, what: str) -> CorruptLogError:
    """Return the error for a damaged snapshot."""
    return CorruptLogError(
        f"snapshot at end offset {info.end_offset} of cluster {info.cluster_id}: damaged, {what}. "
        "Snapshots can be made anew from the log: `metalog snapshot prune --keep 0`, then "
        "`metalog snapshot create`"
    )


def _decode(parts: LayeredParts, info: SnapshotInfo, chunk: StoredChunk) -> None:
    """Verify one chunk and add it to the parts."""
    if chunk.encoding != ENCODING:
        raise _unsupported(info, f"encoding {chunk.encoding!r}, this release knows {ENCODING!r}")
    what = f"chunk {chunk.hash.hex()} of its part {chunk.part!r}"
    try:
        plain = chunk.plain()
    except ValueError as error:
        raise damaged(info, f"{what}: {error}") from error
    try:
        parts.decode(chunk.part, plain)
    except (LookupError, RecursionError, ValueError, msgspec.DecodeError) as error:
        raise _unsupported(info, f"{what} that this release cannot read: {error!r}") from error


def _unsupported(info: SnapshotInfo, what: str) -> RequestError:
    return RequestError(
        "UNSUPPORTED_VERSION",
        f"snapshot at end offset {info.end_offset} of cluster {info.cluster_id} was written by "
        f"another release: {what}; make it anew with `metalog snapshot create`",
    )
