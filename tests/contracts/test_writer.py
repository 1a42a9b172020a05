"""The contract of `LogPort`: a log on disk, one on a simulated disk, one in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from controller.pipeline.log_port import LogPort
from metadata_log.files.fs import Fs, OsFs
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from records.errors import Outcome, RequestError
from tests.controller.memory_log import MemoryLog
from tests.simulated_disk.disk import ROOT, SimulatedDisk

TIME_MS = 1_700_000_000_000


def batch(*texts: str) -> NewBatch:
    notes = tuple(NoteRecord(at_offset=0, author="ada", text=text) for text in texts)
    return NewBatch(records=notes, timestamp=TIME_MS)


async def at_once(work: Callable[[], None]) -> None:
    work()


@pytest.fixture(params=["disk", "simulated disk", "memory"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LogPort]:
    if request.param == "memory":
        yield MemoryLog(end_offset=1)
        return
    is_simulated = request.param == "simulated disk"
    fs: Fs = SimulatedDisk() if is_simulated else OsFs()
    directory = (Path(ROOT) if is_simulated else tmp_path) / "log"
    create_log(directory, "test-cluster", fs=fs)
    runs = at_once if is_simulated else None
    opened = await MetadataLog.open(directory, fs=fs, run_blocking=runs)
    yield opened
    await opened.close()


async def test_append_answers_where_the_batch_is(log: LogPort) -> None:
    start = log.end_offset
    first = await log.append(batch("a", "b"))
    second = await log.append(batch("c"))
    assert (first.base_offset, first.end_offset) == (start, start + 2)
    assert (second.base_offset, second.end_offset) == (start + 2, start + 3)
    assert first.leader_epoch == second.leader_epoch == log.leader_epoch
    assert first.timestamp >= TIME_MS
    assert log.end_offset == start + 3


async def test_appends_are_committed_in_the_order_of_the_calls(log: LogPort) -> None:
    start = log.end_offset
    results = await asyncio.gather(*(log.append(batch(str(n))) for n in range(20)))
    assert [result.base_offset for result in results] == list(range(start, start + 20))


async def test_append_at_another_end_than_expected_writes_nothing(log: LogPort) -> None:
    start = log.end_offset
    await log.append(batch("a"), expected_end_offset=start)
    with pytest.raises(RequestError, match=f"ends at {start + 1}, expected {start}") as refused:
        await log.append(batch("b"), expected_end_offset=start)
    assert refused.value.code == "INVALID_UPDATE_VERSION"
    assert refused.value.outcome is Outcome.NOTHING
    assert log.end_offset == start + 1


async def test_refused_append_does_not_hold_up_the_next_one(log: LogPort) -> None:
    start = log.end_offset
    wrong, right = await asyncio.gather(
        log.append(batch("a"), expected_end_offset=start + 5),
        log.append(batch("b"), expected_end_offset=start),
        return_exceptions=True,
    )
    assert isinstance(wrong, RequestError)
    assert not isinstance(right, BaseException)
    assert right.base_offset == start
