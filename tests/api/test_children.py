"""A service keeps using child processes after one of them could not be started."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from api.upkeep.history_keeper import HistoryKeeper
from api.upkeep.snapshot_maker import SnapshotMaker


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        (lambda log: HistoryKeeper(log, None).run(), "SQL history of {log} is not kept"),
        (lambda log: SnapshotMaker(log, 1, 0, lambda: 1, 0).run(), "no snapshot of {log}"),
    ],
    ids=["history", "snapshot"],
)
async def test_a_child_that_cannot_be_started_is_a_warning(
    keep: Callable[[Path], Awaitable[None]],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with caplog.at_level(logging.WARNING):
        running = asyncio.ensure_future(keep(tmp_path))
        while not caplog.messages:
            assert not running.done(), "it goes on"
            await asyncio.sleep(0.01)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert caplog.messages[0].startswith(said.format(log=tmp_path))
    assert "No such file" in caplog.messages[0]
