"""`repair` keeps what is provably intact, in order, and lists the losses; the source is
unchanged.
"""

import asyncio
import random
import shutil
from pathlib import Path

import pytest

from metadata_log.care.repair import RepairResult, repair
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import Batch
from metadata_log.format.commit_mark import read_mark
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError, RequestError
from tests.metadata_log.care.conftest import flip, inspect
from tests.metadata_log.conftest import topics
from tests.metadata_log.test_mirror import base, level, mirror, row
from tests.own_logs import content, write_history


def repaired(log: Path, copy: Path) -> RepairResult:
    before = content(log)
    result = repair(OsFs(), log, copy, check=lambda made: None)
    assert content(log) == before
    assert inspect(copy).damage == []
    return result


def batches(log: Path) -> list[Batch]:
    with LogReader.open(log) as reader:
        return list(reader.batches())


def segments(log: Path) -> list[Path]:
    return sorted(path for path in log.glob("*.avro") if "checkpoint" not in path.name)


def blocks_at(log: Path) -> int:
    with LogReader.open(log) as reader:
        return len(reader.header(reader.segment_paths[0]).encode())


def test_copy_of_a_whole_log_holds_the_same_bytes(log: Path, tmp_path: Path) -> None:
    result = repaired(log, tmp_path / "copy")
    assert result.is_complete
    assert (result.lost, result.rebuilt) == ((), ())
    for path in [*segments(log), *log.glob("*.index"), log / "metalog.json"]:
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes(), path.name


def test_copy_of_a_log_with_any_flipped_bit_is_a_prefix_and_the_loss_is_named(
    log: Path, tmp_path: Path
) -> None:
    rng = random.Random(3)
    whole = batches(log)
    end = whole[-1].end_offset
    paths = segments(log)
    start = blocks_at(log)
    for number in range(60):
        path = rng.choice(paths)
        byte = rng.randrange(start, path.stat().st_size)
        bit = rng.randrange(8)
        flip(path, byte, bit)
        result = repaired(log, tmp_path / f"copy-{number}")
        flip(path, byte, bit)
        kept = batches(tmp_path / f"copy-{number}")
        assert kept == whole[: len(kept)], f"{path.name} byte {byte} bit {bit}"
        assert not result.is_complete
        assert (result.end_offset, result.proven_end) == (len_of(kept), end)
        first = result.lost[0]
        assert (first.file, first.from_offset) == (path.name, result.end_offset)
        assert first.byte <= byte < first.end_byte
        shutil.rmtree(tmp_path / f"copy-{number}")


def len_of(kept: list[Batch]) -> int:
    return kept[-1].end_offset if kept else 0


def test_damaged_header_is_rebuilt_bit_for_bit(log: Path, tmp_path: Path) -> None:
    rng = random.Random(4)
    end = blocks_at(log)
    for path in segments(log)[1:]:
        whole = path.read_bytes()
        path.write_bytes(bytes(rng.randbytes(end - 2_000)) + whole[end - 2_000 :])
        copy = tmp_path / f"copy-{path.stem}"
        result = repaired(log, copy)
        path.write_bytes(whole)
        assert result.is_complete
        assert result.rebuilt == (f"{path.name} byte 0: the header, from the segment before it",)
        assert (copy / path.name).read_bytes() == whole


def test_log_whose_mark_is_lost_is_whole_again(log: Path, tmp_path: Path) -> None:
    mark = read_mark(OsFs(), log)
    (log / "commit.mark").write_bytes(bytes(1024))
    result = repaired(log, tmp_path / "copy")
    assert result.is_complete
    made = read_mark(OsFs(), tmp_path / "copy")
    assert (made.end_offset, made.position, made.last_crc32c) == (
        mark.end_offset,
        mark.position,
        mark.last_crc32c,
    )
    assert batches(tmp_path / "copy")[-1].end_offset == mark.end_offset


def test_without_a_mark_a_torn_end_may_have_been_acknowledged(log: Path, tmp_path: Path) -> None:
    (log / "commit.mark").unlink()
    last = segments(log)[-1]
    last.write_bytes(last.read_bytes()[:-5])
    result = repaired(log, tmp_path / "copy")
    assert not result.is_complete
    assert result.lost_offsets == 0
    assert result.lost[-1].file == last.name


def test_torn_end_past_the_mark_is_no_loss(log: Path, tmp_path: Path) -> None:
    last = segments(log)[-1]
    size = last.stat().st_size
    last.write_bytes(last.read_bytes() + b"\x02torn")
    result = repaired(log, tmp_path / "copy")
    assert result.is_complete
    assert [(lost.file, lost.byte, lost.end_byte) for lost in result.lost] == [
        (last.name, size, size + 5)
    ]


def test_last_block_that_the_mark_contradicts_is_not_kept(log: Path, tmp_path: Path) -> None:
    """The block itself is valid: only the commit mark shows that another block was there."""
    whole = batches(log)
    last = segments(log)[-1]
    with LogReader.open(log) as reader:
        end = reader.mark.position
    stored = last.read_bytes()
    # The frame header descriptor's unused bit, of the last block.
    for byte in range(len(stored) - 2_000, len(stored)):
        if stored[byte : byte + 4] == b"\x28\xb5\x2f\xfd":
            frame = byte
    flip(last, frame + 4, 4)
    result = repaired(log, tmp_path / "copy")
    assert result.end_offset == whole[-1].base_offset
    assert result.proven_end == whole[-1].end_offset
    assert result.lost[-1].end_byte == end


def test_bytes_past_the_end_of_a_sealed_segment_are_left_out(log: Path, tmp_path: Path) -> None:
    whole = batches(log)
    first = segments(log)[0]
    first.write_bytes(first.read_bytes() + b"surplus")
    result = repaired(log, tmp_path / "copy")
    assert result.is_complete
    assert "7 bytes too many" in result.rebuilt[0]
    assert batches(tmp_path / "copy") == whole


def test_missing_segment_ends_the_copy_there(log: Path, tmp_path: Path) -> None:
    whole = batches(log)
    _, second, third, *_ = segments(log)
    second.unlink()
    result = repaired(log, tmp_path / "copy")
    assert result.end_offset == int(second.stem)
    assert result.proven_end == whole[-1].end_offset
    assert result.lost[0].file == third.name
    assert any(lost.readable for lost in result.lost)


def test_lost_manifest_is_written_anew(log: Path, tmp_path: Path) -> None:
    manifest = (log / "metalog.json").read_bytes()
    flip(log / "metalog.json", 0, 7)
    for copy in (tmp_path / "damaged", tmp_path / "missing"):
        result = repaired(log, copy)
        assert result.is_complete
        assert "metalog.json byte 0" in result.rebuilt[0]
        assert (copy / "metalog.json").read_bytes() == manifest
        (log / "metalog.json").unlink(missing_ok=True)


def test_manifest_of_a_mirror_is_that_of_a_mirror(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", [(row(7, 500, level(1)), 8)], base(7, 450), confirmed_end=7)
    manifest = (log / "metalog.json").read_bytes()
    (log / "metalog.json").unlink()
    result = repaired(log, tmp_path / "copy")
    assert (tmp_path / "copy" / "metalog.json").read_bytes() == manifest
    assert result.history_start == 7
    with LogReader.open(tmp_path / "copy") as reader:
        assert (reader.confirmed_end, reader.end_offset) == (7, 8)


def test_log_without_its_base_cannot_be_repaired(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", [(row(7, 500, level(1)), 8)], base(7, 450))
    path = next(log.glob("*.checkpoint.avro"))
    flip(path, path.stat().st_size - 100)
    with pytest.raises(CorruptLogError, match="restore the checkpoint from a backup"):
        repaired(log, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_log_whose_first_header_is_lost_cannot_be_repaired(log: Path, tmp_path: Path) -> None:
    flip(segments(log)[0], 100)
    with pytest.raises(CorruptLogError, match="nothing before it is intact"):
        repaired(log, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


async def test_repaired_log_is_written_on_with_a_higher_epoch(log: Path, tmp_path: Path) -> None:
    epoch = read_mark(OsFs(), log).leader_epoch
    flip(segments(log)[2], segments(log)[2].stat().st_size - 50)
    result = repaired(log, tmp_path / "copy")
    writer = await MetadataLog.open(tmp_path / "copy")
    assert writer.leader_epoch == epoch + 1
    appended = await writer.append(topics(1, 2))
    await writer.close()
    assert appended.base_offset == result.end_offset + 1
    assert inspect(tmp_path / "copy").damage == []


def test_repair_never_writes_over_something(log: Path) -> None:
    with pytest.raises(RequestError, match="exists already"):
        repair(OsFs(), log, log, check=lambda made: None)


def test_what_a_live_writer_adds_meanwhile_is_not_lost(log: Path, tmp_path: Path) -> None:
    class BesideAWriter(OsFs):
        """A writer begins a segment right after the file names have been listed."""

        written = False

        def list(self, directory: Path) -> list[str]:
            names = super().list(directory)
            if not self.written:
                self.written = True
                asyncio.run(write_history(log, seed=9, batches=3, create=False))
            return names

    result = repair(
        BesideAWriter(), log, tmp_path / "copy", copy_fs=OsFs(), check=lambda made: None
    )
    assert result.is_complete
