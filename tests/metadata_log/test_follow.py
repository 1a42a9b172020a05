"""Followers see every committed batch once and in order, whatever happens to the writer."""

import asyncio
import errno
import logging
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.files.fs import File, OsFs
from metadata_log.files.names import COMMIT_MARK, segment_name
from metadata_log.format.batch import Batch
from metadata_log.format.commit_mark import read_mark
from metadata_log.limits import FOLLOW_READ_RECORDS, FOLLOW_RECHECK_INTERVAL_MS
from metadata_log.reader import wakeup
from metadata_log.reader.cursor import LogCursor
from metadata_log.reader.follow import follow
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.errors import (
    CorruptLogError,
    RequestError,
    UnavailableError,
    UnknownHistoryError,
)
from tests.metadata_log import follower_processes
from tests.metadata_log.conftest import topics
from tests.metadata_log.test_mirror import base, level, mirror, row

SMALL_SEGMENT = 14_000


async def take(batches: AsyncIterator[Batch], count: int) -> list[Batch]:
    """Return the next batches, which must arrive within some seconds."""
    async with asyncio.timeout(20):
        return [await anext(batches) for _ in range(count)]


def read(directory: Path) -> list[Batch]:
    with LogReader.open(directory) as reader:
        return list(reader.batches())


async def test_batches_are_seen_as_they_commit(directory: Path) -> None:
    async with aclosing(follow(directory)) as followed:
        first = asyncio.create_task(take(followed, 1))
        log = await MetadataLog.open(directory)
        seen = await first
        for n in range(5):
            result = await log.append(topics(n, 2))
            seen += await take(followed, 1)
            assert seen[-1].end_offset == result.end_offset
        await log.close()
    assert seen == read(directory)


@pytest.mark.parametrize(("from_offset", "first"), [(0, 0), (1, 1), (5, 4), (6, 4), (28, 28)])
async def test_first_batch_is_the_one_that_holds_the_offset(
    written: Path, from_offset: int, first: int
) -> None:
    async with aclosing(follow(written, from_offset)) as followed:
        (batch,) = await take(followed, 1)
    assert batch.base_offset == first


async def test_from_the_end_only_what_is_new_is_seen(written: Path) -> None:
    async with aclosing(follow(written, 31)) as followed:
        waiting = asyncio.create_task(take(followed, 2))
        await asyncio.sleep(0.05)
        log = await MetadataLog.open(written)
        await log.append(topics(100, 1))
        seen = await waiting
        await log.close()
    assert [batch.base_offset for batch in seen] == [31, 32]


async def test_rolls_and_new_writers_are_followed(directory: Path) -> None:
    seen: list[Batch] = []
    async with aclosing(follow(directory)) as followed:
        for _ in range(3):
            log = await MetadataLog.open(directory, segment_size_bytes_max=SMALL_SEGMENT)
            for n in range(40):
                await log.append(topics(n, 1))
            seen += await take(followed, 41)
            await log.close()
    assert seen == read(directory)
    with LogReader.open(directory) as reader:
        assert len(reader.segment_paths) >= 6


async def test_only_a_slice_of_the_log_is_in_memory_at_a_time(directory: Path) -> None:
    log = await MetadataLog.open(directory)
    await asyncio.gather(*(log.append(topics(n, 1)) for n in range(3 * FOLLOW_READ_RECORDS)))
    await log.close()
    cursor = LogCursor(directory)
    sizes = []
    while batches := cursor.read():
        sizes.append(sum(len(batch.rows) for batch in batches))
    assert sizes == [FOLLOW_READ_RECORDS] * 3 + [1]


@pytest.mark.parametrize("behind", [0, 500])
async def test_cancelling_ends_it_while_it_waits_and_while_it_reads(
    directory: Path, behind: int
) -> None:
    log = await MetadataLog.open(directory)
    await asyncio.gather(*(log.append(topics(n, 10)) for n in range(behind)))
    seen = 0

    async def consume() -> None:
        nonlocal seen
        async for _ in follow(directory):
            seen += 1

    task = asyncio.create_task(consume())
    while not seen:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await log.append(topics(0, 1))
    await log.close()
    assert seen <= behind + 1


async def test_offset_past_the_end_is_refused(written: Path) -> None:
    with pytest.raises(RequestError, match="offset 32 is past the end") as refused:
        await take(follow(written, 32), 1)
    assert refused.value.code == "OFFSET_OUT_OF_RANGE"


async def test_offset_before_the_history_is_unknown(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", [(row(40, 5, level(1)), 41)], base(40, 4), confirmed_end=41)
    with pytest.raises(UnknownHistoryError, match="history starts at 40"):
        await take(follow(log, 39), 1)
    assert [batch.base_offset for batch in await take(follow(log), 1)] == [40]


async def test_log_that_goes_back_is_an_error(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "backup")
    log = await MetadataLog.open(written)
    await log.append(topics(50, 1))
    await log.close()
    followed = follow(written)
    await take(followed, 13)
    (tmp_path / "backup").rename(tmp_path / "restored")
    written.rename(tmp_path / "old")
    (tmp_path / "restored").rename(written)
    with pytest.raises(RequestError, match="went back from offset 33 to 31") as refused:
        await take(followed, 1)
    assert refused.value.code == "OFFSET_OUT_OF_RANGE"


async def test_restored_log_that_went_another_way_is_never_taken_for_the_same(
    written: Path, tmp_path: Path
) -> None:
    shutil.copytree(written, tmp_path / "backup")
    for path, count in ((written, 1), (tmp_path / "backup", 30)):
        log = await MetadataLog.open(path)
        for n in range(count):
            await log.append(topics(1_000 * count + n, 1))
        await log.close()
    cursor = LogCursor(written)
    cursor.read()
    written.rename(tmp_path / "old")
    (tmp_path / "backup").rename(written)
    with pytest.raises(CorruptLogError, match="byte"):
        cursor.read()


async def test_exchanged_file_of_the_mark_is_noticed(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeup, "FOLLOW_RECHECK_INTERVAL_MS", 50)
    async with aclosing(follow(written, 31)) as followed:
        waiting = asyncio.create_task(take(followed, 2))
        await asyncio.sleep(0.02)
        # As a restored copy would, the file of this name is another one from now on.
        shutil.copy2(written / COMMIT_MARK, written / "copy")
        (written / "copy").rename(written / COMMIT_MARK)
        await asyncio.sleep(0.1)
        log = await MetadataLog.open(written)
        await log.append(topics(100, 1))
        await waiting
        await log.close()


async def test_exchanged_file_of_the_mark_is_noticed_before_the_next_look_at_it(
    written: Path,
) -> None:
    async with aclosing(follow(written, 31)) as followed:
        waiting = asyncio.create_task(take(followed, 2))
        await asyncio.sleep(0.02)
        shutil.copy2(written / COMMIT_MARK, written / "copy")
        (written / "copy").rename(written / COMMIT_MARK)
        # Only the system's word of the exchange can make it watch the new file so soon.
        await asyncio.sleep(0.1)
        log = await MetadataLog.open(written)
        await log.append(topics(100, 1))
        async with asyncio.timeout(FOLLOW_RECHECK_INTERVAL_MS / 2_000):
            await waiting
        await log.close()


async def test_log_that_vanishes_can_be_tried_again(written: Path, tmp_path: Path) -> None:
    cursor = LogCursor(written)
    written.rename(tmp_path / "elsewhere")
    with pytest.raises(UnavailableError, match="vanished"):
        cursor.read()
    (tmp_path / "elsewhere").rename(written)
    assert cursor.read() == read(written)


async def test_what_came_before_an_error_is_read_by_the_next_try(
    directory: Path, tmp_path: Path
) -> None:
    log = await MetadataLog.open(directory, segment_size_bytes_max=1)
    for n in range(3):
        await log.append(topics(n, 1))
    await log.close()
    cursor = LogCursor(directory)
    last = directory / segment_name(3)
    last.rename(tmp_path / "elsewhere")
    with pytest.raises(CorruptLogError, match="missing"):
        cursor.read()
    (tmp_path / "elsewhere").rename(last)
    assert cursor.read() == read(directory)


async def test_start_that_moves_up_past_the_place_is_unknown_history(directory: Path) -> None:
    log = await MetadataLog.open(directory, segment_size_bytes_max=SMALL_SEGMENT)
    for n in range(40):
        await log.append(topics(n, 1))
    cursor = LogCursor(directory)
    (directory / segment_name(0)).unlink()
    with pytest.raises(UnknownHistoryError, match="offset 0 is not kept"):
        cursor.read()
    await log.close()


async def test_damage_is_reported_with_file_and_byte(written: Path) -> None:
    cursor = LogCursor(written)
    path = written / segment_name(0)
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptLogError, match=rf"{path.name} byte \d+: .*below 28 are intact"):
        cursor.read()


async def test_damaged_mark_is_reported(written: Path) -> None:
    cursor = LogCursor(written)
    (written / COMMIT_MARK).write_bytes(bytes(1024))
    with pytest.raises(CorruptLogError, match="neither slot holds a whole commit mark"):
        cursor.read()


async def test_mark_that_does_not_fit_the_segment_is_reported(written: Path) -> None:
    mark = read_mark(OsFs(), written)
    cursor = LogCursor(written)
    later = msgspec.structs.replace(mark, sequence=mark.sequence + 1, end_offset=40)
    data = bytearray((written / COMMIT_MARK).read_bytes())
    data[later.slot_position : later.slot_position + 64] = later.encode()
    (written / COMMIT_MARK).write_bytes(data)
    with pytest.raises(CorruptLogError, match="the commit mark says 40"):
        cursor.read()


async def test_what_is_proven_past_an_old_mark_is_seen(directory: Path) -> None:
    log = await MetadataLog.open(directory, segment_size_bytes_max=SMALL_SEGMENT)
    old_mark = (directory / COMMIT_MARK).read_bytes()
    for n in range(40):
        await log.append(topics(n, 1))
    await log.close()
    # As a crash of the machine leaves it: the data was synced, the mark was not.
    (directory / COMMIT_MARK).write_bytes(old_mark)
    cursor = LogCursor(directory)
    seen = cursor.read()
    assert seen == read(directory)
    assert len(seen) >= 40
    log = await MetadataLog.open(directory)
    await log.close()
    assert seen + cursor.read() == read(directory)


class _LateFs(OsFs):
    """Sometimes returns an older commit mark, like a read that a writer overtakes."""

    def __init__(self, old: bytes) -> None:
        self._old = old
        self.late = 0

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        if path.name == COMMIT_MARK and self.late:
            self.late -= 1
            path.with_name("old.mark").write_bytes(self._old)
            return super().open(path.with_name("old.mark"))
        return super().open(path, write=write, create=create)


@pytest.mark.parametrize("late", [1, 2])
async def test_older_mark_that_is_read_once_is_no_way_back(written: Path, late: int) -> None:
    fs = _LateFs((written / COMMIT_MARK).read_bytes())
    log = await MetadataLog.open(written)
    await log.append(topics(100, 1))
    cursor = LogCursor(written, fs=fs)
    cursor.read()
    await log.append(topics(101, 1))
    fs.late = late
    assert [batch.base_offset for batch in cursor.read()] == [33]
    await log.close()


def _no_inotify(path: Path) -> NoReturn:
    raise OSError(errno.EMFILE, "Too many open files")


async def test_without_inotify_it_polls_and_says_so(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(wakeup, "_inotify", _no_inotify, raising=False)
    with caplog.at_level(logging.WARNING):
        await test_batches_are_seen_as_they_commit(directory)
    assert "max_user_instances" in caplog.text


class _SimulatedFs:
    """A file system that following does not recognize as that of the operating system."""

    def __init__(self) -> None:
        disk = OsFs()
        self.open, self.list, self.exists = disk.open, disk.list, disk.exists
        self.make_directory, self.rename = disk.make_directory, disk.rename
        self.unlink, self.sync_directory, self.lock = disk.unlink, disk.sync_directory, disk.lock


async def test_simulated_disk_can_be_followed(directory: Path) -> None:
    followed = follow(directory, fs=_SimulatedFs())
    first = asyncio.create_task(take(followed, 2))
    log = await MetadataLog.open(directory)
    await log.append(topics(0, 1))
    assert [batch.base_offset for batch in await first] == [0, 1]
    await log.close()


_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 12)),
        st.tuples(st.just("read"), st.integers(1, 6)),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("begin"), st.integers(0, 10)),
    ),
    min_size=3,
    max_size=12,
)


@given(_ACTIONS)
@settings(max_examples=40, deadline=None)
def test_any_cursor_sees_exactly_what_a_reader_sees(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, int]]
) -> None:
    directory = tmp_path_factory.mktemp("log") / "log"
    create_log(directory, "test-cluster")
    asyncio.run(_act(directory, actions))


async def _act(directory: Path, actions: list[tuple[str, int]]) -> None:
    log = await MetadataLog.open(directory, segment_size_bytes_max=SMALL_SEGMENT)
    cursors: list[tuple[int, LogCursor, list[Batch]]] = []
    for action, number in actions:
        if action == "append":
            await asyncio.gather(*(log.append(topics(n, 1 + n % 7)) for n in range(number)))
        elif action == "restart":
            await log.close()
            log = await MetadataLog.open(directory, segment_size_bytes_max=SMALL_SEGMENT)
        elif action == "begin":
            start = log.end_offset * number // 10
            cursors.append((start, LogCursor(directory, start), []))
        for _, cursor, seen in cursors:
            if action == "read":
                seen += cursor.read(number)
    await log.close()
    for start, cursor, seen in cursors:
        while batches := cursor.read(3):
            seen += batches
        with LogReader.open(directory) as reader:
            assert seen == list(reader.batches(start))


Process = Callable[..., Awaitable[asyncio.subprocess.Process]]


async def _process(*arguments: object) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        follower_processes.__name__,
        *map(str, arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


async def _killed_writer(directory: Path, seconds: float) -> None:
    writer = await _process("write", directory, 0)
    assert writer.stdout is not None
    assert await writer.stdout.readline() == b"open\n"
    await asyncio.sleep(seconds)
    writer.kill()
    await writer.communicate()


async def test_followers_in_other_processes_see_each_batch_once_through_kills_and_rolls(
    directory: Path,
) -> None:
    followers = [await _process("follow", directory, 0) for _ in range(2)]
    await _killed_writer(directory, 0.7)
    with LogReader.open(directory) as reader:
        middle = reader.end_offset
    followers.append(await _process("follow", directory, middle))
    await _killed_writer(directory, 0.4)
    writer = await _process("write", directory, 4_000)
    outputs = [await asyncio.wait_for(p.communicate(), 60) for p in (*followers, writer)]
    assert [errors for _, errors in outputs[:3]] == [b""] * 3
    assert writer.returncode == 0
    seen = [output.decode().splitlines() for output, _ in outputs[:3]]
    assert seen[0] == seen[1] == [follower_processes.line(batch) for batch in read(directory)]
    assert seen[2] == [s for s in seen[0] if int(s.split()[1]) > middle]
    assert len({line.split()[2] for line in seen[0]}) == 3
    with LogReader.open(directory) as reader:
        assert len(reader.segment_paths) > 10


async def test_follower_that_waits_costs_nothing(written: Path) -> None:
    async with aclosing(follow(written, 31)) as followed:
        waiting = asyncio.create_task(take(followed, 1))
        await asyncio.sleep(0.2)
        before = time.process_time()
        await asyncio.sleep(1)
        spent = time.process_time() - before
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert spent < 0.1
