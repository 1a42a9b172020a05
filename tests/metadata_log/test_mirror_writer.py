"""A mirror that is appended to at its end or cut at a batch, with all layouts of segments."""

import os
from pathlib import Path
from random import Random

import pytest

from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import Fs, OsFs
from metadata_log.format.commit_mark import CommitMark
from metadata_log.reader.cursor import LogCursor
from metadata_log.reader.log_reader import LogReader
from metadata_log.recovery import committed_end
from metadata_log.writer.claims import claim_epoch
from metadata_log.writer.creation import create_log
from metadata_log.writer.mirror_writer import MirrorWriter
from records.envelope import Envelope
from records.errors import FencedError, RequestError, UnavailableError
from tests.metadata_log.mirrors import level_row, mirror_of_blocks, new_mirror, rows_of, run_row
from tests.samples import cases, sampled


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A mirror of ten batches, confirmed below 4."""
    return new_mirror(tmp_path / "log", [(level_row(n), n + 1) for n in range(10)], 4)


def is_whole(log: Path) -> bool:
    found = inspect_log(OsFs(), log)
    assert found.damage == []
    return not found.notes


def test_appended_batches_follow_those_of_the_import(log: Path) -> None:
    with MirrorWriter(log) as writer:
        assert (writer.end_offset, writer.confirmed_end) == (10, 4)
        for offset in range(10, 20):
            writer.append([level_row(offset, epoch=5)], offset + 1)
        writer.commit(confirmed_end=12)
    with LogReader.open(log) as reader:
        assert (reader.end_offset, reader.confirmed_end) == (20, 12)
        assert rows_of(reader) == [level_row(n, epoch=3 if n < 10 else 5) for n in range(20)]
    assert is_whole(log)
    assert len(list(log.glob("*.avro"))) == 1


def test_confirmed_end_is_never_lowered_and_never_past_the_end(log: Path) -> None:
    with MirrorWriter(log) as writer:
        writer.commit(confirmed_end=2)
        assert writer.confirmed_end == 4
        writer.commit(confirmed_end=99)
        assert writer.confirmed_end == 10


def test_each_new_writer_goes_on_in_the_same_segment(log: Path) -> None:
    for offset in range(10, 30):
        with MirrorWriter(log) as writer:
            writer.append([level_row(offset)], offset + 1)
    assert len(list(log.glob("*.avro"))) == 1
    with LogReader.open(log) as reader:
        assert rows_of(reader) == [level_row(n) for n in range(30)]
    assert is_whole(log)


def test_full_segment_is_sealed_and_followed_by_another(log: Path) -> None:
    size = next(log.glob("*.avro")).stat().st_size
    for offset in range(10, 40):
        with MirrorWriter(log, segment_size_bytes_max=size + 300) as writer:
            writer.append([level_row(offset)], offset + 1)
    assert len(list(log.glob("*.avro"))) > 2
    with LogReader.open(log) as reader:
        assert rows_of(reader) == [level_row(n) for n in range(40)]
    assert is_whole(log)


def test_segment_that_is_full_to_the_byte_is_followed_by_another(tmp_path: Path) -> None:
    def appended(directory: Path, size_bytes_max: int, count: int) -> list[int]:
        new_mirror(directory, [(level_row(0), 1)])
        with MirrorWriter(directory, segment_size_bytes_max=size_bytes_max) as writer:
            for offset in range(1, count):
                writer.append([level_row(offset)], offset + 1)
                writer.commit()
        assert is_whole(directory)
        with LogReader.open(directory) as reader:
            assert rows_of(reader) == [level_row(n) for n in range(count)]
        return [path.stat().st_size for path in sorted(directory.glob("*.avro"))]

    (full,) = appended(tmp_path / "of two", 1_000_000, 2)
    first, *others = appended(tmp_path / "of four", full, 4)
    assert first == full
    assert others


def test_a_writer_that_ends_or_fails_leaves_no_file_open(log: Path) -> None:
    def open_files() -> set[str]:
        held = [Path(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
        names = [os.readlink(path) for path in held if path.is_symlink()]
        return {name for name in names if name.startswith(str(log))}

    with MirrorWriter(log) as writer:
        writer.append([level_row(10)], 11)
        writer.cut(5, 5)
        assert len(open_files()) > 1
        writer.append([level_row(5)], 6)
    assert open_files() == set()
    with MirrorWriter(log) as writer:
        writer.append([level_row(6)], 7)
        claim_epoch(OsFs(), log, 0)
        with pytest.raises(FencedError):
            writer.commit()
    assert not writer.is_usable
    assert open_files() == set()


def test_batches_not_committed_are_there_after_closing_but_not_after_an_error(log: Path) -> None:
    with MirrorWriter(log) as writer:
        writer.append([level_row(10)], 11)
    with pytest.raises(AssertionError), MirrorWriter(log) as writer:
        writer.append([level_row(17)], 18)
    with LogReader.open(log) as reader:
        assert reader.end_offset == 11


@pytest.mark.parametrize("end", range(4, 11))
def test_cut_leaves_what_is_below_and_the_mirror_goes_on(log: Path, end: int) -> None:
    with MirrorWriter(log) as writer:
        writer.cut(end, end - 1)
        assert (writer.end_offset, writer.confirmed_end) == (end, 4)
        for offset in range(end, 14):
            writer.append([level_row(offset, epoch=7)], offset + 1)
        writer.commit()
    with LogReader.open(log) as reader:
        assert rows_of(reader) == [level_row(n, epoch=3 if n < end else 7) for n in range(14)]
    assert is_whole(log)


def test_cut_of_everything_leaves_an_empty_mirror(tmp_path: Path) -> None:
    log = new_mirror(tmp_path / "log", [(level_row(n), n + 1) for n in range(5)])
    with MirrorWriter(log) as writer:
        writer.cut(0, 0)
        assert writer.end_offset == 0
    with LogReader.open(log) as reader:
        assert rows_of(reader) == []
    assert is_whole(log)


def test_cut_inside_a_run_of_noops_shortens_it(tmp_path: Path) -> None:
    run = run_row(1, count=50, last_timestamp=500)
    log = new_mirror(tmp_path / "log", [(level_row(0), 1), (run, 51), (level_row(51), 52)], 20)
    with MirrorWriter(log) as writer:
        writer.cut(30, 299)
        writer.append([level_row(30, epoch=4)], 31)
    with LogReader.open(log) as reader:
        rows = rows_of(reader)
    assert rows[1:] == [run_row(1, count=29, last_timestamp=299), level_row(30, epoch=4)]
    assert is_whole(log)


def gathered(directory: Path, confirmed_end: int = 4) -> Path:
    """A mirror of offsets 0 to 29 in three blocks; 14 to 18 are a run of NoOps."""
    run = run_row(14, count=5, last_timestamp=18)
    middle = [level_row(10), level_row(11), *(level_row(12 + n) for n in range(2)), run]
    middle.append(level_row(19))
    log = new_mirror(directory, [])
    with MirrorWriter(log) as writer:
        writer.append([level_row(n) for n in range(10)], 10)
        writer.append(middle, 20)
        writer.append([level_row(n) for n in range(20, 30)], 30)
        writer.commit(confirmed_end)
    return log


@pytest.mark.parametrize("end", [4, 10, 11, 14, 16, 19, 20, 25, 30])
def test_cut_inside_a_block_keeps_its_batches_below(tmp_path: Path, end: int) -> None:
    log = gathered(tmp_path / "log")
    with LogReader.open(log) as reader:
        before = rows_of(reader)
    with MirrorWriter(log) as writer:
        writer.cut(end, end - 1)
        writer.append([level_row(end, epoch=7), level_row(end + 1, epoch=7)], end + 2)
    kept = [row for row in before if row.offset < end]
    if end == 16:
        kept[-1] = run_row(14, count=2, last_timestamp=15)
    with LogReader.open(log) as reader:
        assert rows_of(reader) == [*kept, level_row(end, epoch=7), level_row(end + 1, epoch=7)]
        assert reader.last_offset_at(12) == (12 if end > 12 else end + 1)
    assert is_whole(log)


def test_mirror_of_a_release_that_gathered_nothing_goes_on_in_a_segment_of_its_own(
    tmp_path: Path,
) -> None:
    rows = [level_row(n) for n in range(6)]
    log = mirror_of_blocks(tmp_path / "log", [[row] for row in rows[:2]], holds_batches=False)
    for first in (2, 4):
        with MirrorWriter(log) as writer:
            writer.append(rows[first : first + 2], first + 2)
    with LogReader.open(log) as reader:
        assert rows_of(reader) == rows
        headers = [reader.header(path) for path in reader.segment_paths]
    assert [(each.base_offset, each.holds_batches) for each in headers] == [(0, False), (2, True)]
    assert [each.continues_source for each in headers] == [False, True]
    assert is_whole(log)


@sampled
@pytest.mark.parametrize("seed", range(cases(12, 6)))
def test_any_order_of_appends_cuts_and_openings_gives_the_rows_of_a_list(
    tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    rows: list[Envelope] = []
    log, epoch = new_mirror(tmp_path / "log", []), 1
    size = next(log.glob("*.avro")).stat().st_size + 200
    for _ in range(40):
        with MirrorWriter(log, segment_size_bytes_max=size) as writer:
            for _ in range(random.randrange(4)):
                if random.random() < 0.3:
                    end = random.randint(writer.confirmed_end, len(rows))
                    writer.cut(end, end - 1)
                    rows, epoch = rows[:end], epoch + 1
                for _ in range(random.randrange(5)):
                    first = len(rows)
                    rows += [level_row(first + n, epoch) for n in range(random.choice((1, 2, 5)))]
                    writer.append(rows[first:], len(rows))
            writer.commit(random.randint(0, len(rows)) if random.random() < 0.1 else 0)
        with LogReader.open(log) as reader:
            assert rows_of(reader) == rows
        assert is_whole(log)


def test_reader_of_the_old_end_says_that_it_was_replaced(log: Path) -> None:
    with LogReader.open(log) as reader:
        with MirrorWriter(log) as writer:
            writer.cut(6, 5)
            for offset in range(6, 12):
                writer.append([level_row(offset, epoch=7)], offset + 1)
        with pytest.raises(UnavailableError, match="was replaced while it was read"):
            list(reader.batches())
    with LogReader.open(log) as reader:
        assert len(rows_of(reader)) == 12


@pytest.mark.parametrize("new_end", [12, 13, 25])
def test_reader_that_opened_in_the_middle_of_a_cut_says_that_it_was_replaced(
    log: Path, monkeypatch: pytest.MonkeyPatch, new_end: int
) -> None:
    readers = []
    remove = MirrorWriter._remove_segments_behind

    def open_and_remove(writer: MirrorWriter, base_offset: int) -> None:
        readers.append(LogReader.open(log))
        remove(writer, base_offset)

    monkeypatch.setattr(MirrorWriter, "_remove_segments_behind", open_and_remove)
    with MirrorWriter(log) as writer:
        for offset in range(10, 20):
            writer.append([level_row(offset)], offset + 1)
            writer.commit()
        writer.cut(12, 11)
        for offset in range(12, new_end):
            writer.append([level_row(offset, epoch=7)], offset + 1)
        writer.commit()
    (reader,) = readers
    with pytest.raises(UnavailableError, match="was replaced while it was read"):
        rows_of(reader)


def test_reader_whose_mark_is_cut_before_it_is_checked_takes_the_new_one(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = committed_end._check_mark
    cuts = iter([6])

    def cut_and_check(fs: Fs, directory: Path, cluster_id: str, mark: CommitMark) -> None:
        for end in cuts:
            with MirrorWriter(log) as writer:
                writer.cut(end, end - 1)
        check(fs, directory, cluster_id, mark)

    monkeypatch.setattr(committed_end, "_check_mark", cut_and_check)
    with LogReader.open(log) as reader:
        assert rows_of(reader) == [level_row(n) for n in range(6)]


@pytest.mark.parametrize("new_end", [7, 10, 15])
def test_follower_of_the_old_end_says_that_it_was_replaced(log: Path, new_end: int) -> None:
    cursor = LogCursor(log, 0)
    assert len(cursor.read()) == 10
    with MirrorWriter(log) as writer:
        writer.cut(6, 5)
        for offset in range(6, new_end):
            writer.append([level_row(offset, epoch=7)], offset + 1)
        writer.commit()
        with pytest.raises(RequestError, match="the unconfirmed end of a mirror was replaced"):
            cursor.read()


def test_follower_below_the_cut_goes_on(log: Path) -> None:
    cursor = LogCursor(log, 0)
    assert len(cursor.read(5)) == 5
    with MirrorWriter(log) as writer:
        writer.cut(6, 5)
        for offset in range(6, 12):
            writer.append([level_row(offset, epoch=7)], offset + 1)
    assert [batch.leader_epoch for batch in cursor.read()] == [3] + [7] * 6


def test_follower_reads_whole_blocks_from_any_batch_on(tmp_path: Path) -> None:
    log = gathered(tmp_path / "log")
    cursor = LogCursor(log, 12)
    assert [batch.base_offset for batch in cursor.read(1)] == [12, 13, 14, 19]
    with MirrorWriter(log) as writer:
        writer.append([level_row(30), level_row(31)], 32)
    assert [batch.base_offset for batch in cursor.read()] == list(range(20, 32))
    assert cursor.read() == []


def test_follower_is_told_of_a_cut_inside_the_last_block_it_read(tmp_path: Path) -> None:
    log = gathered(tmp_path / "log")
    cursor = LogCursor(log, 0)
    cursor.read()
    with MirrorWriter(log) as writer:
        writer.cut(25, 24)
        writer.append([level_row(n, epoch=7) for n in range(25, 40)], 40)
        with pytest.raises(RequestError, match="the unconfirmed end of a mirror was replaced"):
            cursor.read()


def test_second_writer_waits_its_turn(log: Path) -> None:
    with MirrorWriter(log), pytest.raises(UnavailableError, match="is being written by process"):
        MirrorWriter(log)


def test_own_log_takes_no_imported_records(tmp_path: Path) -> None:
    create_log(tmp_path / "own", "test-cluster")
    with pytest.raises(RequestError, match="is not a mirror, so"):
        MirrorWriter(tmp_path / "own")
