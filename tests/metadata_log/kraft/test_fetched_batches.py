"""Batches as a leader sends them: cut, from inside a batch, damaged."""

import pytest

from metadata_log.kraft.fetched_batches import fetched_batches
from metadata_log.kraft_format.batch import HEADER_SIZE, KraftBatch
from records.control import NoOpRecord
from records.errors import CorruptLogError
from tests.metadata_log.kraft.logs import batch, leader_change, partition_change, topic

pytestmark = pytest.mark.usefixtures("either_codec")

_FIRST = batch(5, 2, topic(), partition_change())
_SECOND = batch(7, 2, NoOpRecord())
_THIRD = batch(8, 3, leader_change())


def _read(data: bytes, fetch_offset: int = 5, leader_epoch: int = 2) -> list[KraftBatch]:
    return list(
        fetched_batches(
            data, fetch_offset=fetch_offset, leader_epoch=leader_epoch, source="c1:9093"
        )
    )


def test_whole_batches_are_read_in_order() -> None:
    found = _read(_FIRST + _SECOND + _THIRD)
    assert [(each.base_offset, each.end_offset, each.leader_epoch) for each in found] == [
        (5, 7, 2),
        (7, 8, 2),
        (8, 9, 3),
    ]


@pytest.mark.parametrize("size", range(len(_FIRST), len(_FIRST + _SECOND)))
def test_cut_last_batch_is_left_out(size: int) -> None:
    assert [each.base_offset for each in _read((_FIRST + _SECOND)[:size])] == [5]


def test_batches_below_the_offset_are_skipped() -> None:
    assert [each.base_offset for each in _read(_FIRST + _SECOND, 7)] == [7]


def test_batch_around_the_offset_loses_the_records_below_it() -> None:
    first, second = _read(_FIRST + _SECOND, 6)
    assert [row.offset for row in first.rows] == [6]
    assert (first.base_offset, first.rows[0].batch_offset, second.base_offset) == (6, 6, 7)


def test_every_flipped_byte_that_the_checksum_covers_is_reported() -> None:
    for position in range(len(_FIRST), len(_FIRST + _SECOND)):
        data = bytearray(_FIRST + _SECOND + _THIRD)
        data[position] ^= 1
        if position - len(_FIRST) in range(8, 12):  # a length may run past the answer's end
            continue
        if position - len(_FIRST) in range(12, 16):  # nothing covers the epoch
            continue
        with pytest.raises(CorruptLogError, match=f"byte {len(_FIRST)} of its answer for offset 7"):
            _read(bytes(data))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (_SECOND, "found a batch of offset 7, expected 5"),
        (_FIRST + _THIRD, "found a batch of offset 8, expected 7"),
        (batch(5, 1, topic()), "epoch 1 follows epoch 2"),
        (bytes(HEADER_SIZE), "a batch cannot have a length of 0 bytes"),
    ],
)
def test_what_cannot_follow_is_refused(data: bytes, what: str) -> None:
    with pytest.raises(CorruptLogError, match=f"c1:9093 sent damaged batches: .*{what}"):
        _read(data)
