"""Groups of appends in a store that takes long: callers share a commit rather than take turns."""

import asyncio
from pathlib import Path

import pytest

from metadata_log.format.batch import NewBatch
from metadata_log.shared.shared_log import Group, Position
from records.control import NoOpRecord
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import Node
from tests.simulated_disk.loop import SimulatedLoop

COMMIT_S = 0.020
THINK_S = 0.001
CALLERS = 8
EACH = 10


class _FarSharedLog(MemorySharedLog):
    """A connection to a store whose appends take long."""

    async def append(self, group: Group, *, after: Position) -> None:
        await asyncio.sleep(COMMIT_S)
        await super().append(group, after=after)


async def _append(tmp_path: Path, store: MemoryStore, think_s: float) -> float:
    """Append by all callers, each of whom thinks before each append; return how long that took."""
    node = Node(tmp_path / "node-1", _FarSharedLog(store), 1)
    await node.start()
    log = await node.lead()

    async def caller(number: int) -> None:
        await asyncio.sleep(number * THINK_S)
        for _ in range(EACH):
            await asyncio.sleep(think_s)
            await log.append(NewBatch(records=(NoOpRecord(),)))

    start = asyncio.get_running_loop().time()
    await asyncio.gather(*[caller(number) for number in range(CALLERS)])
    took_s = asyncio.get_running_loop().time() - start
    await node.stop()
    return took_s


def _took_s(tmp_path: Path, think_s: float) -> float:
    loop = SimulatedLoop()
    appending: asyncio.Task[float] = loop.create_task(_append(tmp_path, MemoryStore(), think_s))
    loop.advance(10.0)
    return appending.result()


def test_callers_who_ask_again_at_once_share_each_commit(tmp_path: Path) -> None:
    # The first one is alone in its group, and all others wait for the second.
    assert _took_s(tmp_path, THINK_S) < (EACH + 2) * (COMMIT_S + 2 * THINK_S)


@pytest.mark.parametrize("think_s", [COMMIT_S / 2, COMMIT_S * 3])
def test_nobody_waits_long_for_callers_who_think(tmp_path: Path, think_s: float) -> None:
    # Without any wait, an append takes at most the rest of a commit, and its own.
    assert _took_s(tmp_path, think_s) < EACH * (think_s + 2 * COMMIT_S * (1 + 1 / 8)) + COMMIT_S
