"""Damage below the commit mark is reported with its place; a torn tail past it is cut."""

import logging
from pathlib import Path

import pytest

from metadata_log.files.fs import OsFs
from metadata_log.format.commit_mark import SLOT_SPACING, read_mark
from metadata_log.format.offset_index import IndexEntry, read_index
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError
from tests.metadata_log.conftest import topics


def read_all(directory: Path) -> list[int]:
    with LogReader.open(directory) as reader:
        return [batch.base_offset for batch in reader.batches()]


def flip(path: Path, byte: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)


SEGMENT = "00000000000000000000.avro"


async def test_unused_bit_of_the_last_block_is_noticed_by_the_mark(written: Path) -> None:
    path = written / SEGMENT
    data = path.read_bytes()
    frame = data.rindex(b"\x28\xb5\x2f\xfd")
    flip(path, frame + 4, 4)
    with pytest.raises(CorruptLogError, match=r"the block has CRC .* the commit mark says"):
        read_all(written)
    with (
        LogReader.open(written) as reader,
        pytest.raises(CorruptLogError, match=r"the block has CRC .* the commit mark says"),
    ):
        list(reader.batches(reader.end_offset - 1))


async def test_damage_names_the_offsets_that_are_intact(written: Path) -> None:
    path = written / SEGMENT
    flip(path, path.stat().st_size - 30, 3)
    with pytest.raises(CorruptLogError, match=r"avro byte \d+: .*; offsets below 28 are intact"):
        read_all(written)


async def test_shortened_segment_is_taken_for_a_short_copy(written: Path) -> None:
    path = written / SEGMENT
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptLogError, match="short copy"):
        read_all(written)
    with pytest.raises(CorruptLogError, match="short copy"):
        await MetadataLog.open(written)


async def test_missing_segment_is_noticed(directory: Path) -> None:
    for _ in range(3):
        log = await MetadataLog.open(directory)
        await log.append(topics(0, 1))
        await log.close()
    (directory / "00000000000000000002.avro").unlink()
    with pytest.raises(CorruptLogError, match="a segment between them is missing"):
        read_all(directory)


async def test_opening_checks_the_headers_and_lengths_of_all_segments(directory: Path) -> None:
    for _ in range(3):
        log = await MetadataLog.open(directory)
        await log.append(topics(0, 1))
        await log.close()
    first, second = sorted(directory.glob("*.avro"))[:2]
    for damage in (lambda: flip(first, 500, 1), lambda: second.write_bytes(b""), second.unlink):
        kept = {path: path.read_bytes() for path in (first, second)}
        damage()
        with pytest.raises(CorruptLogError, match=r"\.avro byte \d+: "):
            await MetadataLog.open(directory)
        for path, data in kept.items():
            path.write_bytes(data)


async def test_log_at_rest_survives_the_loss_of_either_slot_of_its_mark(written: Path) -> None:
    mark = read_mark(OsFs(), written)
    flip(written / "commit.mark", mark.sequence % 2 * SLOT_SPACING + 20, 0)
    older = read_mark(OsFs(), written)
    assert older.sequence == mark.sequence - 1
    assert older.end_offset == mark.end_offset
    assert read_all(written)[-1] == 28


async def test_lost_slot_of_a_log_in_use_hides_at_most_the_last_batch_and_is_reported(
    written: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = await MetadataLog.open(written)
    await log.append(topics(100, 1))
    mark = read_mark(OsFs(), written)
    flip(written / "commit.mark", mark.slot_position + 20, 0)
    at = mark.slot_position
    with caplog.at_level(logging.WARNING):
        assert read_all(written)[-1] == 31
    assert f"commit.mark byte {at}: this slot of the commit mark is not whole" in caplog.text
    await log.append(topics(101, 1))
    assert read_all(written)[-1] == 33
    await log.close()


async def test_log_without_a_whole_mark_is_refused(written: Path) -> None:
    (written / "commit.mark").write_bytes(bytes(1024))
    with pytest.raises(CorruptLogError, match="metalog repair"):
        read_all(written)


async def test_torn_tail_past_the_mark_is_cut_and_logged(
    written: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written / SEGMENT
    whole = path.read_bytes()
    path.write_bytes(whole + whole[-40:-1])
    assert read_all(written)[-1] == 28
    with caplog.at_level(logging.WARNING):
        log = await MetadataLog.open(written)
    assert f"cut 39 bytes from byte {len(whole)} on" in caplog.text
    await log.close()
    assert path.read_bytes() == whole
    assert read_all(written)[-1] == 31


async def test_whole_blocks_past_a_mark_that_lags_are_kept(written: Path) -> None:
    mark_before = (written / "commit.mark").read_bytes()
    log = await MetadataLog.open(written)
    await log.append(topics(100, 1))
    await log.close()
    (written / "commit.mark").write_bytes(mark_before)
    # The last block proves that the one before it was acknowledged, not that it was itself.
    assert read_all(written)[-1] == 31
    log = await MetadataLog.open(written)
    await log.close()
    assert read_all(written)[-3:] == [31, 32, 33]


async def test_index_that_is_damaged_or_gone_costs_only_time(written: Path) -> None:
    index = written / "00000000000000000000.index"
    assert read_index(OsFs(), written, 0).at_offset(17) is not None
    flip(index, 3, 3)
    with LogReader.open(written) as reader:
        assert [b.base_offset for b in reader.batches(17, 18)] == [16]
    index.unlink()
    with LogReader.open(written) as reader:
        assert [b.base_offset for b in reader.batches(17, 18)] == [16]


@pytest.mark.parametrize("entry", [IndexEntry(16, 12_700, 0), IndexEntry(16, 1 << 40, 0)])
async def test_index_of_another_log_costs_only_time(written: Path, entry: IndexEntry) -> None:
    (written / "00000000000000000000.index").write_bytes(entry.encode())
    with LogReader.open(written) as reader:
        assert [b.base_offset for b in reader.batches(17, 18)] == [16]


async def test_healthy_segment_is_never_cut_because_the_one_after_it_is_missing(
    directory: Path,
) -> None:
    for count in (20, 1, 1):
        log = await MetadataLog.open(directory)
        await log.append(topics(0, count))
        await log.close()
    first, missing, _ = sorted(directory.glob("*.avro"))
    missing.unlink()
    kept = first.read_bytes()
    with pytest.raises(CorruptLogError, match="a segment between them is missing"):
        await MetadataLog.open(directory)
    assert first.read_bytes() == kept
