"""A disk that is full or fails, and a writer that does not know that it lost the log."""

import asyncio
import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metadata_log.files.fs import File, Lock, OsFs
from metadata_log.files.names import COMMIT_MARK
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from records.errors import FencedError, MetadataLogError, Outcome, UnavailableError
from records.topics import TopicRecord
from tests.metadata_log.conftest import StepClock, topics


class FailingFile:
    """A file whose writes and syncs fail as set in its file system."""

    def __init__(self, file: File, fs: "FailingFs", name: str) -> None:
        self._file = file
        self._fs = fs
        self._name = name

    def pread(self, size: int, position: int) -> bytes:
        return self._file.pread(size, position)

    def pwrite(self, data: bytes, position: int) -> None:
        if self._name.startswith("commit.mark"):
            before, self._fs.before_mark = self._fs.before_mark, None
            if before is not None:
                before()
        if self._fs.room is not None and self._name.startswith("0"):
            self._file.pwrite(data[: self._fs.room], position)
            if len(data) > self._fs.room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._file.pwrite(data, position)

    def truncate(self, size: int) -> None:
        before, self._fs.before_cut = self._fs.before_cut, None
        if before is not None:
            before()
        self._file.truncate(size)

    def sync(self) -> None:
        if self._fs.failing_syncs and ".avro" in self._name:
            self._fs.failing_syncs -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._file.sync()

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._file.close()


class NoLock:
    def release(self) -> None: ...


class FailingFs(OsFs):
    """The system's files, with failures.

    `room`: number of bytes that can still be written to segments. `before_cut`, `before_mark` and
    `before_rename` are called once: before a file is cut, before the mark is written, and before a
    file is renamed, after `renames_passed` other ones.
    """

    room: int | None = None
    before_cut: Callable[[], None] | None = None
    before_mark: Callable[[], None] | None = None
    before_rename: Callable[[], None] | None = None
    renames_passed = 0
    failing_syncs = 0
    locks = True

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        name = path.name
        return FailingFile(super().open(path, write=write, create=create), self, name)

    def rename(self, source: Path, target: Path) -> None:
        if self.before_rename is not None and self.renames_passed == 0:
            before, self.before_rename = self.before_rename, None
            before()
        self.renames_passed -= 1
        super().rename(source, target)

    def lock(self, path: Path, owner: str) -> Lock:
        return super().lock(path, owner) if self.locks else NoLock()


@pytest.fixture
def fs() -> FailingFs:
    return FailingFs()


def names(directory: Path) -> list[str]:
    """Return the names of the topics in the log, in order."""
    with LogReader.open(directory) as reader:
        rows = [row for batch in reader.batches() for row in batch.rows]
    return [row.payload.name for row in rows if isinstance(row.payload, TopicRecord)]


def outcome(answer: object) -> tuple[type[object], Outcome]:
    assert isinstance(answer, MetadataLogError), answer
    return type(answer), answer.outcome


async def test_full_disk_refuses_and_goes_on_when_there_is_room(
    directory: Path, fs: FailingFs
) -> None:
    log = await MetadataLog.open(directory, fs=fs)
    await log.append(topics(0, 1))
    size = max(path.stat().st_size for path in directory.glob("*.avro"))
    fs.room = 20
    appends = [log.append(topics(n, 1)) for n in (1, 2, 3)]
    answers = await asyncio.gather(*appends, return_exceptions=True)
    assert [outcome(answer) for answer in answers] == [(UnavailableError, Outcome.NOTHING)] * 3
    assert "no room on the disk (No space left on device); nothing was written" in str(answers[0])
    assert max(path.stat().st_size for path in directory.glob("*.avro")) == size
    fs.room = None
    result = await log.append(topics(4, 1))
    assert result.base_offset == 2
    await log.close()
    assert names(directory) == ["topic-0", "topic-4"]


async def test_full_disk_at_a_new_segment_refuses_and_goes_on(
    directory: Path, fs: FailingFs
) -> None:
    log = await MetadataLog.open(directory, fs=fs, segment_size_bytes_max=1)
    await log.append(topics(0, 1))
    fs.room = 100
    for _ in range(2):
        with pytest.raises(UnavailableError, match="no room"):
            await log.append(topics(1, 1))
    fs.room = None
    await log.append(topics(2, 1))
    await log.close()
    assert names(directory) == ["topic-0", "topic-2"]
    assert not list(directory.glob("*.part"))


async def test_request_that_found_no_room_may_come_again(directory: Path, fs: FailingFs) -> None:
    log = await MetadataLog.open(directory, fs=fs)
    request = topics(0, 1, request_id="r1")
    fs.room = 0
    with pytest.raises(UnavailableError):
        await log.append(request)
    fs.room = None
    assert (await log.append(request)).base_offset == 1
    assert (await log.append(request)).base_offset == 1
    await log.close()
    assert names(directory) == ["topic-0"]


async def test_failed_sync_is_never_retried_and_believed(directory: Path, fs: FailingFs) -> None:
    log = await MetadataLog.open(directory, fs=fs)
    fs.failing_syncs = 1
    # Only of what was being written nothing is known; the others never left the process.
    for known in (Outcome.UNKNOWN, Outcome.NOTHING, Outcome.NOTHING):
        with pytest.raises(FencedError, match="Input/output error; open the log again") as caught:
            await log.append(topics(0, 1))
        assert caught.value.outcome is known
    await log.close()
    with LogReader.open(directory) as reader:
        assert reader.end_offset == 1


async def test_what_waited_while_a_sync_failed_was_never_written(
    directory: Path, fs: FailingFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metadata_log.writer.log.GROUP_BATCHES_MAX", 2)
    log = await MetadataLog.open(directory, fs=fs)
    fs.failing_syncs = 1
    appends = [log.append(topics(n, 1)) for n in range(4)]
    answers = await asyncio.gather(*appends, return_exceptions=True)
    assert [outcome(answer) for answer in answers] == [
        *[(FencedError, Outcome.UNKNOWN)] * 2,
        *[(FencedError, Outcome.NOTHING)] * 2,
    ]
    await log.close()


async def test_request_that_was_committed_before_is_answered_on_a_full_disk(
    directory: Path, fs: FailingFs
) -> None:
    log = await MetadataLog.open(directory, fs=fs)
    first = await log.append(topics(0, 1, request_id="r1"))
    fs.room = 0
    appends = [log.append(topics(0, 1, request_id="r1")), log.append(topics(1, 1))]
    again, refused = await asyncio.gather(*appends, return_exceptions=True)
    assert again == first
    assert outcome(refused) == (UnavailableError, Outcome.NOTHING)
    await log.close()


async def test_writer_that_lost_the_log_is_fenced_before_it_answers(
    directory: Path, fs: FailingFs
) -> None:
    fs.locks = False
    old = await MetadataLog.open(directory, fs=fs, clock=StepClock())
    await old.append(topics(0, 1))
    new = await MetadataLog.open(directory, fs=fs, clock=StepClock())
    assert new.leader_epoch == old.leader_epoch + 1
    with pytest.raises(FencedError, match=f"took .* over from epoch {old.leader_epoch}") as caught:
        await old.append(topics(1, 1))
    assert caught.value.outcome is Outcome.UNKNOWN
    await new.append(topics(2, 1))
    await old.close()
    await new.close()
    assert names(directory) == ["topic-0", "topic-2"]
    third = await MetadataLog.open(directory, clock=StepClock())
    await third.close()
    assert names(directory) == ["topic-0", "topic-2"]


async def test_writer_that_lost_the_log_takes_nothing_back_from_the_one_that_has_it(
    directory: Path, fs: FailingFs
) -> None:
    fs.locks = False
    old = await MetadataLog.open(directory, fs=fs)
    await old.append(topics(0, 1))
    new = await MetadataLog.open(directory, clock=StepClock(), fs=fs)
    segments = {path: path.stat().st_size for path in directory.glob("*.avro")}
    fs.room = 0
    with pytest.raises(FencedError):
        await old.append(topics(1, 1))
    fs.room = None
    assert {path: path.stat().st_size for path in directory.glob("*.avro")} == segments
    await old.close()
    await new.close()


async def test_writer_that_loses_the_log_while_it_takes_back_harms_nothing(
    directory: Path, fs: FailingFs
) -> None:
    async def take_over() -> None:
        fs.room = None
        new = await MetadataLog.open(directory, clock=StepClock(), fs=fs)
        await new.append(topics(9, 1))
        await new.close()

    fs.locks = False
    # Its first write holds two whole blocks and part of a third: a taker-over keeps the two.
    old = await MetadataLog.open(directory, fs=fs)
    await old.append(topics(0, 1))
    fs.room = 300
    fs.before_cut = lambda: asyncio.run(take_over())
    appends = [old.append(topics(n, 1)) for n in range(1, 9)]
    answers = await asyncio.gather(*appends, return_exceptions=True)
    assert {outcome(answer) for answer in answers} == {(FencedError, Outcome.UNKNOWN)}
    await old.close()
    kept = names(directory)
    assert kept[:2] == ["topic-0", "topic-1"]
    assert kept[-1] == "topic-9"


async def test_mark_of_a_writer_that_lost_the_log_hides_nothing(
    directory: Path, fs: FailingFs
) -> None:
    fs.locks = False
    old = await MetadataLog.open(directory, fs=fs)
    await old.append(topics(0, 1))
    opened: list[MetadataLog] = []

    async def take_over() -> None:
        new = await MetadataLog.open(directory, clock=StepClock(), fs=fs)
        await new.append(topics(1, 1))
        opened.append(new)

    # The old one has looked whether it still has the log: it writes its mark over the new one's.
    loop = asyncio.new_event_loop()
    fs.before_mark = lambda: loop.run_until_complete(take_over())
    await old.append(topics(2, 1))
    assert names(directory) == ["topic-0", "topic-2", "topic-1"]
    with pytest.raises(FencedError):
        await old.append(topics(3, 1))
    await old.close()
    await asyncio.to_thread(lambda: loop.run_until_complete(opened[0].close()))
    loop.close()


@pytest.mark.parametrize("rename", ["kept segment", "mark", "new segment"])
async def test_slow_taker_over_replaces_no_file_of_a_later_one(
    directory: Path, fs: FailingFs, rename: str
) -> None:
    fs.locks = False
    log = await MetadataLog.open(directory, fs=fs)
    mark = (directory / COMMIT_MARK).read_bytes()
    await log.append(topics(0, 1))
    await log.close()
    # Behind this mark there is a batch for the recovery to keep.
    (directory / COMMIT_MARK).write_bytes(mark)

    async def overtake() -> None:
        new = await MetadataLog.open(directory, clock=StepClock(), fs=fs)
        await new.append(topics(1, 1))
        await new.close()

    fs.renames_passed = ["kept segment", "mark", "new segment"].index(rename)
    # In a thread of its own, because opening holds up the event loop.
    with ThreadPoolExecutor(1) as another:
        fs.before_rename = lambda: another.submit(asyncio.run, overtake()).result()
        with pytest.raises(FencedError, match=r"another writer took .* over meanwhile") as caught:
            await MetadataLog.open(directory, fs=fs)
    assert caught.value.outcome is Outcome.NOTHING  # nobody has appended anything yet
    assert names(directory) == ["topic-0", "topic-1"]
    assert not list(directory.glob("*.part"))


async def test_writer_is_fenced_also_by_the_one_after_the_next(
    directory: Path, fs: FailingFs
) -> None:
    fs.locks = False
    old = await MetadataLog.open(directory, fs=fs)
    for _ in range(3):
        await (await MetadataLog.open(directory, fs=fs)).close()
    with pytest.raises(FencedError):
        await old.append(topics(0, 1))
    await old.close()


async def test_fenced_writer_begins_no_segment(directory: Path, fs: FailingFs) -> None:
    fs.locks = False
    old = await MetadataLog.open(directory, fs=fs, segment_size_bytes_max=1)
    new = await MetadataLog.open(directory, fs=fs)
    segments = list(directory.glob("0*"))
    with pytest.raises(FencedError) as caught:
        await old.append(topics(0, 1))
    assert caught.value.outcome is Outcome.NOTHING
    assert list(directory.glob("0*")) == segments
    await old.close()
    await new.close()


async def test_fenced_writer_never_answers_a_repeated_request(
    directory: Path, fs: FailingFs
) -> None:
    fs.locks = False
    old = await MetadataLog.open(directory, fs=fs)
    await old.append(topics(0, 1))
    new = await MetadataLog.open(directory, fs=fs)
    request = topics(1, 1, request_id="r1")
    for _ in range(2):
        with pytest.raises(FencedError):
            await old.append(request)
    assert request.origin is not None
    assert await old.find_request(request.origin) is None
    await old.close()
    await new.close()
    assert names(directory) == ["topic-0"]


async def test_request_whose_sync_failed_is_not_found_as_committed(
    directory: Path, fs: FailingFs
) -> None:
    log = await MetadataLog.open(directory, fs=fs)
    request = topics(0, 1, request_id="r1")
    fs.failing_syncs = 1
    with pytest.raises(FencedError):
        await log.append(request)
    assert request.origin is not None
    assert await log.find_request(request.origin) is None
    await log.close()
