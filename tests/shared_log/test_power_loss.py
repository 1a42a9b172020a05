"""A node's machine loses its power: whatever is left of the folder, it fetches the rest."""

from pathlib import Path
from random import Random

import pytest

from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import Node
from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import DiskState, SimulatedDisk

DIRECTORY = Path("/disk/log")
STATES = 40
"""Power losses tried after each run: the systematic ones, and some at random."""


async def _life(random: Random, store: MemoryStore, node: Node, other: Node) -> None:
    """Let a node follow and lead, with appends, syncs and changes of the leader."""
    await node.start()
    await other.start()
    for _ in range(random.randrange(1, 6)):
        leader, follower = (node, other) if random.random() < 0.5 else (other, node)
        await leader.lead()
        for _ in range(random.randrange(1, 6)):
            await leader.append(random.choice((1, 2, 50)))
            if random.random() < 0.4 and follower.copy is not None and follower.leads is None:
                await follower.follow()
            if random.random() < 0.2 and node.copy is not None and node.leads is None:
                node.copy.sync()
        if leader is other or random.random() < 0.5:
            await leader.stop()
            await leader.start()
        else:
            leader.crash()
            await leader.start()


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_is_left_is_completed(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    store = MemoryStore()
    disk = SimulatedDisk()
    node = Node(DIRECTORY, MemorySharedLog(store), 1, disk)
    other = Node(tmp_path / "other", MemorySharedLog(store), 2)
    await _life(random, store, node, other)
    await other.follow()
    losses = PowerLosses(disk, str(seed))
    for number in losses.sample(random, STATES):
        await _comes_back(losses.state(number), store, other)
    await other.stop()


async def _comes_back(state: DiskState, store: MemoryStore, other: Node) -> None:
    """Start a node on what a power loss left, and let it follow."""
    disk = SimulatedDisk(state)
    node = Node(DIRECTORY, MemorySharedLog(store), 1, disk)
    await node.start()
    await node.follow()
    assert node.files() == other.files()
    assert [b.end_offset for b in node.batches()] == [b.end_offset for b in other.batches()]
    await node.stop()


@pytest.mark.parametrize("damage", ["cut", "flip", "header", "mark", "nothing left"])
async def test_damage_is_fetched_again(tmp_path: Path, damage: str) -> None:
    store = MemoryStore()
    node, other = (
        Node(tmp_path / name, MemorySharedLog(store), number)
        for number, name in enumerate(("node", "other"), 1)
    )
    for leader in (node, other, node):
        await leader.start()
        await leader.lead()
        for _ in range(4):
            await leader.append(3)
        await leader.stop()
    await other.start()
    await other.follow()
    last = node.directory / max(node.files())
    content = bytearray(last.read_bytes())
    match damage:
        case "cut":
            last.write_bytes(content[:-20])
        case "flip":
            content[-30] ^= 1
            last.write_bytes(content)
        case "header":
            content[10] ^= 1
            last.write_bytes(content)
        case "mark":
            (node.directory / "commit.mark").write_bytes(bytes(4_096))
        case "nothing left":
            for name in node.files():
                (node.directory / name).write_bytes(b"")
    await node.start()
    await node.follow()
    assert node.files() == other.files()
    await node.stop()
    await other.stop()
