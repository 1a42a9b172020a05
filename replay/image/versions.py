"""Versions of objects: the offset of the last record that touched each object.

Partitions also have a creation offset: a partition id that is removed and created again has the
same topic id, so only this offset distinguishes the two partitions.

Versions are record positions, not state, so the digest does not include them. There are many
partitions, so their offsets are packed, 16 bytes each, and stored with their topic.
"""

import struct
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from immutables import Map

UNKNOWN = -1
"""Stands for an offset that the kept history does not contain."""

_FIELDS = 2
_PAIR = struct.Struct("=qq")
_NOTHING = _PAIR.pack(UNKNOWN, UNKNOWN)
_CHUNK_BITS = 8
_IN_CHUNK = (1 << _CHUNK_BITS) - 1

PartitionOffsets: TypeAlias = bytes | Map[int, bytes]
"""Version and creation offset of each partition of a topic, packed in the order of their ids.

A chunk holds the offsets of 256 ids, without unknown ones at its end. Nearly all topics have only
the first chunk; the others have a map of chunks, and a change copies only the changed chunk.
"""


def partition_offsets(offsets: PartitionOffsets, partition_id: int) -> tuple[int, int]:
    """Return the version and creation offset of one partition, each UNKNOWN if not stored."""
    chunk = _chunk(offsets, partition_id >> _CHUNK_BITS)
    at = (partition_id & _IN_CHUNK) * _PAIR.size
    return _PAIR.unpack_from(chunk, at) if at < len(chunk) else (UNKNOWN, UNKNOWN)


def listed_offsets(
    offsets: PartitionOffsets, partition_ids: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the versions and the creation offsets of partitions, in the order of the ids."""
    if isinstance(offsets, bytes) and _has_no_gap(partition_ids):
        count = len(partition_ids)
        padded = offsets.ljust(_PAIR.size * count, b"\xff")
        values = struct.unpack(f"={_FIELDS * count}q", padded)
    else:
        values = tuple(chain(*(partition_offsets(offsets, each) for each in partition_ids)))
    return values[::_FIELDS], values[1::_FIELDS]


def packed_offsets(
    partition_ids: Sequence[int], versions: Sequence[int], created: Sequence[int]
) -> PartitionOffsets:
    """Return the packed offsets of a topic's partitions; the inverse of `listed_offsets`.

    Empty sequences mean that no offsets are known.
    """
    if not versions:
        return b""
    count = len(partition_ids)
    if not (_has_no_gap(partition_ids) and len(versions) == count and len(created) in (0, count)):
        version_of = dict(zip(partition_ids, versions, strict=False))
        return merged_offsets(b"", version_of, dict(zip(partition_ids, created, strict=False)))
    chunk = array("q", _NOTHING * count)
    chunk[::_FIELDS] = array("q", versions)
    if created:
        chunk[1::_FIELDS] = array("q", created)
    return _trimmed(chunk)


def _has_no_gap(partition_ids: Sequence[int]) -> bool:
    """True if these ascending ids are exactly 0 to n-1 and fit in the first chunk."""
    count = len(partition_ids)
    return 0 < count <= _IN_CHUNK + 1 and partition_ids[0] == 0 and partition_ids[-1] == count - 1


def merged_offsets(
    base: PartitionOffsets, versions: Mapping[int, int], created: Mapping[int, int]
) -> PartitionOffsets:
    """Return `base` with some versions and creation offsets replaced: O(chunks changed).

    Args:
        versions: By partition id; UNKNOWN removes a version.
        created: Creation offsets by partition id; only ids that are in `versions`.
    """
    if isinstance(base, bytes):
        if min(versions) >= 0 and max(versions) <= _IN_CHUNK:
            return _merged_chunk(base, versions, created)
        base = Map({0: base})
    chunks, created_of = base.mutate(), _by_chunk(created)
    for number, versions_of in _by_chunk(versions).items():
        chunk = _merged_chunk(chunks.pop(number, b""), versions_of, created_of.get(number, {}))
        if chunk:
            chunks[number] = chunk
    merged = chunks.finish()
    return merged if any(merged) else merged.get(0, b"")


def _by_chunk(offsets: Mapping[int, int]) -> dict[int, dict[int, int]]:
    by_chunk: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for partition_id, offset in offsets.items():
        by_chunk[partition_id >> _CHUNK_BITS][partition_id & _IN_CHUNK] = offset
    return by_chunk


def _merged_chunk(base: bytes, versions: Mapping[int, int], created: Mapping[int, int]) -> bytes:
    chunk = array("q", base)
    missing = max(versions) + 1 - len(base) // _PAIR.size
    if missing > 0:
        chunk.frombytes(_NOTHING * missing)
    for index, offset in versions.items():
        chunk[_FIELDS * index] = offset
    for index, offset in created.items():
        chunk[_FIELDS * index + 1] = offset
    return _trimmed(chunk)


def _trimmed(chunk: "array[int]") -> bytes:
    # Equal offsets must be equal bytes, also after partitions at the end were removed.
    while chunk and chunk[-1] == chunk[-2] == UNKNOWN:
        del chunk[-_FIELDS:]
    return chunk.tobytes()


def _chunk(offsets: PartitionOffsets, number: int) -> bytes:
    if isinstance(offsets, bytes):
        return b"" if number else offsets
    return offsets.get(number, b"")
