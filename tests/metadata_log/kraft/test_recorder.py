"""A recorder keeps a mirror up to date, whatever happens to the source."""

import shutil
from pathlib import Path
from random import Random

import pytest

from metadata_log.care.backup import back_up
from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import OsFs
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import Replaced, import_directory
from metadata_log.kraft.recorder import Recorder
from metadata_log.kraft.segment_export import export_segments
from metadata_log.kraft_format.names import LEADER_EPOCHS
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import open_store
from metadata_log.writer import mirror_writer
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError, UnavailableError
from tests.metadata_log.kraft.logs import partition_change, topic
from tests.metadata_log.kraft.node import Node, without_runs
from tests.metadata_log.mirrors import rows_of
from tests.real_logs import DataSet, each_covering_data_set
from tests.samples import cases, sampled


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node with offsets 0 to 30 in one epoch, and a checkpoint at 11."""
    node = Node(tmp_path / "node")
    for n in range(10):
        node.append(partition_change(n))
    node.make_checkpoint()
    for n in range(20):
        node.append(partition_change(n))
    return node


@pytest.fixture
def log(tmp_path: Path, node: Node) -> Path:
    """The mirror of that node."""
    return imported(node, tmp_path / "log")


def imported(node: Node, log: Path, *, collapse_noops: bool = False) -> Path:
    import_directory(open_directory(node.directory), log, collapse_noops=collapse_noops)
    return log


def step(node: Node, log: Path, *, collapse_noops: bool = False) -> Recorder:
    with Recorder(node.directory, log, collapse_noops=collapse_noops) as recorder:
        recorder.step()
    return recorder


def read(log: Path) -> list[Envelope]:
    assert inspect_log(OsFs(), log).damage == []
    with LogReader.open(log) as reader:
        return rows_of(reader)


def test_second_import_appends_what_is_new(node: Node, log: Path) -> None:
    node.append(topic(), partition_change(7))
    recorder = step(node, log)
    assert (recorder.records, recorder.end_offset, recorder.confirmed_end) == (2, 33, 11)
    assert read(log) == node.rows
    assert step(node, log).records == 0


def test_new_checkpoint_confirms_what_it_covers(node: Node, log: Path) -> None:
    node.make_checkpoint(20)
    assert step(node, log).confirmed_end == 20


def test_checkpoint_beyond_the_mirror_confirms_nothing_yet(node: Node, log: Path) -> None:
    files = node.partition / f"{99:020d}-{1:010d}.checkpoint"
    shutil.copyfile(next(node.partition.glob("*.checkpoint")), files)
    assert step(node, log).confirmed_end == 11


def test_replaced_tail_is_replaced(node: Node, log: Path) -> None:
    node.truncate_to(15)
    node.elect()
    node.append(topic())
    recorder = step(node, log)
    assert recorder.replaced == [Replaced(first_offset=15, last_offset=30, leader_epoch=1)]
    assert read(log) == node.rows


def test_tail_that_was_replaced_by_a_longer_one_is_replaced(node: Node, log: Path) -> None:
    node.truncate_to(11)
    node.elect(4)
    for n in range(40):
        node.append(partition_change(n))
    assert step(node, log).replaced[0].first_offset == 11
    assert read(log) == node.rows


def test_truncation_while_recording_is_noticed(node: Node, log: Path) -> None:
    with Recorder(node.directory, log, collapse_noops=False) as recorder:
        recorder.step()
        node.truncate_to(25)
        node.elect()
        with pytest.raises(UnavailableError):
            recorder.step()
        recorder.step()
        assert recorder.replaced[0].first_offset == 25
    assert read(log) == node.rows


def test_source_that_is_behind_is_waited_for(node: Node, log: Path) -> None:
    whole = node.rows
    node.truncate_to(20)
    with Recorder(node.directory, log, collapse_noops=False) as recorder:
        recorder.step()
        assert (recorder.source_end, recorder.end_offset) == (20, 31)
        for each in whole[20:]:
            node.append(each.payload)
        node.append(topic())
        recorder.step()
        assert (recorder.source_end, recorder.end_offset) == (None, 32)
    assert recorder.replaced == []
    assert read(log) == node.rows


def test_nothing_below_the_confirmed_end_is_ever_replaced(node: Node, log: Path) -> None:
    before = read(log)
    node.committed_end = 0
    node.truncate_to(5)
    node.elect()
    for n in range(40):
        node.append(partition_change(n))
    with pytest.raises(
        RequestError,
        match=r"at offset 10 it has leader epoch 2, the mirror has epoch 1, and offsets below 11 "
        "are committed",
    ):
        step(node, log)
    assert read(log) == before


def test_source_that_was_cleaned_past_the_mirror_is_told_with_what_is_missing(
    node: Node, log: Path
) -> None:
    for n in range(10):
        node.append(partition_change(n))
    node.roll()
    node.make_checkpoint()
    node.clean()
    with pytest.raises(RequestError, match="Kafka removed offsets 31 to 40 before they were read"):
        step(node, log)


def test_tail_that_was_replaced_and_then_cleaned_is_told(node: Node, log: Path) -> None:
    node.truncate_to(15)
    node.elect()
    for n in range(5):
        node.append(partition_change(n))
    node.roll()
    node.make_checkpoint()
    node.clean()
    for n in range(50):
        node.append(partition_change(n))
    with pytest.raises(RequestError, match="Kafka removed offsets 11 to 20 before they were read"):
        step(node, log)


def test_cleaning_behind_the_mirror_changes_nothing(node: Node, log: Path) -> None:
    node.roll()
    node.append(topic())
    node.make_checkpoint(31)
    with Recorder(node.directory, log, collapse_noops=False) as recorder:
        recorder.step()
        node.clean()
        node.append(topic())
        recorder.step()
        assert recorder.confirmed_end == 31
    step(node, log)
    assert read(log) == node.rows


def test_source_that_starts_where_the_mirror_ends_continues_it(node: Node, log: Path) -> None:
    node.roll()
    node.make_checkpoint()
    node.clean()
    node.append(topic())
    assert step(node, log).records == 1
    assert read(log) == node.rows


def test_source_of_another_cluster_is_refused(node: Node, log: Path, tmp_path: Path) -> None:
    other = Node(tmp_path / "other", cluster_id="another")
    with pytest.raises(RequestError, match="is of cluster 'another'"):
        step(other, log)


def test_cluster_set_up_anew_with_the_same_id_is_refused(
    node: Node, log: Path, tmp_path: Path
) -> None:
    anew = Node(tmp_path / "anew")
    for n in range(40):
        anew.append(topic(f"topic-{n}"))
    with pytest.raises(RequestError, match="set up anew with the same id"):
        step(anew, log)


def test_shorter_cluster_set_up_anew_is_not_taken_for_one_that_is_behind(
    node: Node, log: Path, tmp_path: Path
) -> None:
    anew = Node(tmp_path / "anew")
    for n in range(5):
        anew.append(topic(f"topic-{n}"))
    with pytest.raises(RequestError, match="set up anew with the same id"):
        step(anew, log)


def test_shorter_log_of_another_epoch_is_not_taken_for_one_that_is_behind(
    node: Node, log: Path
) -> None:
    node.committed_end = 0
    node.truncate_to(5)
    node.elect()
    with pytest.raises(RequestError, match=r"at offset 5 it has leader epoch 2, .* has epoch 1"):
        step(node, log)


def test_source_that_ends_in_the_confirmed_part_is_behind(node: Node, log: Path) -> None:
    node.committed_end = 0
    node.truncate_to(5)
    assert step(node, log).source_end == 5


def test_backup_is_not_continued(node: Node, log: Path, tmp_path: Path) -> None:
    with LogReader.open(log) as reader:
        back_up(OsFs(), reader, open_store(str(tmp_path / "copy")))
    node.append(topic())
    with pytest.raises(RequestError, match="is a backup"):
        step(node, tmp_path / "copy")


def test_incomplete_batch_is_read_when_it_is_whole(node: Node, log: Path) -> None:
    node.append(topic())
    path = max(node.partition.glob("*.log"))
    data = path.read_bytes()
    path.write_bytes(data[:-10])
    with Recorder(node.directory, log, collapse_noops=False) as recorder:
        recorder.step()
        assert (recorder.records, recorder.trailing_bytes > 0) == (0, True)
        path.write_bytes(data)
        recorder.step()
        assert (recorder.records, recorder.trailing_bytes) == (1, 0)
    assert read(log) == node.rows


class Clock:
    """A clock that only advances when a test sets it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def gathering(node: Node, log: Path, clock: Clock) -> Recorder:
    return Recorder(node.directory, log, collapse_noops=False, gather_ms=10_000, clock=clock)


def blocks(log: Path) -> list[tuple[int, int]]:
    with LogReader.open(log) as reader:
        found = reader.placed_blocks(reader.start_offset)
        return [(block.base_offset, block.end_offset) for _, block in found]


def test_batches_are_gathered_for_ten_seconds_and_written_as_one_block(
    node: Node, log: Path
) -> None:
    clock = Clock()
    before = blocks(log)
    with gathering(node, log, clock) as recorder:
        node.append(topic("first"))
        recorder.step()  # written at once
        for n in range(5):
            clock.now += 1
            node.append(partition_change(n))
            recorder.step()
        node.make_checkpoint()
        clock.now += 5.9
        recorder.step()
        assert (recorder.records, recorder.end_offset, recorder.confirmed_end) == (1, 32, 11)
        assert blocks(log) == [*before, (31, 32)]
        clock.now += 0.2
        recorder.step()
        assert (recorder.records, recorder.end_offset, recorder.confirmed_end) == (6, 37, 37)
        assert blocks(log) == [*before, (31, 32), (32, 37)]
    assert read(log) == node.rows


def test_gathered_batches_are_written_when_the_recorder_is_stopped(node: Node, log: Path) -> None:
    with gathering(node, log, Clock()) as recorder:
        recorder.step()
        node.append(topic("late"))
        recorder.step()
        assert recorder.end_offset == 31
        recorder.write_gathered()
        assert (recorder.end_offset, recorder.records) == (32, 1)
        node.append(topic("later"))
        recorder.step()
    assert read(log) == node.rows


def test_gathered_batches_are_written_when_the_source_is_away(node: Node, log: Path) -> None:
    with gathering(node, log, Clock()) as recorder:
        recorder.step()
        node.append(topic("gathered"))
        recorder.step()
        away = node.directory.rename(node.directory.with_name("away"))
        assert read(log) == node.rows[:-1]
        with pytest.raises((RequestError, UnavailableError)):
            recorder.step()
        assert read(log) == node.rows
        away.rename(node.directory)
        node.append(topic("later"))
        recorder.step()
    assert read(log) == node.rows


def test_recorder_that_dies_while_it_gathers_reads_again(
    node: Node, log: Path, tmp_path: Path
) -> None:
    with gathering(node, log, Clock()) as recorder:
        recorder.step()
        node.append(topic("late"))
        recorder.step()
        shutil.copytree(log, tmp_path / "died")
    step(node, tmp_path / "died")
    assert read(tmp_path / "died") == read(log) == node.rows


def test_batches_that_kafka_replaces_while_they_are_gathered_leave_nothing(
    node: Node, log: Path
) -> None:
    clock = Clock()
    with gathering(node, log, clock) as recorder:
        recorder.step()
        node.append(topic("kept"))
        node.append(topic("replaced"))
        recorder.step()
        node.truncate_to(32)
        node.elect()
        with pytest.raises(UnavailableError):
            recorder.step()
        recorder.step()
        assert recorder.replaced == [Replaced(first_offset=32, last_offset=32, leader_epoch=1)]
    assert read(log) == node.rows


def test_a_block_holds_batches_of_one_epoch_and_of_one_segment_of_the_source(
    node: Node, log: Path
) -> None:
    clock = Clock()
    before = blocks(log)
    with gathering(node, log, clock) as recorder:
        recorder.step()
        for act in (node.elect, node.roll, node.elect):
            act()
            node.append(topic())
            node.append(topic())
            recorder.step()
        clock.now += 11
        recorder.step()
    assert blocks(log) == [*before, (31, 34), (34, 36), (36, 39)]
    with LogReader.open(log) as reader:
        assert [reader.header(path).base_offset for path in reader.segment_paths] == [0, 34]
    assert read(log) == node.rows


def test_damaged_source_stops_the_recorder_before_it(node: Node, log: Path) -> None:
    node.append(topic("good"))
    node.append(topic("bad"))
    node.append(topic("after"))
    path = max(node.partition.glob("*.log"))
    data = bytearray(path.read_bytes())
    data[data.rindex(b"bad")] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptLogError, match="CRC"):
        step(node, log)
    assert read(log) == node.rows[:-2]


@sampled
@pytest.mark.parametrize("collapse", [False, True], ids=["kept", "collapsed"])
@pytest.mark.parametrize("seed", range(cases(15, 5)))
def test_mirror_equals_the_history_of_the_node_whatever_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, collapse: bool
) -> None:
    random = Random(seed)
    if seed % 2:
        # As for a large last segment: each recorder begins one of its own.
        monkeypatch.setattr(mirror_writer, "_CONTINUED_BYTES_MAX", 0)
    node = Node(tmp_path / "node")
    log = imported(node, tmp_path / "log", collapse_noops=collapse)
    confirmed = behind = 0
    clock = Clock()
    for episode in range(cases(25, 15)):
        with Recorder(
            node.directory, log, collapse_noops=collapse, gather_ms=10_000, clock=clock
        ) as recorder:
            if episode % 3 == 2:
                before = recorder.end_offset
                with node.without_tail(random) as end:
                    recorder.step()
                    assert (recorder.source_end, recorder.end_offset) == (end, before)
                behind += end is not None
            for _ in range(random.randint(1, 4)):
                clock.now += random.randint(0, 9)
                for _ in range(random.randint(0, 6)):
                    node.live(random, may_clean=False)
                for _ in range(3):
                    try:
                        recorder.step()
                        break
                    except UnavailableError:
                        continue
                if random.random() < 0.5:
                    recorder.write_gathered()
                    node.clean()
            recorder.write_gathered()
            assert recorder.confirmed_end >= confirmed
            confirmed = recorder.confirmed_end
        assert recorder.source_end is None
        found = read(log)
        if collapse:
            assert without_runs(found) == without_runs(node.rows)
        else:
            assert found == node.rows
            if episode % 6 == 0:
                check_export(log, node, tmp_path / "out")
    assert behind


def check_export(log: Path, node: Node, out: Path) -> None:
    """Check that an export contains the files of the node, byte for byte."""
    with LogReader.open(log) as reader:
        export_segments(reader, out, reader.end_offset, progress=lambda _: None)
    found = {path.name: path.read_bytes() for path in out.glob("*/*.log")}
    files = {path.name: path.read_bytes() for path in node.partition.glob("*.log")}
    first = min(files)
    if not files[max(files)]:
        del files[max(files)]  # rolled, and nothing written since
    assert {name: data for name, data in found.items() if name >= first} == files
    shutil.rmtree(out)


@sampled
@each_covering_data_set
def test_real_log_that_grew_between_imports_equals_a_single_import(
    data_set: DataSet, tmp_path: Path
) -> None:
    whole = data_set.materialise(tmp_path / "whole")
    last = data_set.segments[-1]
    ends = [
        each.position.byte + each.header.size
        for each in open_directory(whole).headers(int(last.name[:20]))
    ]
    random = Random(str(data_set))
    cuts = sorted(random.sample(ends, min(len(ends), cases(8, 5))))
    cuts = sorted({*cuts, *[cut - random.randint(1, 60) for cut in cuts[1:3]]})
    grown = data_set.materialise(tmp_path / "grown", sizes={last.name: cuts[0]})
    # Written while the log grows; here it is always that of the end.
    next(grown.glob(f"*/{LEADER_EPOCHS}")).unlink(missing_ok=True)
    log = tmp_path / "log"
    import_directory(open_directory(grown), log, collapse_noops=False)
    path = next(grown.glob(f"*/{last.name}"))
    for size in [*cuts[1:], last.size]:
        path.write_bytes(last.read()[:size])
        with Recorder(grown, log, collapse_noops=False) as recorder:
            recorder.step()
    once = tmp_path / "once"
    import_directory(open_directory(whole), once, collapse_noops=False)
    assert read(log) == read(once)
