"""Partitions of a topic, compared with a plain dict, for any number and any gaps."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.image.partition_list import (
    CHUNK_SIZE,
    ChunkedPartitions,
    Partitions,
    find,
    merged,
    partition_list,
)
from replay.image.partitions import Partition
from tests.replay.builders import uid

# Around the bounds of chunks, where a mistake would show; ids below 0 and huge ones are possible
# in raw logs.
_ids = st.one_of(
    st.integers(-2, 4),
    st.builds(
        lambda chunk, place: chunk * CHUNK_SIZE + place, st.integers(1, 4), st.integers(-2, 2)
    ),
    st.sampled_from([2**31 - 1, -(2**31)]),
)
# The leader epoch of what is set; None removes.
_changes = st.dictionaries(_ids, st.one_of(st.none(), st.integers(0, 3)), min_size=1)


def _partition(partition_id: int, leader_epoch: int = 0) -> Partition:
    return Partition(uid("t"), partition_id, (1,), (1,), (), (), 1, 0, leader_epoch, 0)


def _dense(count: int) -> Partitions:
    return partition_list([_partition(n) for n in range(count)])


@settings(deadline=None)
@given(st.sampled_from([0, 1, CHUNK_SIZE, CHUNK_SIZE + 1, 3 * CHUNK_SIZE]), st.lists(_changes))
def test_changes_give_what_they_give_in_a_dict(
    dense: int, batches: list[dict[int, int | None]]
) -> None:
    partitions = _dense(dense)
    model = {n: _partition(n) for n in range(dense)}
    for batch in batches:
        before, was = partitions, list(partitions)
        changes = {n: None if e is None else _partition(n, e) for n, e in batch.items()}
        partitions = merged(partitions, changes)
        model |= {n: partition for n, partition in changes.items() if partition is not None}
        for n in [n for n, partition in changes.items() if partition is None]:
            model.pop(n, None)
        expected = [model[n] for n in sorted(model)]
        assert list(partitions) == expected
        assert len(partitions) == len(expected)
        assert bool(partitions) == bool(expected)
        assert partitions == partition_list(expected), "equal content, equal lists"
        assert list(before) == was, "the list before stays as it was"
        for n in {*changes, 0, CHUNK_SIZE}:
            assert find(partitions, n) == model.get(n)


@given(st.lists(_ids, unique=True).map(sorted))
def test_places_are_those_of_a_tuple(ids: list[int]) -> None:
    flat = tuple([_partition(n) for n in ids])
    partitions = partition_list(flat)
    for place in range(-len(flat), len(flat)):
        assert partitions[place] == flat[place]
    assert partitions[1:] == flat[1:]
    for beyond in (len(flat), -len(flat) - 1):
        with pytest.raises(IndexError):
            partitions[beyond]


def test_change_in_a_large_topic_copies_one_chunk() -> None:
    before = _dense(10 * CHUNK_SIZE)
    after = merged(before, {CHUNK_SIZE: _partition(CHUNK_SIZE, 1), CHUNK_SIZE + 1: None})
    assert isinstance(before, ChunkedPartitions)
    assert isinstance(after, ChunkedPartitions)
    copied = [n for n, chunk in after._chunks.items() if chunk is not before._chunks[n]]
    assert copied == [1]


def test_topic_that_shrinks_to_one_chunk_is_a_tuple_again() -> None:
    large = _dense(CHUNK_SIZE + 2)
    small = merged(large, {CHUNK_SIZE: None, CHUNK_SIZE + 1: None})
    assert isinstance(small, tuple)
    assert small == _dense(CHUNK_SIZE)


def test_lists_that_differ_in_one_partition_differ() -> None:
    partitions = _dense(2 * CHUNK_SIZE)
    changed = msgspec.structs.replace(_partition(CHUNK_SIZE), leader=2)
    assert merged(partitions, {CHUNK_SIZE: changed}) != partitions
