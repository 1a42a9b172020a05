"""A folder that follows a shared log, one group at a time."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from api.nodes import standby as module
from api.nodes.standby import Standby
from metadata_log.format.batch import Batch
from metadata_log.shared.identity import Identity
from metadata_log.shared.shared_log import CommittedGroups
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import CLUSTER_ID, Node


class _Yielding(MemorySharedLog):
    """A store whose answers take a turn of the event loop."""

    async def read_committed(self, number: int, size_bytes_max: int) -> CommittedGroups:
        await asyncio.sleep(0)
        return await super().read_committed(number, size_bytes_max)


@pytest.fixture
async def store(tmp_path: Path) -> MemoryStore:
    """A store with the groups of a leader that has stopped."""
    store = MemoryStore()
    store.identity = Identity(cluster_id=CLUSTER_ID, log_id="1")
    leader = Node(tmp_path / "leader", MemorySharedLog(store), 1)
    await leader.start()
    await leader.lead()
    for _ in range(5):
        await leader.append(1)
    await leader.stop()
    return store


async def test_an_end_that_has_gone_back_is_not_waited_for(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that went back to what the folder has just copied has lost nothing of the folder."""
    monkeypatch.setattr(module, "_READ_BYTES", 1)
    standby = await Standby.open(tmp_path / "standby", _Yielding(store), 2)

    async def lose_the_rest(_: Sequence[Batch]) -> None:
        del store.groups[standby.copy.position.number :]

    async with asyncio.timeout(10):
        await standby.catch_up(lose_the_rest)
    assert standby.copy.position == store.end
    standby.copy.close()
