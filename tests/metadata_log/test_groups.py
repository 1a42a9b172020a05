"""The size limit of a batch, the batches that share a sync, and the thread that waits for it."""

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from metadata_log.files.fs import File, OsFs
from metadata_log.format.batch import NewBatch
from metadata_log.limits import (
    BATCH_RECORDS_MAX,
    GROUP_BATCHES_MAX,
    GROUP_SIZE_BYTES_MAX,
    QUICK_SYNC_S_MAX,
    QUICK_SYNCS_MIN,
)
from metadata_log.writer.log import MetadataLog
from records.control import NoOpRecord, NoteRecord
from records.errors import RequestError
from tests.metadata_log.conftest import topics


class CountedFile:
    """A file whose syncs are counted and return at once."""

    def __init__(self, file: File, syncs: list[str]) -> None:
        self._file = file
        self._syncs = syncs

    def pread(self, size: int, position: int) -> bytes:
        return self._file.pread(size, position)

    def pwrite(self, data: bytes, position: int) -> None:
        self._file.pwrite(data, position)

    def truncate(self, size: int) -> None:
        self._file.truncate(size)

    def sync(self) -> None:
        self._syncs.append(threading.current_thread().name)

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._file.close()


class CountingFs(OsFs):
    """The system's files; `syncs` has the thread of each sync of a segment."""

    def __init__(self) -> None:
        self.syncs: list[str] = []

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        file = super().open(path, write=write, create=create)
        return CountedFile(file, self.syncs if ".avro" in path.name else [])


@pytest.fixture
def fs() -> CountingFs:
    return CountingFs()


def no_ops(count: int) -> NewBatch:
    return NewBatch(records=(NoOpRecord(),) * count)


async def test_batch_has_1_to_10_000_records(directory: Path) -> None:
    assert BATCH_RECORDS_MAX == 10_000
    log = await MetadataLog.open(directory)
    for count in (0, 10_001):
        with pytest.raises(RequestError, match=f"the batch has {count} records; 1 to 10000 are"):
            await log.append(no_ops(count))
    for count in (1, 10_000):
        result = await log.append(no_ops(count))
        assert result.end_offset - result.base_offset == count
    await log.close()


async def test_batches_that_come_together_share_a_sync_up_to_a_number(
    directory: Path, fs: CountingFs
) -> None:
    log = await MetadataLog.open(directory, fs=fs)
    fs.syncs.clear()
    await asyncio.gather(*[log.append(no_ops(1)) for _ in range(2 * GROUP_BATCHES_MAX + 1)])
    assert len(fs.syncs) == 3
    await log.close()


async def test_group_ends_with_the_batch_that_reaches_its_size(
    directory: Path, fs: CountingFs
) -> None:
    log = await MetadataLog.open(directory, fs=fs)
    fs.syncs.clear()
    # Four of these are as large as a group may be, or a little larger.
    note = NoteRecord(at_offset=0, author="", text="x" * (GROUP_SIZE_BYTES_MAX // 4))
    await asyncio.gather(*[log.append(NewBatch(records=(note,))) for _ in range(9)])
    assert len(fs.syncs) == 3
    await log.close()


class Stopwatch:
    """Reports the given times as the durations of the syncs."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._starts = True

    def perf_counter(self) -> float:
        self._starts = not self._starts
        return self.seconds if self._starts else 0.0


async def test_lone_batch_is_synced_in_the_loop_after_enough_quick_syncs(
    directory: Path, fs: CountingFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than this other tasks would notice.
    assert QUICK_SYNC_S_MAX <= 0.002
    watch = Stopwatch()
    monkeypatch.setattr(
        "metadata_log.writer.log_writer.time", SimpleNamespace(perf_counter=watch.perf_counter)
    )
    here = threading.current_thread().name
    watch.seconds = QUICK_SYNC_S_MAX
    log = await MetadataLog.open(directory, fs=fs)

    async def in_loop() -> bool:
        await log.append(topics(0, 1))
        return fs.syncs[-1] == here

    # A sync that takes as long as the limit is not quick, however many there are.
    assert [await in_loop() for _ in range(2 * QUICK_SYNCS_MIN)] == [False] * 2 * QUICK_SYNCS_MIN
    watch.seconds = QUICK_SYNC_S_MAX / 2
    quick = [await in_loop() for _ in range(QUICK_SYNCS_MIN + 3)]
    assert quick == [False] * QUICK_SYNCS_MIN + [True] * 3
    # Several at once always leave the loop free, and one slow sync is enough to begin anew.
    await asyncio.gather(*[log.append(topics(n, 1)) for n in range(2)])
    assert fs.syncs[-1] != here
    watch.seconds = QUICK_SYNC_S_MAX
    assert await in_loop()
    watch.seconds = 0
    again = [await in_loop() for _ in range(QUICK_SYNCS_MIN + 1)]
    assert again == [False] * QUICK_SYNCS_MIN + [True]
    await log.close()
