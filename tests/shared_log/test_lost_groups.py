"""Groups that a shared log has lost in the middle, and folders from which they are put back."""

import secrets
from pathlib import Path
from random import Random

import pytest

from api.nodes.repair import begin_behind, fill_gaps, missing
from metadata_log.care.lost_groups import batches_of, groups_in_place
from metadata_log.files.fs import OsFs
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.identity import Identity
from metadata_log.shared.shared_log import Group, MissingGroupError
from records.errors import RequestError, UnknownHistoryError
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import CLUSTER_ID, Node


@pytest.fixture
def store() -> MemoryStore:
    found = MemoryStore()
    found.identity = Identity(cluster_id=CLUSTER_ID, log_id="1")
    return found


@pytest.fixture
def random() -> Random:
    seed = secrets.randbelow(2**32)
    print(f"seed {seed}")
    return Random(seed)


def _node(tmp_path: Path, store: MemoryStore, number: int) -> Node:
    return Node(tmp_path / f"node-{number}", MemorySharedLog(store), number)


async def _written(node: Node, random: Random, turns: int) -> None:
    """Let a node lead and write, perhaps several times, and sometimes only claim."""
    for _ in range(turns):
        await node.start()
        await node.lead()
        for _ in range(random.randrange(5)):
            await node.append(random.randrange(1, 5))
        await node.stop()


def _lose(store: MemoryStore, random: Random) -> list[range]:
    """Lose groups in up to three places, but never the last one; return their numbers."""
    for _ in range(random.randrange(1, 4)):
        first = random.randrange(len(store.groups) - 1)
        count = random.choice((1, 1, 2, 5, len(store.groups)))
        store.lost |= set(range(first, min(first + count, len(store.groups) - 1)))
    numbers = sorted(store.lost)
    return [range(n, n + 1) for n in numbers]


async def _follows(node: Node) -> None:
    await node.start()
    await node.follow()
    await node.stop()


@pytest.mark.parametrize("case", range(30))
async def test_what_a_folder_has_is_put_back(
    tmp_path: Path, store: MemoryStore, random: Random, case: int
) -> None:
    writer, new = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await _written(writer, random, random.randrange(1, 6))
    groups = list(store.groups)
    lost = _lose(store, random)
    with pytest.raises(MissingGroupError, match="metalog nodes repair"):
        await _follows(_node(tmp_path, store, 3))

    gaps = await missing(writer.log, writer.directory)
    assert [n for gap in gaps for n in gap.numbers] == [n for each in lost for n in each]
    assert all(gap.in_folder for gap in gaps)
    named = [b.base_offset for gap in gaps for b in batches_of(OsFs(), writer.directory, gap)]
    records = [groups[n] for each in lost for n in each]
    assert len(named) == sum(_blocks(each) for each in records)
    for gap in gaps:
        assert gap.end_offset == groups[gap.numbers.stop - 1].end_offset
        assert gap.from_offset == gap.begin.end_offset
    await fill_gaps(writer.log, writer.directory, gaps)
    assert await missing(writer.log, writer.directory) == []
    epochs = [(group.number, group.epoch) for group in store.groups]
    assert epochs == sorted(epochs)
    await _follows(new)
    assert new.files() == writer.files()
    await _written(new, random, 1)
    await _follows(writer)
    assert new.files() == writer.files()


def _blocks(group: Group) -> int:
    return sum(entry.kind == 1 for entry in group.entries)


async def test_a_folder_that_lacks_them_says_so(tmp_path: Path, store: MemoryStore) -> None:
    writer, other = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await _written(writer, Random(1), 1)
    await _follows(other)
    behind = other.files()
    await _written(writer, Random(1), 2)
    number = len(store.groups) - 3
    store.lost.add(number)
    (gap,) = await missing(other.log, other.directory)
    assert not gap.in_folder
    assert gap.from_offset == store.groups[number - 1].end_offset
    with pytest.raises(RequestError, match=rf"lacks records of group {number} .*another node"):
        await fill_gaps(other.log, other.directory, [gap])
    assert store.lost == {number}
    assert other.files() == behind


async def test_the_shared_log_begins_behind_what_is_given_up(
    tmp_path: Path, store: MemoryStore
) -> None:
    writer = _node(tmp_path, store, 1)
    await _written(writer, Random(1), 3)
    store.lost |= {2, 3}
    gaps = await missing(writer.log, writer.directory)
    copy = tmp_path / "copy"
    await begin_behind(writer.log, writer.directory, gaps, str(copy))
    assert store.start == 4
    with LogReader.open(copy) as reader:
        assert list(reader.batches()) == writer.batches()
    await _written(writer, Random(2), 1)
    with pytest.raises(UnknownHistoryError, match="metalog restore"):
        await _follows(_node(tmp_path, store, 2))


@pytest.mark.parametrize("count", [1, 2, 4])
async def test_the_first_kept_groups_are_put_back(
    tmp_path: Path, store: MemoryStore, random: Random, count: int
) -> None:
    writer, behind = _node(tmp_path, store, 1), _node(tmp_path, store, 2)
    await writer.start()
    await writer.lead()
    await writer.append(2)
    end_offset = (await writer.append(3)).end_offset
    await _follows(behind)
    await writer.append(1)
    await writer.stop()
    await _written(writer, random, 6)
    start = next(group.number for group in store.groups if group.end_offset == end_offset)
    await writer.log.trim(start)
    store.lost |= set(range(start, start + count))
    with pytest.raises(MissingGroupError, match=f"group {start} of the shared log is missing"):
        await _follows(behind)
    gaps = await missing(writer.log, writer.directory)
    assert [(gap.numbers, gap.in_folder) for gap in gaps] == [(range(start, start + count), True)]
    await fill_gaps(writer.log, writer.directory, gaps)
    assert await missing(writer.log, writer.directory) == []
    await _follows(behind)
    assert behind.files() == writer.files()
    await _written(behind, random, 1)
    await _follows(writer)
    assert behind.files() == writer.files()


async def test_first_kept_groups_that_nothing_places_are_only_given_up(
    tmp_path: Path, store: MemoryStore
) -> None:
    writer = _node(tmp_path, store, 1)
    await _written(writer, Random(1), 4)
    store.lost.add(2)
    await writer.log.trim(3)
    store.lost.add(3)
    (gap,) = await missing(writer.log, writer.directory)
    assert not gap.is_placed
    with pytest.raises(RequestError, match=r"group 3 .*cannot be put back.*`--give-up COPY`"):
        await fill_gaps(writer.log, writer.directory, [gap])
    await begin_behind(writer.log, writer.directory, [gap], str(tmp_path / "copy"))
    assert await missing(writer.log, writer.directory) == []
    await _written(writer, Random(2), 1)


async def test_each_lost_number_gets_a_group(tmp_path: Path, store: MemoryStore) -> None:
    writer = _node(tmp_path, store, 1)
    await writer.start()
    await writer.lead()
    for _ in range(5):
        await writer.append(1)
    await writer.stop()
    store.lost |= set(range(2, 6))
    (gap,) = await missing(writer.log, writer.directory)
    made = groups_in_place(OsFs(), writer.directory, gap)
    assert [group.entries for group in made] == [group.entries for group in store.groups[2:6]]
