"""The start of the log moves while a reader opens or reads it, at any call."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from metadata_log.care.retention import drop_below
from metadata_log.files.fs import File, Lock, OsFs
from metadata_log.format.checkpoint import CheckpointRecord, write_checkpoint
from metadata_log.limits import SEGMENT_SIZE_BYTES_MAX
from metadata_log.reader.cursor import LogCursor
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.owned_log import own_log
from records.errors import RequestError, UnavailableError, UnknownHistoryError
from tests.metadata_log.conftest import topics

BASES = [0, 1, 4, 7, 8]
"""Where the batches of the log begin, the last two of them written meanwhile."""


class NoLock:
    def release(self) -> None: ...


class InterruptedFs(OsFs):
    """The system's files; a function runs before the call numbered `at`."""

    def __init__(self, at: int, what: Callable[[], None]) -> None:
        self._at = at
        self._what = what
        self.calls = 0

    def call(self) -> None:
        self.calls += 1
        if self.calls == self._at + 1:
            self._what()

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        self.call()
        file: Any = super().open(path, write=write, create=create)
        for name in ("pread", "size"):
            setattr(file, name, self._interrupted(getattr(file, name)))
        opened: File = file
        return opened

    def _interrupted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def interrupted(*arguments: Any) -> Any:
            self.call()
            return method(*arguments)

        return interrupted

    def list(self, directory: Path) -> list[str]:
        self.call()
        return super().list(directory)

    def exists(self, path: Path) -> bool:
        self.call()
        return super().exists(path)

    def lock(self, path: Path, owner: str) -> Lock:
        return NoLock()


def read(directory: Path, fs: OsFs) -> list[int]:
    with LogReader.open(directory, fs=fs) as reader:
        if reader.base is not None:
            list(reader.base.rows())
        return [batch.base_offset for batch in reader.batches()]


def follow(directory: Path, fs: OsFs) -> list[int]:
    cursor, found = LogCursor(directory, fs=fs), list[int]()
    while batches := cursor.read(1):
        found += [batch.base_offset for batch in batches]
    return found


def become_writer(directory: Path, fs: OsFs) -> list[int]:
    own_log(fs, directory, SEGMENT_SIZE_BYTES_MAX).writer.abandon()
    return []


def retain(directory: Path) -> None:
    """Move the start of the log to its last segment."""
    with LogReader.open(directory) as reader:
        following = reader.header(reader.segment_paths[-1])
    start = following.base_offset
    write_checkpoint(
        OsFs(),
        directory,
        [CheckpointRecord(topics(0, 1).records[0], 0)],
        cluster_id="test-cluster",
        end_offset=start,
        leader_epoch=1,
        timestamp=0,
        following=following,
    )
    drop_below(OsFs(), directory, start)


def go_on_and_retain(directory: Path) -> None:
    """Let a writer begin another segment, then move the start of the log."""

    async def go_on() -> None:
        log = await MetadataLog.open(directory)
        await log.append(topics(100, 1))
        await log.close()

    with ThreadPoolExecutor(1) as another:
        another.submit(asyncio.run, go_on()).result()
    retain(directory)


@contextmanager
def nothing_left_open() -> Iterator[None]:
    before = len(os.listdir("/dev/fd"))
    yield
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (read, retain),
        (read, go_on_and_retain),
        (follow, retain),
        (follow, go_on_and_retain),
        (become_writer, retain),
    ],
)
async def test_start_that_moves_up_is_never_taken_for_damage(
    directory: Path,
    tmp_path: Path,
    use: Callable[[Path, OsFs], list[int]],
    what: Callable[[Path], None],
) -> None:
    log = await MetadataLog.open(directory, segment_size_bytes_max=1)
    await log.append(topics(0, 3))
    await log.append(topics(3, 3))
    await log.close()
    refused = 0
    copy = tmp_path / "copy"
    for at in range(1_000):
        shutil.copytree(directory, copy)
        fs = InterruptedFs(at, lambda: what(copy))
        with nothing_left_open():
            try:
                found = use(copy, fs)
            except (UnavailableError, UnknownHistoryError):
                refused += 1
            else:
                # From the old start or the new one on, without a gap.
                first = BASES.index(found[0]) if found else 0
                assert found == BASES[first : first + len(found)]
        shutil.rmtree(copy)
        if fs.calls <= at:
            break
    assert refused and fs.calls <= at


async def test_base_that_is_gone_by_now_can_be_tried_again(directory: Path) -> None:
    log = await MetadataLog.open(directory, segment_size_bytes_max=1)
    await log.append(topics(0, 3))
    retain(directory)
    with LogReader.open(directory) as reader:
        assert reader.base is not None
        await log.append(topics(3, 3))
        retain(directory)
        with pytest.raises(UnavailableError, match="vanished"):
            list(reader.base.rows())
    await log.close()


def test_place_without_a_log_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="is not a log"):
        LogCursor(tmp_path / "nothing")
