"""The partitions of one topic, ordered by id: a persistent list.

Nearly every topic fits in one chunk, a tuple. A topic with ids of CHUNK_SIZE or higher has a map of
chunks, which neighbouring images share: a change copies its chunk and the path to it, a few
kilobytes independent of the topic's size. The representation depends only on the ids, so equal
lists have equal representations.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import attrgetter
from typing import TypeAlias, Union, overload

import msgspec
from immutables import Map

from replay.image.partitions import Partition

_CHUNK_BITS = 8
CHUNK_SIZE = 1 << _CHUNK_BITS
"""Ids per chunk. Smaller chunks are copied faster, larger ones take less memory in the map."""

_Chunk: TypeAlias = tuple[Partition, ...]
_Changes: TypeAlias = dict[int, Partition | None]

Partitions: TypeAlias = Union[_Chunk, "ChunkedPartitions"]
"""Partitions of one topic, ordered by id; `find` looks one up."""

_partition_id = attrgetter("partition_id")


class ChunkedPartitions(msgspec.Struct, frozen=True, gc=False):
    """Partitions of a topic that has partition ids of CHUNK_SIZE or higher."""

    # By id // CHUNK_SIZE; none is empty.
    _chunks: Map[int, _Chunk]
    _count: int

    def __len__(self) -> int:
        """Number of partitions."""
        return self._count

    def __iter__(self) -> Iterator[Partition]:
        """Iterate over the partitions, ordered by id."""
        return chain.from_iterable(self._ordered_chunks())

    @overload
    def __getitem__(self, index: int) -> Partition: ...
    @overload
    def __getitem__(self, index: slice) -> _Chunk: ...
    def __getitem__(self, index: int | slice) -> Partition | _Chunk:
        """Return the partition at an index, which may differ from its id: ids may have gaps."""
        if isinstance(index, slice):
            return tuple(self)[index]
        if index == 0:
            return self._chunks[min(self._chunks)][0]
        if index == -1:
            return self._chunks[max(self._chunks)][-1]
        place = index if index >= 0 else index + self._count
        if place >= 0:
            for chunk in self._ordered_chunks():
                if place < len(chunk):
                    return chunk[place]
                place -= len(chunk)
        raise IndexError(index)

    def _ordered_chunks(self) -> list[_Chunk]:
        return [self._chunks[number] for number in sorted(self._chunks)]


def partition_list(partitions: Iterable[Partition]) -> Partitions:
    """Return a persistent list of `partitions`, which must be in order of id."""
    flat = tuple(partitions)
    if not flat or flat[-1].partition_id < CHUNK_SIZE:
        return flat
    return ChunkedPartitions(_chunks(flat), len(flat))


def find(partitions: Partitions, partition_id: int) -> Partition | None:
    """Return the partition with this id, None if there is none."""
    if isinstance(partitions, ChunkedPartitions):
        partitions = partitions._chunks.get(partition_id >> _CHUNK_BITS, ())
    usual = partition_id & (CHUNK_SIZE - 1)  # as `_index`, without a call
    if usual < len(partitions) and partitions[usual].partition_id == partition_id:
        return partitions[usual]
    index = _index(partitions, partition_id)
    return None if index is None else partitions[index]


def merged(base: Partitions, changes: _Changes) -> Partitions:
    """Return `base` with changes applied (None removes a partition): O(chunks changed)."""
    if isinstance(base, ChunkedPartitions):
        return _merged_chunks(base._chunks, len(base), changes)
    if max(changes) < CHUNK_SIZE:
        return _merged_chunk(base, changes)
    return _merged_chunks(_chunks(base), len(base), changes)


def _merged_chunks(base: Map[int, _Chunk], count: int, changes: _Changes) -> Partitions:
    by_chunk: defaultdict[int, dict[int, Partition | None]] = defaultdict(dict)
    for partition_id, partition in changes.items():
        by_chunk[partition_id >> _CHUNK_BITS][partition_id] = partition
    chunks, emptied = base.mutate(), False
    for number, changes_of_chunk in by_chunk.items():
        old = chunks.pop(number, ())
        new = _merged_chunk(old, changes_of_chunk)
        count += len(new) - len(old)
        if new:
            chunks[number] = new
        else:
            emptied = True
    result = ChunkedPartitions(chunks.finish(), count)
    return partition_list(result) if emptied else result


def _merged_chunk(base: _Chunk, changes: _Changes) -> _Chunk:
    if not base or min(changes) > base[-1].partition_id:
        return base + _in_order(changes)
    new = list(base)
    for partition_id, partition in changes.items():
        index = _index(base, partition_id)
        if partition is None or index is None:
            by_id: _Changes = {old.partition_id: old for old in base}
            return _in_order(by_id | changes)
        new[index] = partition
    return tuple(new)


def _in_order(partitions: _Changes) -> _Chunk:
    return tuple([partition for _, partition in sorted(partitions.items()) if partition])


def _index(chunk: _Chunk, partition_id: int) -> int | None:
    """Return the index of a partition in a chunk, None if the partition is not there.

    First tries the index that the partition has if no lower id is missing, then searches the chunk.
    """
    index = partition_id & (CHUNK_SIZE - 1)
    if index < len(chunk) and chunk[index].partition_id == partition_id:
        return index
    index = bisect_left(chunk, partition_id, key=_partition_id)
    if index < len(chunk) and chunk[index].partition_id == partition_id:
        return index
    return None


def _chunks(partitions: _Chunk) -> Map[int, _Chunk]:
    chunks = groupby(partitions, lambda partition: partition.partition_id >> _CHUNK_BITS)
    return Map({number: tuple(chunk) for number, chunk in chunks})
