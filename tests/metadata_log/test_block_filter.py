"""The filter of a segment: searches with it find the same records, and no damage is hidden."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import ByteStore, OsFs, read_start
from metadata_log.format import block_filter, filter_writer, segment_scan
from metadata_log.format.batch import Batch, NewBatch
from metadata_log.format.block import StoredBlock, decompress
from metadata_log.format.block_filter import BlockRun, read_filter
from metadata_log.format.needles import Needles
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.mirror_writer import MirrorWriter
from records.base import Record
from records.brokers import FenceBrokerRecord
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.errors import CorruptLogError, UnavailableError
from records.topics import MoveTopicRecord, TopicRecord
from tests.metadata_log.mirrors import new_mirror, row, run_row
from tests.metadata_log.test_faults import FailingFs
from tests.replay.builders import change, namespace, partition, topic, uid

_NAME = "00000000000000000000.filter"
_TOPICS = [f"topic-{n}" for n in range(40)]


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_writer, "FILTER_INTERVAL_BYTES", 400)


def _batches(seed: int) -> Iterator[tuple[Record, ...]]:
    rng = Random(seed)
    for name in _TOPICS:
        yield topic(name), *(partition(name, n) for n in range(rng.randrange(1, 4)))
    yield namespace("team"), topic("billing", namespace="team")
    for _ in range(150):
        name = rng.choice(_TOPICS)
        match rng.randrange(12):
            case 0:
                yield (FenceBrokerRecord(id=rng.randrange(3), epoch=1),)
            case 1:
                yield (_config(rng.choice(["team:billing", name])),)
            case 2:
                yield (
                    MoveTopicRecord(topic_id=uid(name), name=f"{name}-moved", namespace_id=None),
                )
            case _:
                yield tuple(change(name, 0, leader=n) for n in range(rng.randrange(1, 9)))


def _config(resource: str) -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name=resource, name="retention.ms", value="1")


@pytest.fixture
async def log(directory: Path) -> Path:
    writer = await MetadataLog.open(directory)
    for records in _batches(1):
        await writer.append(NewBatch(records=records))
    await writer.close()
    assert len(_runs(directory)) > 10
    return directory


def _runs(log: Path) -> list[BlockRun]:
    return list(read_filter(OsFs(), log, 0).below(1 << 40))


_Wanted = Callable[[Record], bool]


def _searches() -> Iterator[tuple[Needles, _Wanted]]:
    for name in ("topic-3", "topic-39", "absent", "team"):
        needles = Needles()
        needles.add_id(uid(name))
        yield needles, _has_id(name)
    for name in ("topic-3", "topic-39", "topic-5-moved", "absent"):
        needles = Needles()
        needles.add_name(name)
        yield needles, _named(name)
    needles = Needles()
    needles.add_name_in_namespace("billing")
    yield needles, _named("team:billing")
    needles = Needles()
    needles.add_type(FenceBrokerRecord)
    yield needles, lambda record: isinstance(record, FenceBrokerRecord)
    needles = Needles()
    needles.add_type(ConfigRecord, name="topic-7")
    yield needles, lambda record: getattr(record, "resource_name", None) == "topic-7"


def _has_id(name: str) -> _Wanted:
    return lambda r: uid(name) in (getattr(r, "topic_id", None), getattr(r, "namespace_id", None))


def _named(name: str) -> _Wanted:
    return lambda r: name in (getattr(r, "name", None), getattr(r, "resource_name", None))


def _found(batches: Iterator[Batch], wanted: _Wanted) -> list[int]:
    return [row.offset for batch in batches for row in batch.rows if wanted(row.payload)]


def _assert_finds_all(log: Path) -> None:
    with LogReader.open(log) as reader:
        middle = reader.end_offset // 2
        for needles, wanted in _searches():
            assert _found(reader.skim(needles), wanted) == _found(reader.batches(), wanted)
            assert _found(reader.skim(needles, middle), wanted) == _found(
                reader.batches(0, middle), wanted
            )
            assert _found(reader.skim(needles, from_offset=middle), wanted) == _found(
                reader.batches(middle), wanted
            )


def _skim(log: Path, needles: Needles) -> None:
    with LogReader.open(log) as reader:
        for _ in reader.skim(needles):
            pass


async def test_searches_find_the_same_records_with_the_filter(log: Path) -> None:
    _assert_finds_all(log)


async def test_runs_without_the_record_are_not_decompressed(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[StoredBlock] = []

    def counted(block: StoredBlock) -> bytes:
        read.append(block)
        return decompress(block)

    monkeypatch.setattr(segment_scan, "decompress", counted)
    absent = Needles()
    absent.add_id(uid("absent"))
    _skim(log, absent)
    with_filter = len(read)
    (log / _NAME).unlink()
    _skim(log, absent)
    assert with_filter < (len(read) - with_filter) / 10


async def test_short_searches_read_the_filter_once_and_decode_what_they_need(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[BlockRun] = []
    reads: list[Path] = []

    def counted(**fields: Any) -> BlockRun:
        decoded.append(BlockRun(**fields))
        return decoded[-1]

    def read(fs: ByteStore, path: Path, size_bytes_max: int) -> bytes:
        reads.append(path)
        return read_start(fs, path, size_bytes_max)

    every = len(_runs(log))
    monkeypatch.setattr(block_filter, "BlockRun", counted)
    monkeypatch.setattr(block_filter, "read_start", read)
    absent = Needles()
    absent.add_id(uid("absent"))
    with LogReader.open(log) as reader:
        first = reader.history_start
        for _ in range(5):
            list(reader.skim(absent, to_offset=first + 3))
    assert reads == [log / _NAME]
    assert 5 <= len(decoded) < 5 * every / 4


async def test_damaged_entry_takes_no_other_with_it(log: Path) -> None:
    runs = _runs(log)
    whole = bytearray((log / _NAME).read_bytes())
    whole[len(block_filter.MAGIC) + len(runs[0].encode()) + 9] ^= 1
    (log / _NAME).write_bytes(whole)
    assert _runs(log) == [runs[0], *runs[2:]]


async def test_needle_of_unknown_place_is_searched_for_everywhere(log: Path) -> None:
    needles = Needles()
    needles.add(b"topic-3")
    with LogReader.open(log) as reader:
        found = _found(reader.skim(needles), lambda r: isinstance(r, TopicRecord))
    assert len(found) >= 11  # topic-3, and 30 to 39


async def test_flipped_bit_in_a_skipped_run_is_reported(log: Path) -> None:
    run = _runs(log)[3]
    path = log / "00000000000000000000.avro"
    whole = path.read_bytes()
    needles = Needles()
    needles.add_id(uid("absent"))
    for byte in range(run.position, run.end_position):
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << byte % 8
        path.write_bytes(damaged)
        with pytest.raises(CorruptLogError, match=f"{path.name} byte"):
            _skim(log, needles)


async def test_damaged_filter_changes_no_answer(log: Path) -> None:
    whole = (log / _NAME).read_bytes()
    rng = Random(2)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        (log / _NAME).write_bytes(damaged)
        _assert_finds_all(log)


async def test_filter_of_any_length_changes_no_answer(log: Path) -> None:
    """As a writer that is killed leaves it."""
    whole = (log / _NAME).read_bytes()
    for size in (*range(20), *range(20, len(whole), 97)):
        (log / _NAME).write_bytes(whole[:size])
        _assert_finds_all(log)


async def test_filter_of_another_log_changes_no_answer(log: Path) -> None:
    foreign = [replace(run, content_crc32c=7, types=0, tokens=b"") for run in _runs(log)]
    _write(log, foreign)
    _assert_finds_all(log)
    assert inspect_log(OsFs(), log).damage == []


def _write(log: Path, runs: list[BlockRun]) -> None:
    (log / _NAME).write_bytes(block_filter.MAGIC + b"".join(run.encode() for run in runs))


async def test_verify_names_a_filter_that_hides_records(log: Path) -> None:
    assert inspect_log(OsFs(), log).damage == []
    _write(log, [replace(run, tokens=b"") for run in _runs(log)])
    (finding,) = inspect_log(OsFs(), log).damage
    assert finding.file == _NAME
    assert "remove the file" in finding.remedy


def test_continued_and_cut_mirrors_keep_a_filter_of_what_they_have(tmp_path: Path) -> None:
    path, earlier = tmp_path / "mirror", tmp_path / "earlier"
    new_mirror(path, [(_change_row(n), n + 1) for n in range(100)])
    shutil.copytree(path, earlier)
    runs = _runs(path)
    with MirrorWriter(path) as writer:
        for n in range(100, 200):
            writer.append([_change_row(n)], n + 1)
    assert _runs(path)[: len(runs)] == runs
    assert _runs(path)[-1].end_offset > 190
    _assert_finds_all(path)
    # As after a restore to an earlier end: entries beyond it must not be used.
    shutil.copy(path / _NAME, earlier / _NAME)
    _assert_finds_all(earlier)
    with MirrorWriter(path) as writer:
        writer.cut(150, 149)
        for n in range(150, 170):
            writer.append([_change_row(n, leader=7)], n + 1)
    assert all(run.end_offset <= 150 for run in _runs(path))
    _assert_finds_all(path)
    assert inspect_log(OsFs(), path).damage == []


def test_filter_of_a_continued_mirror_survives_blocks_that_are_taken_back(tmp_path: Path) -> None:
    fs = FailingFs()
    path = new_mirror(tmp_path / "mirror", [(_change_row(n), n + 1) for n in range(100)])
    runs = _runs(path)
    with MirrorWriter(path, fs=fs) as writer:
        writer.append([_change_row(100)], 101)
        fs.room = 20
        with pytest.raises(UnavailableError, match="no room"):
            writer.commit()
        fs.room = None
        for n in range(100, 200):
            writer.append([_change_row(n)], n + 1)
    assert _runs(path)[: len(runs)] == runs
    assert _runs(path)[-1].end_offset > 190


def _change_row(offset: int, leader: int = 1) -> Envelope:
    return row(offset, change(f"topic-{offset % 7}", offset, leader=leader))


def test_run_of_no_ops_is_skipped_by_its_offsets(tmp_path: Path) -> None:
    rows = []
    for n in range(0, 600, 10):
        rows.append((_change_row(n), n + 1))
        rows.append((run_row(n + 1, count=9, last_timestamp=n + 1), n + 10))
    path = new_mirror(tmp_path / "mirror", rows)
    _assert_finds_all(path)
