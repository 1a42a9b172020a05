"""Every combination of the decision table, tested on a real directory."""

import itertools
from collections.abc import Callable
from itertools import takewhile, zip_longest
from pathlib import Path

import msgspec
import pytest

from metadata_log.care.shared_upload import groups_of
from metadata_log.files.file_publish import SoleOwner
from metadata_log.files.fs import OsFs
from metadata_log.files.names import COMMIT_MARK, segment_name
from metadata_log.format.commit_mark import CommitMark, read_mark
from metadata_log.reader.committed import committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.recovery.recovery import recover
from metadata_log.recovery.recovery_rules import (
    REFUSALS,
    Action,
    Marked,
    Next,
    Rest,
    as_markdown,
    decide,
    rule_for,
)
from metadata_log.shared.shared_log import EMPTY
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError
from tests.metadata_log.conftest import StepClock, topics
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import Node

COMBINATIONS = list(itertools.product(Marked, Next, Rest))
# Combinations that can be made; a segment that is not there has no rest, for one.
REAL = [
    (marked, next_is, rest)
    for marked, next_is, rest in COMBINATIONS
    if marked is Marked.LONG_ENOUGH or rest is Rest.NOTHING
]


def test_each_combination_has_exactly_one_rule() -> None:
    assert [rule_for(*combination).action for combination in COMBINATIONS]


def test_table_is_in_the_document_for_people() -> None:
    document = Path(__file__).parents[2] / "docs/reliability.md"
    assert as_markdown() in document.read_text()


class Case:
    """A log of two epochs with the mark set back into the first one, and further damage."""

    def __init__(self, directory: Path, mark: CommitMark) -> None:
        self.directory = directory
        self.mark = mark
        self.newest_mark = read_mark(OsFs(), directory)
        self.marked = directory / segment_name(0)
        self.next = directory / segment_name(17)

    def set_mark(self, mark: CommitMark) -> None:
        path = self.directory / COMMIT_MARK
        path.write_bytes(mark.encode().ljust(512, b"\0") * 2)

    def spoil(self, marked: Marked, next_is: Next, rest: Rest) -> None:
        if next_is is Next.NONE:
            self.next.unlink()
        elif next_is is Next.UNREADABLE:
            flip(self.next, 40)
        elif next_is is Next.LATER:
            cut(self.marked, self.mark.position)
        if rest is not Rest.NOTHING:
            self._spoil_rest(next_is, rest)
        if marked is Marked.NO_MARK:
            (self.directory / COMMIT_MARK).write_bytes(bytes(1024))
        elif marked is Marked.MISSING:
            self.marked.unlink()
        elif marked is Marked.SHORT:
            cut(self.marked, self.mark.position - 40)

    def _spoil_rest(self, next_is: Next, rest: Rest) -> None:
        data = self.marked.read_bytes()
        if rest is Rest.TORN:
            self.marked.write_bytes(data + b"\x02\x90\x03torn")
        elif next_is is Next.NONE:
            flip(self.marked, self.mark.position + 30)
        else:
            # Behind where the next segment says that this one ends: a block of a lost writer's.
            last_block = data[self.mark.position :]
            self.marked.write_bytes(data + b"torn" + last_block[-16:] + last_block)


def flip(path: Path, byte: int, bit: int = 2) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)


def cut(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])


@pytest.fixture
async def case(tmp_path: Path) -> Case:
    directory = tmp_path / "log"
    create_log(directory, "test-cluster")
    log = await MetadataLog.open(directory, clock=StepClock())
    await log.append(topics(0, 4))
    mark = read_mark(OsFs(), directory)
    for n in range(1, 4):
        await log.append(topics(4 * n, 4))
    await log.close()
    log = await MetadataLog.open(directory, clock=StepClock())
    await log.close()
    made = Case(directory, mark)
    made.set_mark(mark)
    return made


def tree(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != ".lock"}


MESSAGES = {
    Action.REFUSE: "neither slot holds a whole commit mark",
    Action.SHORT_COPY: "short copy",
    Action.DAMAGE: r"\.avro byte \d+: ",
}
ENDS: dict[Action, Callable[[Rest], int]] = {
    Action.KEEP: lambda _: 17,
    Action.CUT: lambda _: 17,
    Action.GO_ON: lambda _: 18,
    Action.CUT_AND_GO_ON: lambda _: 18,
}


@pytest.mark.parametrize(("marked", "next_is", "rest"), REAL)
def test_recovery_does_what_the_table_says(
    case: Case, marked: Marked, next_is: Next, rest: Rest
) -> None:
    case.spoil(marked, next_is, rest)
    action = decide(marked, next_is, rest)
    before = tree(case.directory)
    fs = OsFs()
    if action in REFUSALS:
        with pytest.raises(CorruptLogError, match=MESSAGES[action]):
            recover(fs, case.directory, read_mark(fs, case.directory), SoleOwner())
        assert tree(case.directory) == before
        return
    tail = recover(fs, case.directory, read_mark(fs, case.directory), SoleOwner())
    assert tail.end_offset == ENDS[action](rest)
    after = tree(case.directory)
    assert (after != before) == (action in (Action.CUT, Action.CUT_AND_GO_ON))
    assert recover(fs, case.directory, read_mark(fs, case.directory), SoleOwner()) == tail
    assert tree(case.directory) == after


@pytest.mark.parametrize(("marked", "next_is", "rest"), REAL)
async def test_node_does_what_its_column_says(
    case: Case, marked: Marked, next_is: Next, rest: Rest, caplog: pytest.LogCaptureFixture
) -> None:
    case.set_mark(case.newest_mark)
    store, whole = shared(case.directory), segments(case.directory)
    ends = [batch.end_offset for batch in LogReader.open(case.directory).batches()]
    case.set_mark(case.mark)
    case.spoil(marked, next_is, rest)
    intact = intact_end(whole, segments(case.directory), ends)
    node = Node(case.directory, MemorySharedLog(store), 1)
    await node.start()
    assert node.copy is not None
    assert node.copy.tail.end_offset == intact
    action = rule_for(marked, next_is, rest).on_node
    assert action not in REFUSALS
    if marked is not Marked.NO_MARK:  # everything is read then, and may be intact
        assert ("is fetched from the shared log" in caplog.text) == (action is Action.CUT_BACK)
    await node.follow()
    assert segments(case.directory) == whole
    await node.stop()


async def test_node_without_any_segment_fetches_them_and_another_log_names_the_first(
    case: Case,
) -> None:
    case.set_mark(case.newest_mark)
    store, whole = shared(case.directory), segments(case.directory)
    for path in (case.marked, case.next):
        path.unlink()
    with pytest.raises(CorruptLogError, match=rf"{case.next.name} byte 0: .* which is missing"):
        await MetadataLog.open(case.directory)
    node = Node(case.directory, MemorySharedLog(store), 1)
    await node.start()
    await node.follow()
    assert segments(case.directory) == whole
    await node.stop()


def shared(directory: Path) -> MemoryStore:
    """Return a store with all records of a log."""
    store, at = MemoryStore(), EMPTY
    with LogReader.open(directory) as reader:
        for segment in committed_segments(OsFs(), reader):
            for group in groups_of(segment, at):
                store.put(group, at)
                at = group.end
    return store


def segments(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.glob("*.avro"))}


def intact_end(whole: dict[str, bytes], found: dict[str, bytes], ends: list[int]) -> int:
    """Return the end of the last block before the first byte that differs, without the rules."""
    intact = 0
    for (name, content), following in zip_longest(whole.items(), [*whole][1:]):
        there = found.get(name, b"")
        pairs = zip(content, there, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        blocks = content[:same].count(content[-16:]) - 1  # each ends with the header's sync marker
        first, limit = int(Path(name).stem), int(Path(following).stem) if following else ends[-1]
        intact = max([intact, *[end for end in ends if first < end <= limit][: max(blocks, 0)]])
        if same < len(content):
            break
    return intact


@pytest.mark.parametrize("rest", Rest)
def test_unreadable_next_segment_is_what_the_error_names(case: Case, rest: Rest) -> None:
    case.spoil(Marked.LONG_ENOUGH, Next.UNREADABLE, rest)
    with pytest.raises(CorruptLogError, match=rf"{case.next.name} byte 0: the header is damaged;"):
        recover(OsFs(), case.directory, case.mark, SoleOwner())


def test_damage_that_only_the_chain_notices_is_never_cut(case: Case) -> None:
    case.next.unlink()
    data = case.marked.read_bytes()
    sync_marker = data[-16:]
    second = data.index(sync_marker, case.mark.position) + 16
    # An unused bit of the frame's header: zstandard does not look at it.
    frame = data.index(b"\x28\xb5\x2f\xfd", second)
    flip(case.marked, frame + 4, bit=4)
    third = data.index(sync_marker, second) + 16
    cut(case.marked, data.index(sync_marker, third) + 16)
    with pytest.raises(CorruptLogError, match=f"byte {second}: the block has CRC"):
        recover(OsFs(), case.directory, case.mark, SoleOwner())
    with pytest.raises(CorruptLogError, match=f"byte {second}: the block has CRC"):
        LogReader.open(case.directory)


@pytest.mark.parametrize("place", ["count", "content", "sync marker"])
def test_damage_below_what_a_later_block_proves_is_never_cut(case: Case, place: str) -> None:
    case.next.unlink()
    data = case.marked.read_bytes()
    start = case.mark.position
    end = data.index(data[-16:], start) + 16
    flip(case.marked, {"count": start, "content": start + 20, "sync marker": end - 1}[place])
    with pytest.raises(CorruptLogError, match=f"byte {case.mark.position}: "):
        recover(OsFs(), case.directory, case.mark, SoleOwner())


async def test_what_a_rule_keeps_is_served_again(case: Case) -> None:
    with LogReader.open(case.directory) as reader:
        assert reader.end_offset == 17
    log = await MetadataLog.open(case.directory, clock=StepClock())
    await log.close()
    with LogReader.open(case.directory) as reader:
        assert [b.base_offset for b in reader.batches()] == [0, 1, 5, 9, 13, 17, 18]


async def test_mark_without_its_newest_time_costs_a_read_of_the_segment(case: Case) -> None:
    fs = OsFs()
    newest = recover(fs, case.directory, case.mark, SoleOwner()).max_timestamp
    assert case.mark.max_timestamp
    old_mark = msgspec.structs.replace(case.mark, max_timestamp=0)
    assert recover(fs, case.directory, old_mark, SoleOwner()).max_timestamp == newest
