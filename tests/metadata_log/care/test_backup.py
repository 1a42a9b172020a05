"""`backup`: a consistent copy while a writer runs; later runs continue it, from the same log
only.
"""

import asyncio
import errno
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from metadata_log.care.backup import CopyResult, back_up
from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import File, Lock, OsFs
from metadata_log.files.names import MANIFEST, claimed_epoch, segment_name
from metadata_log.format.batch import Batch
from metadata_log.format.commit_mark import read_mark
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import DirectoryStore, Store
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError, RequestError, UnavailableError
from replay.care.retain import retain as move_start
from tests.metadata_log.care.conftest import flip, inspect
from tests.metadata_log.conftest import topics
from tests.own_logs import content, write_history


def run(log: Path, store: Store) -> CopyResult:
    with LogReader.open(log) as reader:
        return back_up(OsFs(), reader, store)


def read(store: Store) -> list[Batch]:
    with LogReader.open(store.directory, fs=store.fs) as reader:
        return list(reader.batches())


def batches(log: Path) -> list[Batch]:
    with LogReader.open(log) as reader:
        return list(reader.batches())


def test_copy_is_a_log_with_the_same_batches(log: Path, store: Store) -> None:
    before = content(log)
    result = run(log, store)
    assert content(log) == before
    assert read(store) == batches(log)
    assert result.previous_end_offset is None
    found = inspect_log(store.fs, store.directory)
    assert (found.damage, found.notes) == ([], [])


def test_second_run_copies_nothing_and_later_ones_only_what_is_new(log: Path, store: Store) -> None:
    first = run(log, store)
    assert run(log, store).files == ()
    asyncio.run(write_history(log, seed=9, batches=3, create=False))
    second = run(log, store)
    assert second.previous_end_offset == first.end_offset
    new = f"{first.end_offset:020d}.avro"
    assert [name for name in second.files if name.endswith(".avro")] == [new]
    assert read(store) == batches(log)


async def test_copies_of_a_live_log_are_whole_and_grow(log: Path, store: Store) -> None:
    writer = await MetadataLog.open(log)
    done = False

    async def write() -> None:
        count = 0
        while not done:
            await writer.append(topics(count, 2))
            count += 1

    writing = asyncio.create_task(write())
    ends = []
    for _ in range(4):
        ends.append((await asyncio.to_thread(run, log, store)).end_offset)
        assert (await asyncio.to_thread(inspect_log, store.fs, store.directory)).damage == []
        await asyncio.sleep(0.05)
    done = True
    await writing
    await writer.close()
    assert sorted(set(ends)) == ends
    copied = read(store)
    assert copied == batches(log)[: len(copied)]


async def test_empty_last_segment_is_replaced_by_the_next_epochs(
    tmp_path: Path, store: Store
) -> None:
    create_log(tmp_path / "log", "test-cluster")
    run(tmp_path / "log", store)
    assert read(store) == []
    await write_history(tmp_path / "log", seed=1, batches=3, create=False)
    await asyncio.to_thread(run, tmp_path / "log", store)
    assert read(store) == batches(tmp_path / "log")


def test_damaged_log_is_not_copied_over_a_good_copy(log: Path, store: Store) -> None:
    run(log, store)
    asyncio.run(write_history(log, seed=9, batches=3, create=False))
    before = read(store)
    last = sorted(log.glob("*.avro"))[-1]
    flip(last, last.stat().st_size - 40)
    with pytest.raises(CorruptLogError, match=r"\.avro byte \d+"):
        run(log, store)
    assert read(store) == before


def test_copy_of_another_history_is_never_carried_on(
    tmp_path: Path, log: Path, store: Store
) -> None:
    run(log, store)
    before = read(store)
    other = asyncio.run(write_history(tmp_path / "other", seed=6, batches=60))
    with pytest.raises(RequestError, match="not an earlier state of this log"):
        run(other, store)
    shorter = asyncio.run(write_history(tmp_path / "shorter", seed=5, batches=20))
    with pytest.raises(RequestError, match="the copy ends at offset"):
        run(shorter, store)
    create_log(tmp_path / "stranger", "other-cluster")
    with pytest.raises(RequestError, match="is a backup of cluster 'test-cluster'"):
        run(tmp_path / "stranger", store)
    assert read(store) == before


async def test_two_logs_that_went_on_from_one_point_are_told_apart(
    tmp_path: Path, log: Path
) -> None:
    """Both writers have the same epoch and start at the same offset; only the bytes differ."""
    store = DirectoryStore(OsFs(), tmp_path / "copy")
    run(log, store)
    twin = DirectoryStore(OsFs(), tmp_path / "twin")
    run(log, twin)
    for directory, first in ((log, 1), (twin.directory, 100)):
        writer = await MetadataLog.open(directory)
        await writer.append(topics(first, 1))
        await writer.close()
    run(twin.directory, store)
    with pytest.raises(RequestError, match="differs"):
        run(log, store)


def test_writer_of_a_copy_claims_an_epoch_above_all_of_it(log: Path, store: Store) -> None:
    run(log, store)
    claims = [epoch for name in store.names() if (epoch := claimed_epoch(name)) is not None]
    assert claims == [read_mark(OsFs(), log).leader_epoch]


def test_place_with_something_else_is_refused(log: Path, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").touch()
    with pytest.raises(RequestError, match="holds other files than a backup"):
        run(log, DirectoryStore(OsFs(), tmp_path / "letters"))
    with pytest.raises(RequestError, match="is the log itself"):
        run(log, DirectoryStore(OsFs(), log))
    with pytest.raises(RequestError, match="is a file"):
        run(log, DirectoryStore(OsFs(), log / "commit.mark"))


def test_copy_that_another_run_is_writing_is_left_alone(log: Path, tmp_path: Path) -> None:
    store = DirectoryStore(OsFs(), tmp_path / "copy")
    run(log, store)
    asyncio.run(write_history(log, seed=9, batches=3, create=False))
    before = content(store.directory)
    lock = OsFs().lock(store.directory / ".lock", "4711\n")
    with pytest.raises(UnavailableError, match="process 4711"):
        run(log, store)
    lock.release()
    assert content(store.directory) == before


def test_copies_are_readable_by_their_owner_only(log: Path, tmp_path: Path) -> None:
    store = DirectoryStore(OsFs(), tmp_path / "copy")
    run(log, store)
    assert store.directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in store.directory.iterdir()} == {0o600}
    assert inspect(store.directory).damage == []


class Stopped(Exception):
    """Raised where a run is killed."""


def stop_after(monkeypatch: pytest.MonkeyPatch, store: Store, files: int) -> None:
    """Make the next runs end after they have stored that many files."""
    put, done = store.put, 0

    def counted(name: str, chunks: Iterable[bytes]) -> None:
        nonlocal done
        if done == files:
            raise Stopped
        done += 1
        put(name, chunks)

    monkeypatch.setattr(store, "put", counted)


def test_interrupted_first_run_starts_over_when_the_log_start_moved_up(
    log: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stop_after(patch, store, 3)
        with pytest.raises(Stopped):
            run(log, store)
    move_start(log, 90, check_dropped=lambda _: None)
    run(log, store)
    assert read(store) == batches(log)
    found = inspect_log(store.fs, store.directory)
    assert (found.damage, found.notes) == ([], [])


@pytest.mark.parametrize("lost", ["vanished", "cut", "manifest"])
def test_what_a_copy_has_lost_is_put_again(log: Path, store: Store, lost: str) -> None:
    run(log, store)
    name = MANIFEST if lost == "manifest" else segment_name(33)
    store.delete(name)
    if lost == "cut":
        store.put(name, [b"Obj"])
    assert run(log, store).files == (name,)
    assert read(store) == batches(log)
    assert inspect_log(store.fs, store.directory).damage == []


def test_run_that_waits_at_the_door_carries_on_what_the_other_made(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that waited knows an older end of the log than the run before it."""
    store = DirectoryStore(OsFs(), tmp_path / "copy")
    run(log, store)
    with LogReader.open(log) as early:
        asyncio.run(write_history(log, seed=9, batches=3, create=False))
        prepare = store.prepare

        def overtaken() -> Lock | None:
            run(log, DirectoryStore(OsFs(), store.directory))
            return prepare()

        monkeypatch.setattr(store, "prepare", overtaken)
        with pytest.raises(RequestError, match="the copy ends at offset"):
            back_up(OsFs(), early, store)
    assert read(store) == batches(log)


def test_segment_that_goes_while_it_is_copied_is_tried_again(log: Path, tmp_path: Path) -> None:
    class Retained(OsFs):
        """Retention drops a segment when the first one has been checked."""

        def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
            if create and path.name == f"{segment_name(0)}.part":
                move_start(log, 90, check_dropped=lambda _: None)
            return super().open(path, write=write, create=create)

    store = DirectoryStore(Retained(), tmp_path / "copy")
    with pytest.raises(UnavailableError, match="the log's start moved up; run again"):
        run(log, store)
    run(log, store)
    assert read(store) == batches(log)


def test_full_disk_leaves_no_part_of_a_file(log: Path, tmp_path: Path) -> None:
    store = DirectoryStore(OsFs(), tmp_path / "copy")
    run(log, store)
    before = content(store.directory)

    def too_much() -> Iterator[bytes]:
        yield b"some"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        store.put("more", too_much())
    assert content(store.directory) == before
