"""A node's machine loses its power: whatever is left of the folder, it fetches the rest."""

from pathlib import Path

import pytest

from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import Node
from tests.shared_log.node_life import NodeLife, make_operations
from tests.simulated_disk.explorer import sampled

OPERATIONS = 8
STATES = 2
"""Power losses tried at each I/O boundary; `make torture ARGS=nodes_power` tries more."""


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_left_is_completed(seed: int) -> None:
    life = NodeLife(seed, sampled(seed, STATES))
    truth = await life.run(make_operations(seed, OPERATIONS))
    for case in life.cases:
        await truth.judge(case)


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
