"""`archive` copies sealed segments and reads them back; only unchanged copies count as archived."""

import asyncio
from pathlib import Path

import pytest

from metadata_log.care.archive import archive, archive_places, check_archived, read_archive_list
from metadata_log.care.backup import CopyResult
from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import OsFs
from metadata_log.files.names import COMMIT_MARK, MANIFEST
from metadata_log.reader.committed import CommittedSegment, committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import Store, open_store
from metadata_log.writer.creation import create_log
from records.errors import CorruptLogError, RequestError
from tests.metadata_log.care.conftest import flip
from tests.own_logs import write_history


def run(log: Path, place: str) -> CopyResult | None:
    with LogReader.open(log) as reader:
        return archive(OsFs(), reader, open_store(place), place)


def sealed(log: Path) -> list[CommittedSegment]:
    with LogReader.open(log) as reader:
        return committed_segments(OsFs(), reader)[:-1]


@pytest.fixture(params=["directory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "directory":
        return str(tmp_path / "archive")
    found: str = request.getfixturevalue("s3_place")
    return found


def opened(place: str) -> Store:
    return open_store(place)


def test_archive_is_a_log_that_ends_with_the_last_sealed_segment(log: Path, place: str) -> None:
    result = run(log, place)
    assert result is not None
    store = opened(place)
    with LogReader.open(log) as whole, LogReader.open(store.directory, fs=store.fs) as reader:
        kept = list(reader.batches())
        assert kept == list(whole.batches())[: len(kept)]
        assert reader.end_offset == int(whole.segment_paths[-1].stem) == result.end_offset
    assert inspect_log(store.fs, store.directory).damage == []
    listed = read_archive_list(store)
    assert listed is not None
    assert [(f.name, f.size) for f in listed.files] == [
        (segment.path.name, segment.size) for segment in sealed(log)
    ]


def test_archiving_again_copies_only_what_was_sealed_since(log: Path, place: str) -> None:
    first = run(log, place)
    again = run(log, place)
    assert first is not None
    assert again is not None
    assert again.files == ()
    asyncio.run(write_history(log, seed=8, batches=4, create=False))
    later = run(log, place)
    assert later is not None
    assert [name for name in later.files if name.endswith(".avro")] == [
        f"{first.end_offset:020d}.avro"
    ]
    check_archived(OsFs(), log, sealed(log))


def test_log_remembers_its_archives(log: Path, tmp_path: Path) -> None:
    for name in ("one", "two", "one"):
        run(log, str(tmp_path / name))
    assert archive_places(OsFs(), log) == [str(tmp_path / "one"), str(tmp_path / "two")]


def test_log_without_a_sealed_segment_has_nothing_to_archive(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "test-cluster")
    assert run(tmp_path / "log", str(tmp_path / "archive")) is None
    assert not (tmp_path / "archive").exists()


def test_segment_that_is_in_no_archive_is_named(log: Path, place: str) -> None:
    segments = sealed(log)
    with pytest.raises(RequestError, match=r"0000\.avro is in no archive of this log"):
        check_archived(OsFs(), log, segments)
    run(log, place)
    check_archived(OsFs(), log, segments)


def test_archived_segment_that_vanished_or_was_cut_does_not_count(
    log: Path, tmp_path: Path
) -> None:
    run(log, str(tmp_path / "archive"))
    segments = sealed(log)
    path = tmp_path / "archive" / segments[1].path.name
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(RequestError, match=path.name):
        check_archived(OsFs(), log, segments)
    path.unlink()
    with pytest.raises(RequestError, match=path.name):
        check_archived(OsFs(), log, segments)
    path.write_bytes(data)
    check_archived(OsFs(), log, segments)


def test_segment_that_is_another_than_the_archived_one_does_not_count(
    log: Path, tmp_path: Path
) -> None:
    run(log, str(tmp_path / "archive"))
    segments = sealed(log)
    flip(segments[0].path, segments[0].size - 40)
    with pytest.raises(RequestError, match=segments[0].path.name):
        check_archived(OsFs(), log, segments)


@pytest.mark.parametrize(
    "url", ["ftp://host/path", "s3:///prefix", "s3://user:secret@bucket/p", "s3://bucket/p?x=1"]
)
def test_url_that_is_no_place_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(RequestError, match="is not a place for a log") as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


def test_bucket_that_is_not_there_is_named(log: Path, s3_place: str) -> None:
    with pytest.raises(RequestError, match="no such bucket"):
        run(log, "s3://no-such-bucket-anywhere/logs")


@pytest.mark.parametrize("lost", ["vanished", "cut"])
def test_segment_that_the_archive_has_lost_is_put_back(log: Path, place: str, lost: str) -> None:
    run(log, place)
    segments, store = sealed(log), opened(place)
    name = segments[1].path.name
    store.delete(name)
    if lost == "cut":
        store.put(name, [b"Obj"])
    with pytest.raises(RequestError, match=f"{name} is missing or has changed"):
        check_archived(OsFs(), log, segments)
    again = run(log, place)
    assert again is not None
    assert again.files == (name,)
    check_archived(OsFs(), log, segments)


def test_segment_that_rotted_in_the_archive_does_not_count(log: Path, tmp_path: Path) -> None:
    run(log, str(tmp_path / "archive"))
    segments = sealed(log)
    path = tmp_path / "archive" / segments[1].path.name
    flip(path, segments[1].size - 40)
    with pytest.raises(RequestError, match=f"{path} is missing or has changed"):
        check_archived(OsFs(), log, segments)
    run(log, str(tmp_path / "second"))
    check_archived(OsFs(), log, segments)


def test_archive_of_another_log_is_refused_also_when_it_ends_at_the_same_offset(
    log: Path, tmp_path: Path, place: str
) -> None:
    stranger = tmp_path / "stranger"
    create_log(stranger, "other-cluster")
    asyncio.run(write_history(stranger, seed=5, batches=40, create=False))
    run(log, place)
    with pytest.raises(RequestError, match="is a backup of cluster 'test-cluster'"):
        run(stranger, place)
    assert archive_places(OsFs(), stranger) == []


def test_archive_that_lost_its_mark_and_manifest_is_not_started_over(log: Path, place: str) -> None:
    run(log, place)
    for name in (MANIFEST, COMMIT_MARK):
        opened(place).delete(name)
    before = opened(place).names()
    with pytest.raises(CorruptLogError, match=r"commit\.mark byte 0: the archive has lost"):
        run(log, place)
    assert opened(place).names() == before
