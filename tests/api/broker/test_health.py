"""A broker detects that a directory cannot be written, and that it can be written again."""

import asyncio
import contextlib
import errno
import os
import resource
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from api.broker.disk import Disk
from api.broker.health import Health
from api.broker.log_directory import LogDirectory
from api.broker.open_files import OpenFiles
from tests.processes import open_descriptors


class Watched:
    """Two log directories, one of which can be made to fail, and the health check of both."""

    def __init__(self, path: Path) -> None:
        self.disk = Disk(256)
        self.directories = [
            LogDirectory.open(path / name, cluster_id="c", broker_id=1) for name in ("d0", "d1")
        ]
        self.recoveries = 0
        self.health = Health(
            self.disk, self.directories, recovered=self._recovered, slow_s=0.2, look_s=0.01
        )

    def _recovered(self) -> None:
        self.recoveries += 1

    @property
    def moved(self) -> Path:
        return self.directories[1].path.with_name("away")

    def fail(self) -> None:
        self.directories[1].path.rename(self.moved)

    def mend(self) -> None:
        self.moved.rename(self.directories[1].path)

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.health.watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def until(self, problem: str | None) -> None:
        """Wait for a problem whose text contains `problem`, or for no problem if it is None."""
        async with asyncio.timeout(20):
            while (self.health.problem is None) != (problem is None):
                await asyncio.sleep(0.01)
        assert problem is None or problem in str(self.health.problem)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def _refuse() -> None:
    raise OSError(errno.EIO, "Input/output error")


async def test_failed_work_makes_it_look_and_a_failed_look_counts(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    async with watched.watching():
        watched.fail()
        with pytest.raises(OSError, match="Input/output"):
            await watched.disk.run(_refuse)
        await watched.until("d1: No such file or directory")
        await asyncio.sleep(0.05)
        watched.mend()
        await watched.until(None)
    assert watched.recoveries == 1
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


async def test_error_of_one_partition_alone_is_no_problem(watched: Watched) -> None:
    async with watched.watching():
        with pytest.raises(OSError, match="Input/output"):
            await watched.disk.run(_refuse)
        while watched.disk.trouble.is_set():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert watched.health.problem is None
    assert watched.recoveries == 0


async def test_work_that_hangs_is_a_problem(watched: Watched) -> None:
    go_on = threading.Event()
    async with watched.watching():
        hanging = [asyncio.ensure_future(watched.disk.run(go_on.wait)) for _ in range(8)]
        await watched.until("does not answer within 0.2 s")
        go_on.set()
        await asyncio.gather(*hanging)
        await watched.until(None)


async def test_process_without_descriptors_is_a_problem(watched: Watched) -> None:
    async with watched.watching():
        with _no_descriptors():
            await watched.until("Too many open files")
        await watched.until(None)


@contextlib.contextmanager
def _no_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_idle_files_give_way_to_new_ones(tmp_path: Path) -> None:
    files = OpenFiles(idle_max=10)
    for number in range(5):
        with files.use(number, tmp_path / str(number), create=True) as descriptor:
            os.write(descriptor, b"%d" % number)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    # Nothing can be opened unless one of the five is closed.
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        with files.use(5, tmp_path / "5", create=True) as descriptor:
            os.write(descriptor, b"5")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert open_descriptors(tmp_path) == 1
    with files.use(0, tmp_path / "0") as descriptor:
        assert os.pread(descriptor, 10, 0) == b"0"
    files.forget(0)
    files.forget(0)
    files.forget(5)
    assert open_descriptors(tmp_path) == 0
