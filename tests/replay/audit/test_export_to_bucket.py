"""Exports to a bucket: each change is there once, after any crash and with several writers."""

from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.dataset
import pyarrow.fs
import pytest

from metadata_log.files.fs import ByteStore, Fs, Lock
from metadata_log.format.batch import NewBatch
from metadata_log.stores.store import Store, open_store
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ConfigRecord
from records.errors import RequestError, UnavailableError
from replay.audit import export_targets
from tests.replay.audit.staged import exported

_PUTS = 4
"""Of a run that exports two days: the claim, a file for each day, the watermark."""


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    create_log(tmp_path / "log", "test-cluster")
    await append(tmp_path / "log", 4)
    return tmp_path / "log"


async def append(log: Path, count: int) -> int:
    """Append some records; return the log's end."""
    writer = await MetadataLog.open(log)
    for number in range(count):
        record = ConfigRecord(resource_type=4, resource_name="1", name="a", value=str(number))
        await writer.append(NewBatch(records=(record,), timestamp=number))
    await writer.close()
    return writer.end_offset


def bucket(s3_url: str, place: str) -> "pyarrow.dataset.Dataset":
    """Return the exported files, as pyarrow finds them."""
    files = pyarrow.fs.S3FileSystem(
        access_key="test",
        secret_key="test",
        region="us-east-1",
        scheme="http",
        endpoint_override=urlsplit(s3_url).netloc,
    )
    path = place.removeprefix("s3://")
    return pyarrow.dataset.dataset(path, filesystem=files, partitioning="hive")


def offsets(s3_url: str, place: str) -> list[int]:
    """Return the exported offsets, ascending; read with pyarrow, counted with DuckDB."""
    import duckdb  # See tests/forked_workers.py.

    changes = bucket(s3_url, place)
    found = sorted(changes.to_table(columns=["offset"])["offset"].to_pylist())
    assert duckdb.sql("SELECT count(*) FROM changes").fetchall() == [(len(found),)]
    return found


class WatchedStore:
    """A store that calls a function before or after each of its writes."""

    def __init__(self, store: Store, around: "Callable[[str], None]") -> None:
        self._store = store
        self._around = around
        self.fs: ByteStore = store.fs
        self.directory = store.directory

    def pinned(self) -> ByteStore:
        return self._store.pinned()

    def prepare(self) -> Lock | None:
        return self._store.prepare()

    def names(self) -> list[str]:
        return self._store.names()

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        self._around("before")
        self._store.put(name, chunks)
        self._around("after")

    def delete(self, name: str) -> None:
        self._store.delete(name)


def watch(monkeypatch: pytest.MonkeyPatch, at: int, when: str, then: "Callable[[], None]") -> None:
    """Call a function once, before or after the n-th write of the following exports."""
    seen = 0

    def around(moment: str) -> None:
        nonlocal seen
        if moment == when:
            seen += 1
            if seen - 1 == at:
                then()

    def opened(place: str, fs: Fs | None = None) -> Store:
        return WatchedStore(open_store(place, fs), around)

    monkeypatch.setattr(export_targets, "open_store", opened)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(_PUTS))
async def test_run_that_died_anywhere_is_finished_by_those_that_follow(
    log: Path,
    s3_url: str,
    s3_place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at: int,
    when: str,
) -> None:
    def dies() -> None:
        raise KeyboardInterrupt

    watch(monkeypatch, at, when, dies)
    with pytest.raises(KeyboardInterrupt):
        exported(log, s3_place, monkeypatch, scratch=tmp_path)
    end = await append(log, 3)
    while exported(log, s3_place, monkeypatch, scratch=tmp_path).to_offset < end:
        pass
    assert offsets(s3_url, s3_place) == list(range(1, end))


@pytest.mark.parametrize("at", range(_PUTS))
async def test_of_two_runs_at_once_one_wins_and_nothing_is_there_twice(
    log: Path,
    s3_url: str,
    s3_place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at: int,
) -> None:
    def another_run() -> None:
        monkeypatch.setattr(export_targets, "open_store", open_store)
        exported(log, s3_place, monkeypatch, scratch=tmp_path)

    watch(monkeypatch, at, "before", another_run)
    with pytest.raises(UnavailableError, match=r"another `backup` or `archive` wrote .* meanwhile"):
        exported(log, s3_place, monkeypatch, scratch=tmp_path)
    end = await append(log, 3)
    assert exported(log, s3_place, monkeypatch, scratch=tmp_path).to_offset == end
    assert offsets(s3_url, s3_place) == list(range(1, end))


def test_bucket_of_another_log_is_refused(
    log: Path, s3_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported(log, s3_place, monkeypatch, scratch=tmp_path)
    create_log(tmp_path / "other", "other-cluster")
    with pytest.raises(RequestError, match="what was read before is of test-cluster"):
        exported(tmp_path / "other", s3_place, monkeypatch, scratch=tmp_path)
