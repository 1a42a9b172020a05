"""Nodes over a shared log: each folder is a copy, byte for byte; one leads at a time."""

import asyncio
import shutil
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from metadata_log.shared.shared_log import MissingGroupError
from metadata_log.writer.folder_copy import LostRecordsError
from metadata_log.writer.request_window import RequestWindow
from records.errors import (
    CorruptLogError,
    FencedError,
    Outcome,
    UnavailableError,
    UnknownHistoryError,
)
from tests.metadata_log.conftest import topics
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import Node


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def _node(tmp_path: Path, store: MemoryStore, number: int) -> Node:
    return Node(tmp_path / f"node-{number}", MemorySharedLog(store), number)


async def test_folders_are_equal_byte_for_byte(tmp_path: Path, store: MemoryStore) -> None:
    first, second = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await first.start()
    await first.lead()
    for count in (1, 3, 200, 1):
        await first.append(count)
    await second.start()
    copied = await second.follow()
    assert second.files() == first.files()
    assert copied == second.batches() == first.batches()
    assert sum(len(batch.rows) for batch in copied) == 1 + 205
    await first.stop()
    await second.stop()
    assert second.files() == first.files()


async def test_a_follower_that_takes_over_knows_the_requests_without_reading_them(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await first.start()
    log = await first.lead()
    requests = [topics(number, 2, request_id=f"r{number}") for number in range(4)]
    results = [await log.append(request) for request in requests[:2]]
    await second.start()
    await second.follow()
    results += [await log.append(request) for request in requests[2:]]
    monkeypatch.setattr(RequestWindow, "of_tail", None)
    log = await second.lead()
    assert [await log.append(request) for request in requests] == results
    found = [await log.find_request(request.origin) for request in requests if request.origin]
    assert [log.first_batch(each).base_offset for each in found if each] == [
        each.base_offset for each in results
    ]
    await second.stop()
    first.crash()


async def test_a_folder_that_is_opened_again_has_the_window_it_had(
    tmp_path: Path, store: MemoryStore
) -> None:
    first, second = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await first.start()
    log = await first.lead()
    await second.start()
    await log.append(topics(0, 2, request_id="r0"))
    await second.follow()
    copy = second.copy
    assert copy is not None
    tail = copy.tail
    assert copy.requests_of(tail) is copy.requests
    await log.append(topics(1, 2, request_id="r1"))
    assert copy.requests_of(replace(tail, end_offset=tail.end_offset + 2)) is None
    groups = await second.log.read(copy.position.number, 10_000)
    with pytest.raises(CorruptLogError):
        copy.apply([replace(group, crc32c=0) for group in groups])
    assert copy.requests_of(tail) is copy.requests_of(copy.tail) is None
    copy.abandon()
    await second.start()
    await second.lead()
    copy = second.copy
    assert copy is not None
    assert copy.requests_of(copy.tail) is None  # the leader has it
    await second.stop()
    first.crash()


async def test_a_follower_takes_over_and_the_old_leader_is_fenced(
    tmp_path: Path, store: MemoryStore
) -> None:
    first, second = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await first.start()
    await second.start()
    await first.lead()
    acknowledged = [await first.append(), await first.append(2)]
    await second.lead()
    with pytest.raises(FencedError) as caught:
        await first.append()
    assert caught.value.outcome is Outcome.NOTHING
    acknowledged.append(await second.append())
    assert [each.end_offset for each in acknowledged] == [2, 4, 6]
    assert [each.leader_epoch for each in acknowledged] == [1, 1, 2]
    await first.stop()
    await first.start()
    await first.follow()
    assert first.files() == second.files()
    assert list(first.files()) == ["00000000000000000000.avro", "00000000000000000004.avro"]
    await first.stop()
    await second.stop()


@pytest.mark.parametrize("lost", range(1, 11))
async def test_a_folder_finds_its_place_beside_a_lost_group(
    tmp_path: Path, store: MemoryStore, lost: int
) -> None:
    """It goes on behind the group, or names it; nobody is told that records are gone."""
    first = _node(tmp_path, store, 1)
    behind: list[Path] = []
    for _ in range(2):
        await first.start()
        await first.lead()
        for _ in range(3):
            await first.append()
            behind.append(shutil.copytree(first.directory, tmp_path / f"at {len(behind)}"))
        await first.stop()
    assert store.end.number == 12  # a claim, five groups of batches, and the same again
    store.lost.add(lost)
    found: list[str] = []
    for directory in behind:
        node = Node(directory, first.log, 2)
        try:
            await node.start()
            await node.follow()
            found.append("goes on")
            await node.stop()
        except MissingGroupError:
            found.append("missing")
            if node.copy is not None:
                node.copy.abandon()
    assert found == sorted(found, reverse=True)
    assert found[-1] == "goes on"


async def test_nodes_take_turns_and_crash(tmp_path: Path, store: MemoryStore) -> None:
    nodes = [_node(tmp_path, store, number) for number in range(3)]
    ends: list[int] = []
    for turn in range(9):
        leader = nodes[turn % 3]
        for node in nodes:
            if node.copy is None:
                await node.start()
        await leader.lead()
        ends += [(await leader.append(count)).end_offset for count in (1, turn + 1)]
        if turn % 2:
            leader.crash()
        else:
            await leader.stop()
    for node in nodes:
        await node.stop()
        await node.start()
        await node.follow()
    files = [node.files() for node in nodes]
    assert files[0] == files[1] == files[2]
    batch_ends = {batch.end_offset for batch in nodes[0].batches()}
    assert set(ends) <= batch_ends
    for node in nodes:
        await node.stop()


async def test_nothing_uncommitted_reaches_the_folder(tmp_path: Path, store: MemoryStore) -> None:
    node = _node(tmp_path, store, 1)
    await node.start()
    await node.lead()
    await node.append()
    before = node.files()
    log = node.log
    assert isinstance(log, MemorySharedLog)
    log.is_cut = True
    with pytest.raises(UnavailableError) as caught:
        await node.append(5)
    assert caught.value.outcome is Outcome.NOTHING
    assert node.files() == before
    log.is_cut = False
    assert (await node.append(2)).base_offset == 2
    await node.stop()


@pytest.mark.parametrize("lost", ["request", "answer", "late"])
async def test_an_append_without_an_answer_is_settled(
    tmp_path: Path, store: MemoryStore, lost: str
) -> None:
    node, other = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await node.start()
    await node.lead()
    log = node.log
    assert isinstance(log, MemorySharedLog)
    log.lose_next = lost
    if lost == "answer":
        assert (await node.append()).end_offset == 2
    else:
        with pytest.raises(FencedError) as caught:
            await node.append()
        assert caught.value.outcome is Outcome.NOTHING
        # Its own claim took the number: it goes on leading in the next epoch.
        assert node.commit is not None
        assert node.commit.end.epoch == 2
    log.deliver()
    await node.stop()
    await node.start()
    await node.lead()
    await node.append()
    await other.start()
    await other.follow()
    assert other.files() == node.files()
    await node.stop()
    await other.stop()


async def test_a_store_that_says_nothing_leaves_the_outcome_unknown(
    tmp_path: Path, store: MemoryStore
) -> None:
    node = _node(tmp_path, store, 1)
    await node.start()
    await node.lead(settle_for_s=0.3)
    log = node.log
    assert isinstance(log, MemorySharedLog)
    before = node.files()

    async def cut_after(*arguments: object, **named: object) -> None:
        log.is_cut = True
        raise UnavailableError("no answer", outcome=Outcome.UNKNOWN)

    log.append = cut_after  # type: ignore[method-assign]
    with pytest.raises(FencedError) as caught:
        await node.append()
    assert caught.value.outcome is Outcome.UNKNOWN
    assert node.files() == before
    await node.stop()


async def test_a_folder_that_crashed_within_a_group_goes_on(
    tmp_path: Path, store: MemoryStore
) -> None:
    """Recovery keeps whole blocks behind the mark, so a folder may end inside a group."""
    first, second = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await first.start()
    await first.lead()
    await asyncio.gather(*(first.append(2) for _ in range(6)))
    group = max(store.groups, key=lambda each: len(each.entries))
    assert len(group.entries) > 1
    await first.stop()
    name = "00000000000000000000.avro"
    whole = first.files()[name]
    last = group.entries[-1].content
    assert whole.endswith(last)
    await second.start()
    assert second.copy is not None
    second.copy.apply(store.groups[: group.number])
    second.crash()
    # The mark is before the group, and all of its blocks but the last are in the file.
    (second.directory / name).write_bytes(whole[: -len(last)])
    await second.start()
    await second.follow()
    assert second.files() == first.files()
    await second.stop()


async def test_a_store_that_lost_acknowledged_records_is_found_out(
    tmp_path: Path, store: MemoryStore
) -> None:
    node = _node(tmp_path, store, 1)
    await node.start()
    await node.lead()
    for _ in range(3):
        await node.append()
    await node.stop()
    lost = store.groups.pop()
    with pytest.raises(LostRecordsError, match="lost acknowledged records") as caught:
        await node.start()
    assert caught.value.from_offset == 3
    # Another node has gone on in the meantime.
    other = _node(tmp_path, store, 2)
    await other.start()
    await other.lead()
    await other.append()
    await other.append()
    with pytest.raises(LostRecordsError):
        await node.start()
    await other.stop()
    assert lost.end_offset == 4


async def test_a_folder_of_another_log_is_refused(tmp_path: Path, store: MemoryStore) -> None:
    node = _node(tmp_path, store, 1)
    await node.start()
    await node.lead()
    await node.append(3)
    await node.stop()
    strange = _node(tmp_path, MemoryStore(), 9)
    await strange.start()
    await strange.lead()
    await strange.append(2)
    await strange.stop()
    strange.log = node.log
    with pytest.raises(LostRecordsError, match="another log's folder"):
        await strange.start()


async def test_a_folder_that_is_too_old_says_what_to_do(tmp_path: Path, store: MemoryStore) -> None:
    node, late = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await late.start()
    await node.start()
    await node.lead()
    await node.append()
    await late.follow()
    await late.stop()
    for _ in range(4):
        await node.append()
    await node.log.trim(5)
    new = _node(tmp_path, store, 3)
    for each in (late, new):
        with pytest.raises(UnknownHistoryError, match="by `metalog restore` from the archive"):
            await each.start()
    await node.stop()


async def test_wherever_the_shared_log_begins_a_folder_goes_on_or_is_too_old(
    tmp_path: Path, store: MemoryStore
) -> None:
    """Also if it ends where the next leader's segment begins, and only that is left of this end."""
    first, second = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await first.start()
    await first.lead()
    border = (await first.append()).end_offset
    await first.stop()
    await second.start()
    await second.lead()
    await second.append()
    ends = [group.end_offset for group in store.groups]
    assert ends.count(border) == 3  # the last block, the claim, and the segment's header
    for start in range(1, len(ends)):
        await second.log.trim(start)
        if ends[start] > border:
            with pytest.raises(UnknownHistoryError):
                await first.start()
            continue
        returning = first.directory.with_name(f"returning-{start}")
        shutil.copytree(first.directory, returning)
        node = Node(returning, first.log, 1)
        await node.start()
        await node.follow()
        assert node.files() == second.files()
        await node.stop()
    await second.stop()


async def test_a_damaged_block_is_not_copied(tmp_path: Path, store: MemoryStore) -> None:
    first, second = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await first.start()
    await first.lead()
    await first.append()
    await first.append(4)
    group = store.groups[-1]
    content = bytearray(group.entries[0].content)
    for place in (0, 3, len(content) // 2, len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 4
        entry = msgspec.structs.replace(group.entries[0], content=bytes(damaged))
        store.groups[-1] = msgspec.structs.replace(group, entries=(entry,))
        await second.start()
        with pytest.raises(CorruptLogError):
            await second.follow()
        second.crash()
    for wrong in ({"end_offset": group.end_offset + 1}, {"crc32c": group.crc32c ^ 1}):
        store.groups[-1] = msgspec.structs.replace(group, **wrong)
        await second.start()
        with pytest.raises(CorruptLogError, match="is no copy of the shared log"):
            await second.follow()
        second.crash()
    store.groups[-1] = group
    await second.start()
    await second.follow()
    assert second.files() == first.files()
    await second.stop()
    await first.stop()
