"""A log that ends in an incomplete write, and damage that looks like one."""

from pathlib import Path

import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.torn_tail import damage_in_tail
from records.control import NoOpRecord
from records.errors import CorruptLogError
from tests.metadata_log.kraft.logs import LogFiles, batch, leader_change, partition_change, topic

_NEXT = batch(7, 3, topic(), partition_change())
_LATER = batch(9, 3, NoOpRecord())


def _with_length(data: bytes, length: int) -> bytes:
    return data[:8] + length.to_bytes(4, "big", signed=True) + data[12:]


# A batch that should be longer, and of which a part is there.
_TORN = _with_length(_NEXT[:-2], 4_000)


@pytest.mark.parametrize("size", range(1, len(_NEXT)))
def test_beginning_of_the_next_batch_is_no_damage(size: int) -> None:
    assert damage_in_tail(_NEXT[:size], 7, 3) is None


@pytest.mark.parametrize("size", range(1, len(_NEXT)))
def test_beginning_of_another_batch_is_damage(size: int) -> None:
    other = (5 << 56).to_bytes(8, "big") + _NEXT[8:]
    assert "expected offset 7" in str(damage_in_tail(other[:size], 7, 3))


@pytest.mark.parametrize("length", [-1, 0, 48, 8 * 1024 * 1024 + 1, (1 << 31) - 1])
def test_length_that_cannot_be_is_damage(length: int) -> None:
    message = damage_in_tail(_with_length(_NEXT, length)[:30], 7, 3)
    assert message == f"the batch's length says {length}, expected 49 to 8388608"


def test_lower_epoch_is_damage() -> None:
    assert damage_in_tail(_NEXT[:15], 7, 4) is None
    assert damage_in_tail(_NEXT[:16], 7, 4) == "an incomplete batch of epoch 3 follows epoch 4"


def test_other_magic_is_damage() -> None:
    old = _NEXT[:16] + b"\1" + _NEXT[17:]
    assert damage_in_tail(old[:16], 7, 3) is None
    assert damage_in_tail(old[:17], 7, 3) == "an incomplete batch has magic 1, expected 2"


@pytest.mark.parametrize("behind", [b"", _LATER, _LATER[:50], b"\0" * 5])
def test_whole_batch_with_a_damaged_length_is_damage(behind: bytes) -> None:
    message = str(damage_in_tail(_with_length(_NEXT, 4_000) + behind, 7, 3))
    assert f"its {len(_NEXT)} bytes are whole" in message
    assert f"the length must be {len(_NEXT) - 12}" in message


@pytest.mark.parametrize("gap", [b"", b"\2\2\2", b"anything" * 20])
def test_whole_batch_behind_an_incomplete_one_is_damage(gap: bytes) -> None:
    tail = _TORN + gap + _LATER
    message = str(damage_in_tail(tail, 7, 3))
    start = len(_TORN) + len(gap)
    assert f"{start} bytes after its start a complete one of offset 9" in message


def test_batch_that_could_not_come_later_does_not_count() -> None:
    for earlier in (batch(7, 3, NoOpRecord()), batch(9, 2, NoOpRecord())):
        assert damage_in_tail(_TORN + earlier, 7, 3) is None


def test_bytes_of_the_magic_at_the_very_end_are_no_batch() -> None:
    assert damage_in_tail(_TORN + b"\2" * 100, 7, 3) is None


@pytest.fixture
def files(tmp_path: Path) -> LogFiles:
    return LogFiles(tmp_path)


@pytest.mark.parametrize("left", [1, 11, 12, 40, 61, 71])
def test_incomplete_last_batch_is_counted_and_not_read(files: LogFiles, left: int) -> None:
    files.segment(0, batch(0, 1, leader_change()), batch(1, 1, NoOpRecord())[:left])
    directory = open_directory(files.directory)
    assert [read.base_offset for read in directory.batches()] == [0]
    assert directory.trailing_bytes == left


def test_incomplete_batch_in_an_earlier_segment_is_damage(files: LogFiles) -> None:
    path = files.segment(0, batch(0, 1, leader_change()), batch(1, 1, NoOpRecord())[:40])
    files.segment(1, batch(1, 1, NoOpRecord()))
    with pytest.raises(CorruptLogError, match="the file ends 40 bytes after the start") as caught:
        list(open_directory(files.directory).batches())
    assert str(caught.value).startswith(f"{path} byte ")


def test_trailing_zeros_are_damage(files: LogFiles) -> None:
    files.segment(0, batch(0, 1, leader_change()), bytes(5_000))
    with pytest.raises(CorruptLogError, match="starts with 0000000000000000, expected"):
        list(open_directory(files.directory).batches())
