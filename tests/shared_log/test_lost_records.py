"""Where a folder and a shared log part that went back, and how both are made equal again."""

import secrets
from pathlib import Path
from random import Random

import google_crc32c
import msgspec
import pytest

from api.nodes.lost_records import check_not_stopped, set_mark, stop_all
from api.nodes.options import LostMark
from api.nodes.repair import examine, give_up, put_back
from metadata_log.care.lost_records import lost_batches
from metadata_log.files.fs import OsFs
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.identity import Identity
from metadata_log.shared.shared_log import Entry, Group, Position
from metadata_log.writer.folder_copy import LostRecordsError
from records.errors import FencedError, RequestError, UnavailableError, UnknownHistoryError
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import CLUSTER_ID, Node


@pytest.fixture
def store() -> MemoryStore:
    found = MemoryStore()
    found.identity = Identity(cluster_id=CLUSTER_ID, log_id="1")
    return found


@pytest.fixture
def seed() -> int:
    found = secrets.randbelow(2**32)
    print(f"seed {found}")
    return found


def _node(tmp_path: Path, store: MemoryStore, number: int) -> Node:
    return Node(tmp_path / f"node-{number}", MemorySharedLog(store), number)


async def _written(node: Node, random: Random, turns: int) -> None:
    """Let a node lead and write, perhaps several times, so that there are several segments."""
    for _ in range(turns):
        await node.start()
        await node.lead()
        for _ in range(random.randrange(4)):
            await node.append(random.randrange(1, 5))
        await node.stop()


async def _equal(*nodes: Node) -> None:
    """Let nodes follow to the end; their folders must be equal then."""
    for node in nodes:
        await node.start()
        await node.follow()
        await node.stop()
    assert all(node.files() == nodes[0].files() for node in nodes)


def _end_of(groups: list[Group]) -> int:
    return groups[-1].end_offset if groups else 0


@pytest.mark.parametrize("case", range(25))
async def test_what_a_store_lost_is_put_back_byte_for_byte(
    tmp_path: Path, store: MemoryStore, seed: int, case: int
) -> None:
    random = Random(seed + case)
    furthest, other = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await _written(furthest, random, 2)
    if random.random() < 0.5:
        await _equal(furthest, other)
    await _written(furthest, random, random.randrange(3))
    before = furthest.batches()
    end = store.end.end_offset
    del store.groups[random.randrange(len(store.groups)) :]
    kept = _end_of(store.groups)

    found = await examine(furthest.log, furthest.directory)
    assert (found.from_offset, found.folder_end, found.appended) == (kept, end, 0)
    lost = list(lost_batches(OsFs(), furthest.directory, found))
    assert lost == [batch for batch in before if batch.end_offset > kept]

    put, may_run = await put_back(furthest.log, furthest.directory)
    assert (put.lost, may_run) == (end - kept, True)
    assert store.end.end_offset == end
    assert (await examine(furthest.log, furthest.directory)).lost == 0
    await _equal(furthest, other)
    await _written(other, random, 2)
    await _equal(furthest, other)
    assert furthest.batches()[: len(before)] == before


@pytest.mark.parametrize("case", range(25))
async def test_what_was_written_over_is_given_up_and_kept(
    tmp_path: Path, store: MemoryStore, seed: int, case: int
) -> None:
    random = Random(seed + case)
    furthest, other = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await _written(furthest, random, 3)
    before = furthest.batches()
    del store.groups[random.randrange(len(store.groups)) :]
    kept = _end_of(store.groups)
    await _written(other, random, random.randrange(1, 3))

    found = await examine(furthest.log, furthest.directory)
    assert found.from_offset == kept
    assert found.appended == store.end.end_offset - kept > 0
    end = store.end
    if found.lost:
        with pytest.raises(RequestError, match="cannot be put back"):
            await put_back(furthest.log, furthest.directory)
    assert store.end == end
    copy = tmp_path / "copy"
    assert (await give_up(furthest.log, furthest.directory, str(copy)))[1]
    if found.lost:
        with LogReader.open(copy) as reader:
            assert list(reader.batches()) == before
    assert furthest.batches() == [batch for batch in before if batch.end_offset <= kept]
    await _equal(furthest, other)
    await _written(furthest, random, 1)
    await _equal(furthest, other)


async def test_within_a_group_the_block_is_found(tmp_path: Path, store: MemoryStore) -> None:
    """All blocks of a segment are in one group, as they are put back; a folder has some of them."""
    node, other = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await node.start()
    await node.lead()
    for _ in range(6):
        await node.append(2)
    await node.stop()
    ends = [batch.end_offset for batch in node.batches()]
    del store.groups[2:]
    await put_back(node.log, node.directory)
    assert len(store.groups) == 4
    # The store goes back, and the other node writes the same blocks but for the last ones.
    content = store.groups[-1].entries
    await other.start()
    assert other.copy is not None
    part = msgspec.structs.replace(
        store.groups[-1],
        entries=content[:3],
        end_offset=ends[1],
        crc32c=google_crc32c.value(content[2].content),
    )
    store.groups[-1] = part
    await other.follow()
    await other.lead()
    await other.append()
    await other.stop()
    found = await examine(node.log, node.directory)
    assert (found.from_offset, found.folder_end) == (ends[1], ends[-1])
    whole = await _examined_as_one(store, node, part, content)
    assert whole == ends[1]


async def _examined_as_one(
    store: MemoryStore, node: Node, part: Group, content: tuple[Entry, ...]
) -> int:
    """Examine a store whose group begins with what the folder has, and goes on with more."""
    last = store.groups[-1]
    merged = msgspec.structs.replace(
        part,
        entries=(*part.entries, *last.entries),
        end_offset=last.end_offset,
        crc32c=last.crc32c,
    )
    assert content[3] not in merged.entries
    store.groups[part.number :] = [merged]
    return (await examine(node.log, node.directory)).from_offset


async def test_a_node_that_appends_meanwhile_wins(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, other = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await _written(node, Random(1), 2)
    del store.groups[2:]
    log = node.log
    append = log.append

    async def overtaken(group: Group, *, after: Position) -> None:
        if other.leads is None:
            await other.start()
            await other.lead()
        await append(group, after=after)

    monkeypatch.setattr(log, "append", overtaken)
    with pytest.raises(FencedError):
        await put_back(log, node.directory)
    assert other.commit is not None
    assert store.end == other.commit.end
    await other.append()
    await other.stop()
    assert (await examine(log, node.directory)).appended > 0


async def test_nodes_stay_stopped_while_another_has_lost_records(store: MemoryStore) -> None:
    log = MemorySharedLog(store)
    assert await log.lease() is None
    near = LostMark(node_id=1, from_offset=4, end_offset=7)
    far = LostMark(node_id=2, from_offset=4, end_offset=9)
    for mark, kept in ((near, near), (far, far), (near, far)):
        await set_mark(log, mark)
        with pytest.raises(Exception, match=kept.text):
            check_not_stopped(await log.lease())
    await set_mark(log, None)
    check_not_stopped(await log.lease())


async def test_a_folder_that_lacks_nothing_lifts_no_mark_of_another(
    tmp_path: Path, store: MemoryStore
) -> None:
    node = _node(tmp_path, store, 1)
    await _written(node, Random(1), 1)
    error = LostRecordsError("lost", from_offset=0, end_offset=1)
    await stop_all(node.log, 2, error)
    for act in (
        put_back(node.log, node.directory),
        give_up(node.log, node.directory, str(tmp_path / "copy")),
    ):
        assert (await act)[1] is False
        with pytest.raises(LostRecordsError, match="node 2 has records 0 to 0"):
            check_not_stopped(await node.log.lease())
    await node.log.unregister(2)
    assert (await put_back(node.log, node.directory))[1]
    check_not_stopped(await node.log.lease())


async def test_a_folder_of_another_shared_log_is_refused(
    tmp_path: Path, store: MemoryStore
) -> None:
    node = _node(tmp_path, store, 1)
    await _written(node, Random(1), 1)
    store.identity = Identity(cluster_id="other", log_id="2")
    for act in (examine(node.log, node.directory), put_back(node.log, node.directory)):
        with pytest.raises(RequestError, match="not of other, shared log 2; name another"):
            await act


async def test_what_is_trimmed_cannot_be_compared(tmp_path: Path, store: MemoryStore) -> None:
    node, other = _node(tmp_path, store, 1), _node(tmp_path, MemoryStore(), 2)
    await _written(node, Random(5), 3)
    await _written(other, Random(6), 3)
    await node.log.trim(store.end.number - 2)
    with pytest.raises(UnknownHistoryError, match="diverge before batch group"):
        await examine(node.log, other.directory)


async def test_a_store_that_cannot_be_reached_changes_nothing(
    tmp_path: Path, store: MemoryStore
) -> None:
    node = _node(tmp_path, store, 1)
    await _written(node, Random(1), 2)
    before = node.files()
    log = node.log
    assert isinstance(log, MemorySharedLog)
    log.is_cut = True
    with pytest.raises(UnavailableError):
        await give_up(log, node.directory, str(tmp_path / "copy"))
    assert node.files() == before
    assert not (tmp_path / "copy").exists()
