"""`verify` lists all damage with its place, and tells it apart from harmless findings."""

import asyncio
import random
from pathlib import Path

import pytest

from metadata_log.care.findings import Finding
from metadata_log.format.checkpoint import CheckpointRecord
from metadata_log.format.commit_mark import SLOT_SPACING
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.mirror import MirrorBuilder
from records.configs import FeatureLevelRecord
from records.errors import RequestError
from tests.metadata_log.care.conftest import flip, inspect
from tests.metadata_log.conftest import topics
from tests.metadata_log.test_mirror import base, level, mirror, row


def segments(log: Path) -> list[Path]:
    return sorted(path for path in log.glob("*.avro") if "checkpoint" not in path.name)


def blocks_at(log: Path) -> int:
    """Return about where the blocks of a segment of `log` begin."""
    with LogReader.open(log) as reader:
        return len(reader.header(reader.segment_paths[0]).encode())


def places(found: list[Finding]) -> list[tuple[str, int]]:
    return [(finding.file, finding.byte) for finding in found]


def test_whole_log_has_no_damage_and_every_record_is_seen(log: Path) -> None:
    found = inspect(log)
    assert (found.damage, found.notes) == ([], [])
    with LogReader.open(log) as reader:
        batches = list(reader.batches())
        assert (found.segments, found.end_offset) == (len(reader.segment_paths), reader.end_offset)
    assert found.blocks == len(batches)
    assert found.records == sum(len(batch.rows) for batch in batches)


def test_flipped_bits_anywhere_are_found_in_their_file(log: Path) -> None:
    rng = random.Random(11)
    files = [*segments(log), log / "commit.mark", *log.glob("*.index")]
    for path in files:
        size = path.stat().st_size
        marks = [at + n for at in (0, SLOT_SPACING) for n in range(64)]
        sample = marks if path.name == "commit.mark" else range(size)
        for byte in rng.sample(sample, min(25, len(sample))):
            bit = rng.randrange(8)
            flip(path, byte, bit)
            damage = inspect(log).damage
            flip(path, byte, bit)
            assert path.name in {finding.file for finding in damage}, f"{path.name} byte {byte}"
    assert inspect(log).damage == []


def test_all_damage_is_listed_within_a_segment_and_beyond_it(log: Path) -> None:
    first, second, *_ = segments(log)
    start = blocks_at(log)
    with LogReader.open(log) as reader:
        third_batch = list(reader.batches())[3].base_offset
    flip(first, start + 30)
    flip(first, first.stat().st_size - 60)
    flip(second, second.stat().st_size - 60)
    damage = inspect(log).damage
    assert [finding.file for finding in damage] == [first.name, first.name, second.name]
    assert damage[0].byte == start
    assert damage[0].from_offset == 0
    assert damage[0].end_byte is not None
    assert damage[0].end_byte < damage[1].byte
    assert damage[1].from_offset is not None
    assert damage[1].from_offset > third_batch


def test_damage_that_only_the_next_block_shows_is_that_of_the_block_before(log: Path) -> None:
    """The checksum of the frame does not cover its whole header, but the chain of CRCs does."""
    path = segments(log)[0]
    start, found = blocks_at(log), []
    for bit in range(8):
        # The descriptor of the zstandard frame: among its bits is one that no decoder reads.
        flip(path, start + 3 + 4, bit)
        found.append(inspect(log).damage)
        flip(path, start + 3 + 4, bit)
    assert all(damage and damage[0].byte == start for damage in found)


def test_missing_short_and_too_long_segments_are_found(log: Path) -> None:
    first, second, third, *_ = segments(log)
    data = second.read_bytes()
    second.write_bytes(data[:-10])
    assert [f.file for f in inspect(log).damage] == [second.name]
    second.write_bytes(data + b"surplus")
    assert places(inspect(log).notes) == [(second.name, len(data))]
    assert inspect(log).damage == []
    second.unlink()
    assert places(inspect(log).damage) == [(third.name, 0)]
    second.write_bytes(data)
    first.unlink()
    assert any("no base checkpoint" in finding.what for finding in inspect(log).damage)


def test_segment_that_the_mark_points_into_must_be_there_and_long_enough(log: Path) -> None:
    last = segments(log)[-1]
    data = last.read_bytes()
    last.write_bytes(data[:-1])
    assert (last.name, len(data) - 1) in places(inspect(log).damage)
    last.unlink()
    assert (last.name, 0) in places(inspect(log).damage)


def test_log_that_lost_all_its_segments_is_damaged(log: Path) -> None:
    for path in log.glob("*.avro"):
        path.unlink()
    (finding,) = inspect(log).damage
    assert finding.what == "the commit mark points into this segment, which is missing"


def test_each_slot_of_the_mark_is_checked(log: Path) -> None:
    for slot in (0, SLOT_SPACING):
        flip(log / "commit.mark", slot + 17)
        assert ("commit.mark", slot) in places(inspect(log).damage)
    damage = inspect(log).damage
    assert places(damage) == [("commit.mark", 0), ("commit.mark", SLOT_SPACING)]
    assert all("metalog repair" in finding.remedy for finding in damage)


def test_segment_of_another_cluster_is_found(log: Path, tmp_path: Path) -> None:
    text = (log / "metalog.json").read_text()
    (log / "metalog.json").write_text(text.replace("test-cluster", "other-cluster"))
    assert {finding.file for finding in inspect(log).damage} == {
        path.name for path in segments(log)
    }


def test_index_that_names_a_wrong_place_is_found(log: Path) -> None:
    one, other, *_ = sorted(log.glob("*.index"))
    one.write_bytes(other.read_bytes())
    damage = inspect(log).damage
    assert places(damage) == [(one.name, 0)]
    assert "remove the file" in damage[0].remedy


def test_what_crashes_and_strangers_leave_is_noted_and_no_damage(log: Path) -> None:
    last = segments(log)[-1]
    size = last.stat().st_size
    last.write_bytes(last.read_bytes() + b"torn")
    (log / "00000000000000009999.avro.part").touch()
    (log / "letter.txt").touch()
    found = inspect(log)
    assert found.damage == []
    assert sorted(places(found.notes)) == [
        (last.name, size),
        ("00000000000000009999.avro.part", 0),
        ("letter.txt", 0),
    ]


def test_damaged_base_checkpoint_is_found(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", [(row(7, 500, level(1)), 8)], base(7, 450))
    assert inspect(log).damage == []
    assert inspect(log).history_start == 7
    path = next(log.glob("*.checkpoint.avro"))
    flip(path, path.stat().st_size - 100)
    assert [finding.file for finding in inspect(log).damage] == [path.name]


def test_mirror_may_have_times_that_go_back(tmp_path: Path) -> None:
    rows = [(row(n, time, level(n)), n + 1) for n, time in enumerate([300, 100, 200])]
    assert inspect(mirror(tmp_path / "log", rows)).damage == []


def test_manifest_that_cannot_be_read_is_found(log: Path) -> None:
    path = log / "metalog.json"
    for bit in (0, 7):
        flip(path, 0, bit)
        assert places(inspect(log).damage) == [("metalog.json", 0)]
        flip(path, 0, bit)


def test_directory_that_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="is not a log"):
        inspect(tmp_path)


async def test_live_log_is_inspected_beside_its_writer(log: Path) -> None:
    writer = await MetadataLog.open(log)
    done = False

    async def write() -> int:
        count = 0
        while not done:
            await writer.append(topics(count, 3))
            count += 1
        return count

    writing = asyncio.create_task(write())
    ends = []
    for _ in range(10):
        found = await asyncio.to_thread(inspect, log)
        assert found.damage == []
        ends.append(found.end_offset)
    done = True
    assert await writing > 0
    await writer.close()
    assert ends[0] != ends[-1]


def test_checkpoint_of_a_born_state_is_no_cut(tmp_path: Path) -> None:
    with MirrorBuilder(tmp_path / "log", "kafka-cluster") as builder:
        record = FeatureLevelRecord(name="metadata.version", feature_level=1)
        builder.write_base([CheckpointRecord(record, 0)], end_offset=0, leader_epoch=0, timestamp=0)
        builder.append([row(0, 1, level(2))], 1)
        builder.finish(0)
    found = inspect(tmp_path / "log")
    assert (found.damage, found.history_start) == ([], 0)


async def test_damage_past_a_mark_that_lags_is_found_below_what_later_blocks_prove(
    log: Path,
) -> None:
    writer = await MetadataLog.open(log)
    lagging = (log / "commit.mark").read_bytes()
    for count in range(6):
        await writer.append(topics(count, 1))
    await writer.close()
    (log / "commit.mark").write_bytes(lagging)
    assert inspect(log).damage == []
    last = segments(log)[-1]
    with LogReader.open(log) as reader:
        end = reader.mark.position
    flip(last, end - 300)
    assert [finding.file for finding in inspect(log).damage] == [last.name]
