"""A node's machine loses its power: whatever is left of the folder, it fetches the rest."""

from pathlib import Path

import pytest

from api.nodes.repair import put_back
from metadata_log.shared.identity import Identity
from metadata_log.shared.shared_log import EMPTY, MissingGroupError
from metadata_log.writer.folder_copy import LostRecordsError
from records.errors import CorruptLogError, UnknownHistoryError
from replay.care.retain import retain
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import CLUSTER_ID, Node
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


@pytest.fixture
async def stopped(tmp_path: Path) -> Node:
    """A node with several segments."""
    node = Node(tmp_path / "node", MemorySharedLog(MemoryStore()), 1)
    for _ in range(3):
        await node.start()
        await node.lead()
        await node.append(3)
        await node.stop()
    return node


def _segments(node: Node) -> dict[str, bytes]:
    return {name: content for name, content in node.files().items() if "checkpoint" not in name}


def _spoil_the_beginning(node: Node, damage: str) -> None:
    first = node.directory / min(_segments(node))
    content = bytearray(first.read_bytes())
    content[10] ^= 1
    match damage:
        case "header":
            first.write_bytes(content)
        case "no checkpoint":
            (checkpoint,) = node.directory.glob("*.checkpoint.avro")
            checkpoint.unlink()


def _start_moved_up(node: Node) -> None:
    retain(node.directory, node.batches()[-1].base_offset, check_dropped=lambda _: None)
    assert int(Path(min(_segments(node))).stem) > 0


@pytest.mark.parametrize("damage", ["header", "no checkpoint"])
async def test_a_folder_stays_if_the_shared_log_lacks_its_beginning(
    stopped: Node, damage: str
) -> None:
    _start_moved_up(stopped)
    await stopped.log.trim(2)
    _spoil_the_beginning(stopped, damage)
    before = stopped.files()
    with pytest.raises(CorruptLogError, match="is trimmed, so nothing of the folder was removed"):
        await stopped.start()
    assert stopped.files() == before


@pytest.mark.parametrize("damage", ["header", "no checkpoint"])
async def test_a_folder_is_filled_anew_if_the_shared_log_has_its_beginning(
    stopped: Node, damage: str
) -> None:
    whole = _segments(stopped)
    _start_moved_up(stopped)
    _spoil_the_beginning(stopped, damage)
    await stopped.start()
    await stopped.follow()
    assert _segments(stopped) == whole
    await stopped.stop()


async def test_a_damaged_folder_stays_if_the_store_has_lost_records(stopped: Node) -> None:
    _spoil_the_beginning(stopped, "header")
    assert isinstance(stopped.log, MemorySharedLog)
    end = stopped.log._store.groups.pop().end_offset
    before = stopped.files()
    with pytest.raises(LostRecordsError, match="the store has lost acknowledged") as caught:
        await stopped.start()
    assert caught.value.end_offset == end
    assert stopped.files() == before


def _spoil_the_second_header(node: Node) -> int:
    """Damage a segment that intact ones follow; return the end of the one before."""
    second = node.directory / sorted(_segments(node))[1]
    content = bytearray(second.read_bytes())
    content[10] ^= 1
    second.write_bytes(content)
    return int(second.stem)


def _group_that_ends_at(node: Node, end_offset: int) -> int:
    assert isinstance(node.log, MemorySharedLog)
    return next(g.number for g in node.log._store.groups if g.end_offset == end_offset)


@pytest.mark.parametrize("is_trimmed", [False, True])
async def test_intact_segments_behind_damage_are_fetched_again(
    stopped: Node, is_trimmed: bool
) -> None:
    whole = _segments(stopped)
    cut = _spoil_the_second_header(stopped)
    if is_trimmed:  # as far as what is cut off is kept
        await stopped.log.trim(_group_that_ends_at(stopped, cut))
    await stopped.start()
    assert stopped.copy is not None
    assert stopped.copy.tail.end_offset == cut
    await stopped.follow()
    assert _segments(stopped) == whole
    await stopped.stop()


async def test_intact_segments_behind_damage_stay_if_the_shared_log_is_trimmed(
    stopped: Node,
) -> None:
    cut = _spoil_the_second_header(stopped)
    assert isinstance(stopped.log, MemorySharedLog)
    await stopped.log.trim(next(g.number for g in stopped.log._store.groups if g.end_offset > cut))
    before = stopped.files()
    with pytest.raises(CorruptLogError, match=rf"0{cut}\.avro.*nothing of the folder was removed"):
        await stopped.start()
    assert stopped.files() == before


@pytest.mark.parametrize("loss", ["end", "end written over", "group of the mark"])
async def test_intact_segments_behind_damage_stay_if_the_store_has_lost_records(
    stopped: Node, tmp_path: Path, loss: str
) -> None:
    cut = _spoil_the_second_header(stopped)
    log = stopped.log
    assert isinstance(log, MemorySharedLog)
    groups = log._store.groups
    end = groups[-1].end_offset
    expected: type[CorruptLogError] = LostRecordsError
    match loss:
        case "end" | "end written over":
            del groups[_group_that_ends_at(stopped, cut) + 1 :]
        case "group of the mark":
            log.lose(_group_that_ends_at(stopped, end))
            expected = MissingGroupError
    if loss == "end written over":
        other = Node(tmp_path / "other", MemorySharedLog(log._store), 2)
        await other.start()
        await other.lead()
        await other.append(10)
        await other.stop()
        assert groups[-1].end_offset > end
    before = stopped.files()
    with pytest.raises(expected) as caught:
        await stopped.start()
    if isinstance(caught.value, LostRecordsError):
        assert caught.value.from_offset < caught.value.end_offset == end
    assert stopped.files() == before


async def test_repair_removes_no_segments(stopped: Node) -> None:
    identity = Identity(cluster_id=CLUSTER_ID, log_id="1")
    assert isinstance(stopped.log, MemorySharedLog)
    stopped.log._store.identity = identity
    lost = stopped.log._store.groups.pop()
    last = stopped.directory / max(_segments(stopped))
    with last.open("ab") as file:
        file.write(b"torn")
    assert (await put_back(stopped.log, stopped.directory))[0].folder_end == lost.end_offset
    assert not last.read_bytes().endswith(b"torn")
    _spoil_the_second_header(stopped)
    before = stopped.files()
    with pytest.raises(CorruptLogError, match=r"nothing of the folder was removed.*another node"):
        await put_back(stopped.log, stopped.directory)
    assert stopped.files() == before


async def test_a_folder_stays_if_the_shared_log_lacks_only_a_claim_before_it(
    tmp_path: Path,
) -> None:
    node = Node(tmp_path / "node", MemorySharedLog(MemoryStore()), 1)
    await node.start()
    await node.claim(EMPTY)
    await node.lead()
    await node.stop()
    await node.log.trim(1)
    _spoil_the_beginning(node, "header")
    before = node.files()
    with pytest.raises(CorruptLogError, match="nothing of the folder was removed"):
        await node.start()
    assert node.files() == before


async def test_a_folder_without_segments_is_too_old_for_a_trimmed_log(stopped: Node) -> None:
    await stopped.log.trim(2)
    for name in stopped.files():
        (stopped.directory / name).unlink()
    with pytest.raises(UnknownHistoryError, match="metalog restore"):
        await stopped.start()
