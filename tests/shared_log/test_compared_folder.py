"""A folder is compared with its shared log, block by block."""

from pathlib import Path

import pytest

from metadata_log.care.shared_copy import Compared, compare_with_folder
from replay.care.retain import retain
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import Node


async def _two_nodes(tmp_path: Path) -> tuple[MemoryStore, Node, Node]:
    """Return nodes that led in turn; the first one has all, the other one lacks the end."""
    store = MemoryStore()
    first, second = (
        Node(tmp_path / f"node-{number}", MemorySharedLog(store), number) for number in (1, 2)
    )
    for node in (first, second):
        await node.start()
        await node.lead()
        for count in (1, 3, 2):
            await node.append(count)
        await node.stop()
    await first.start()
    await first.lead()
    await first.append(5)
    await first.stop()
    return store, first, second


async def _compared(store: MemoryStore, node: Node) -> Compared:
    return await compare_with_folder(MemorySharedLog(store), node.fs, node.directory)


async def test_a_whole_copy_and_one_that_is_behind(tmp_path: Path) -> None:
    store, first, second = await _two_nodes(tmp_path)
    end = store.end.end_offset
    found = await _compared(store, first)
    assert (found.difference, found.from_offset, found.to_offset, found.missing) == (
        *(None, 0, end),
        0,
    )
    assert found.groups == sum(not group.is_claim for group in store.groups)
    behind = await _compared(store, second)
    assert (behind.difference, behind.to_offset, behind.missing) == (None, end - 6, 6)


async def test_a_folder_that_dropped_its_first_segments_is_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metadata_log.writer.request_window.REQUEST_WINDOW_OFFSETS", 5)
    store, first, _ = await _two_nodes(tmp_path)
    end = store.end.end_offset
    start = retain(first.directory, end, check_dropped=lambda segments: None).history_start
    found = await _compared(store, first)
    assert 0 < start < end
    assert (found.difference, found.from_offset, found.to_offset) == (None, start, end)


async def test_the_first_block_that_differs_is_named(tmp_path: Path) -> None:
    store, first, _ = await _two_nodes(tmp_path)
    other = MemoryStore()
    stranger = Node(tmp_path / "stranger", MemorySharedLog(other), 1)
    await stranger.start()
    await stranger.lead()
    for count in (1, 3, 3):
        await stranger.append(count)
    await stranger.stop()
    found = await _compared(store, stranger)
    assert found.difference is not None
    assert found.difference.file == "00000000000000000000.avro"
    assert found.difference.from_offset == found.to_offset
    assert "has CRC" in found.difference.what
    assert (await _compared(store, first)).difference is None


async def test_a_store_that_lost_records_is_found_out(tmp_path: Path) -> None:
    store, first, second = await _two_nodes(tmp_path)
    kept = (await _compared(store, second)).to_offset
    while store.groups[-1].is_claim or store.groups[-1].end_offset > kept:
        store.groups.pop()
    found = await _compared(store, first)
    assert found.difference is not None
    assert "the store has lost records" in found.difference.what
    assert found.difference.from_offset == kept


@pytest.mark.parametrize("kept", [1, 3, 5])
async def test_of_a_trimmed_log_the_rest_is_compared(tmp_path: Path, kept: int) -> None:
    store, first, _ = await _two_nodes(tmp_path)
    log = MemorySharedLog(store)
    await log.trim(len(store.groups) - kept)
    found = await _compared(store, first)
    assert (found.difference, found.to_offset) == (None, store.end.end_offset)
    assert found.from_offset is not None
    assert found.from_offset > 0
