"""The clean-shutdown file: after a clean shutdown, the next start reports that nothing was lost."""

import asyncio
import errno
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from api.broker.options import BrokerOptions
from api.broker.partition_log import PartitionLog
from api.broker.process import Ready, run_broker_until_stopped
from tests.api.kafka.servers import server


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[Ready]:
    """Run a broker while the body runs, then shut it down cleanly; yields its `Ready`."""
    async with server(directory) as service, broker_of(service.port, directory) as ready:
        yield ready


@asynccontextmanager
async def broker_of(port: int, directory: Path, *log_dirs: str) -> AsyncIterator[Ready]:
    """Run a broker of a controller while the body runs, then shut it down cleanly."""
    options = BrokerOptions(
        server=f"kafka://127.0.0.1:{port}",
        broker_id=1,
        log_dirs=tuple([directory / name for name in log_dirs or ("broker",)]),
        heartbeat_ms=100,
    )
    ready: asyncio.Queue[Ready] = asyncio.Queue()
    broker = asyncio.create_task(run_broker_until_stopped(options, ready.put_nowait))
    async with asyncio.timeout(60):
        yield await ready.get()
        os.kill(os.getpid(), signal.SIGTERM)
        await broker


async def test_broker_that_synced_everything_says_so(tmp_path: Path) -> None:
    marker = tmp_path / "broker" / "clean_shutdown"
    async with running(tmp_path) as ready:
        assert not marker.exists()
    assert marker.read_text() == f"broker_epoch: {ready.broker_epoch}\n"


async def test_broker_that_could_not_sync_a_partition_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: PartitionLog) -> None:
        raise OSError(errno.EIO, "the disk refuses")

    monkeypatch.setattr(PartitionLog, "close", refuse)
    (tmp_path / "broker" / "a_0").mkdir(parents=True)
    async with running(tmp_path):
        pass
    assert not (tmp_path / "broker" / "clean_shutdown").exists()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"broker_epoch: x\n", b"other: 1\n", b"no colon"])
async def test_damaged_file_counts_as_an_end_that_was_not_clean(
    tmp_path: Path, content: bytes
) -> None:
    marker = tmp_path / "broker" / "clean_shutdown"
    marker.parent.mkdir()
    marker.write_bytes(content)
    async with running(tmp_path):
        assert not marker.exists()
