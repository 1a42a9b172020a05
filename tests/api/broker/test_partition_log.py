"""The log of one replica on disk."""

import errno
import os
from pathlib import Path

import pytest

from api.broker.batch_places import EpochEnd, TimedOffset
from api.broker.batches import RawBatch, produced_batches, whole_batches
from api.broker.open_files import OpenFiles
from api.broker.partition_log import PartitionLog
from records.errors import CorruptLogError, RequestError
from tests.api.broker.records import batch, values

FILES = OpenFiles(4)


def append(log: PartitionLog, *some: bytes, epoch: int = 0, timestamp: int = 1_000) -> None:
    (raw,) = produced_batches(batch(*some, timestamp=timestamp))
    log.append([raw.stamped(log.end_offset, epoch)])


def read(log: PartitionLog, offset: int = 0) -> list[bytes]:
    return values(log.read(offset, up_to=log.end_offset, size_bytes_max=1 << 20))


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_batches_are_read_back_from_any_offset_within_them(tmp_path: Path) -> None:
    log = PartitionLog.open(tmp_path, FILES)
    append(log, b"a", b"b")
    append(log, b"c")
    assert log.end_offset == 3
    assert read(log, 0) == [b"a", b"b", b"c"]
    assert read(log, 1) == [b"a", b"b", b"c"]
    assert read(log, 2) == [b"c"]
    assert log.read(3, up_to=3, size_bytes_max=100) == b""


def test_batches_that_go_past_the_bound_are_left_out(tmp_path: Path) -> None:
    log = PartitionLog.open(tmp_path, FILES)
    append(log, b"a", b"b")
    append(log, b"c")
    assert values(log.read(0, up_to=2, size_bytes_max=1 << 20)) == [b"a", b"b"]
    assert log.read(0, up_to=1, size_bytes_max=1 << 20) == b""


def test_one_batch_is_given_even_when_it_is_too_large(tmp_path: Path) -> None:
    log = PartitionLog.open(tmp_path, FILES)
    append(log, b"a" * 500)
    append(log, b"b")
    assert values(log.read(0, up_to=2, size_bytes_max=10)) == [b"a" * 500]


def test_log_goes_on_after_a_restart_over_several_segments(tmp_path: Path) -> None:
    log = PartitionLog.open(tmp_path, FILES, segment_size_bytes_max=200)
    for number in range(10):
        append(log, b"%d" % number, epoch=number // 4)
    log.close()
    assert len(files(tmp_path)) > 2
    log = PartitionLog.open(tmp_path, FILES, segment_size_bytes_max=200)
    append(log, b"10", epoch=3)
    assert read(log) == [b"%d" % number for number in range(11)]
    assert log.last_epoch == 3


def test_torn_end_is_cut(tmp_path: Path) -> None:
    log = PartitionLog.open(tmp_path, FILES)
    append(log, b"a")
    append(log, b"b")
    log.close()
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(path.read_bytes()[:-3])
    log = PartitionLog.open(tmp_path, FILES)
    assert read(log) == [b"a"]
    append(log, b"c")
    assert read(log) == [b"a", b"c"]


def test_damage_before_the_last_segment_is_refused(tmp_path: Path) -> None:
    log = PartitionLog.open(tmp_path, FILES, segment_size_bytes_max=100)
    for number in range(4):
        append(log, b"%d" % number)
    log.close()
    first = tmp_path / files(tmp_path)[0]
    first.write_bytes(first.read_bytes()[:-1] + b"x")
    with pytest.raises(CorruptLogError, match=rf"{first} byte \d+: the CRC is"):
        PartitionLog.open(tmp_path, FILES)


def test_files_that_are_no_segments_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.log").write_text("a note")
    log = PartitionLog.open(tmp_path, OpenFiles(4))
    append(log, b"a")
    log.close()
    assert read(PartitionLog.open(tmp_path, OpenFiles(4))) == [b"a"]
    assert (tmp_path / "notes.log").read_text() == "a note"


def test_truncation_removes_whole_batches_and_later_segments(tmp_path: Path) -> None:
    log = PartitionLog.open(tmp_path, FILES, segment_size_bytes_max=200)
    for number in range(8):
        append(log, b"%d" % number, b"x")
    log.truncate_to(5)
    assert log.end_offset == 4
    append(log, b"new")
    assert read(log) == [b"0", b"x", b"1", b"x", b"new"]
    log.close()
    assert read(PartitionLog.open(tmp_path, FILES)) == [b"0", b"x", b"1", b"x", b"new"]


def test_epochs_end_where_the_next_one_begins(tmp_path: Path) -> None:
    log = PartitionLog.open(tmp_path, FILES)
    for epoch in (1, 1, 3, 5):
        append(log, b"x", epoch=epoch)
    assert log.epoch_end(0) is None
    assert log.epoch_end(1) == log.epoch_end(2) == EpochEnd(1, 2)
    assert log.epoch_end(4) == EpochEnd(3, 3)
    assert log.epoch_end(9) == EpochEnd(5, 4)


def test_offsets_are_found_by_time(tmp_path: Path) -> None:
    log = PartitionLog.open(tmp_path, FILES)
    append(log, b"a", timestamp=1_000)
    append(log, b"b", timestamp=2_000)
    assert log.first_at(0, up_to=2) == TimedOffset(0, 1_000, 0)
    assert log.first_at(1_001, up_to=2) == TimedOffset(1, 2_000, 0)
    assert log.first_at(1_001, up_to=1) is None
    assert log.first_at(2_001, up_to=2) is None
    assert log.greatest_timestamp(up_to=2) == TimedOffset(1, 2_000, 0)
    assert log.greatest_timestamp(up_to=1) == TimedOffset(0, 1_000, 0)
    assert log.greatest_timestamp(up_to=0) is None


def test_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = PartitionLog.open(tmp_path, FILES, segment_size_bytes_max=200)
    append(log, b"a")
    before = (tmp_path / f"{0:020}.log").read_bytes()
    pwrite = os.pwrite
    left = 150

    def full(descriptor: int, content: bytes, position: int) -> int:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = pwrite(descriptor, bytes(content)[:left], position)
        left -= written
        return written

    monkeypatch.setattr(os, "pwrite", full)
    raws = [produced_batches(batch(value))[0] for value in (b"b", b"c", b"d")]
    with pytest.raises(OSError, match="No space"):
        log.append_stamped(raws, 0)
    assert log.end_offset == 1
    assert files(tmp_path) == [f"{0:020}.log"]
    assert (tmp_path / f"{0:020}.log").read_bytes() == before
    monkeypatch.undo()
    append(log, b"e")
    log.close()
    assert read(PartitionLog.open(tmp_path, FILES)) == [b"a", b"e"]


def test_bytes_that_a_failed_write_left_are_cut_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = PartitionLog.open(tmp_path, FILES)
    append(log, b"a")
    pwrite = os.pwrite
    calls = 0

    def failing(descriptor: int, content: bytes, position: int) -> int:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise OSError(errno.EIO, "Input/output error")
        return pwrite(descriptor, bytes(content)[:30], position)

    def refused(descriptor: int, length: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pwrite", failing)
    monkeypatch.setattr(os, "ftruncate", refused)
    with pytest.raises(OSError, match="Input/output"):
        append(log, b"a record that is longer than the next one")
    with pytest.raises(OSError, match="Input/output"):
        append(log, b"b")
    monkeypatch.undo()
    append(log, b"c")
    log.close()
    assert read(PartitionLog.open(tmp_path, FILES)) == [b"a", b"c"]


CHECKPOINT = "log-start-offset-checkpoint"


def of_segments(folder: Path, *, start: int = 0) -> PartitionLog:
    """Return a log of 8 batches of 2 records each, with 2 batches in a segment."""
    log = PartitionLog.open(folder, FILES, segment_size_bytes_max=200)
    for number in range(8):
        append(log, b"%d" % number, b"x", epoch=number, timestamp=number)
    log.delete_before(start)
    return log


def test_deletion_removes_segments_and_stays_after_a_restart(tmp_path: Path) -> None:
    log = of_segments(tmp_path, start=9)
    for _ in range(2):
        assert (log.start_offset, log.end_offset, log.first_epoch) == (9, 16, 4)
        assert read(log, 9) == [b"4", b"x", b"5", b"x", b"6", b"x", b"7", b"x"]
        assert log.first_at(0, up_to=16) == TimedOffset(9, 4, 4), "9 is the second of its batch"
        assert log.greatest_timestamp(up_to=10) == TimedOffset(9, 4, 4)
        assert files(tmp_path) == [f"{8:020}.log", f"{12:020}.log", CHECKPOINT]
        assert log.size_bytes == sum(path.stat().st_size for path in tmp_path.glob("*.log"))
        log.close()
        log = PartitionLog.open(tmp_path, FILES)


def test_log_without_records_goes_on_where_it_ended(tmp_path: Path) -> None:
    of_segments(tmp_path, start=16).close()
    log = PartitionLog.open(tmp_path, FILES)
    assert (log.start_offset, log.end_offset, log.last_epoch) == (16, 16, 7)
    assert files(tmp_path) == [f"{12:020}.log", CHECKPOINT]
    append(log, b"next")
    assert read(log, 16) == [b"next"]


def test_crash_before_segments_are_removed_brings_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    log = of_segments(tmp_path)
    with monkeypatch.context() as failing:
        failing.setattr(Path, "unlink", crash)
        with pytest.raises(OSError, match="gone"):
            log.delete_before(9)
    assert len(files(tmp_path)) == 5
    log = PartitionLog.open(tmp_path, FILES)
    assert (log.start_offset, read(log, 0)[:2]) == (9, [b"4", b"x"])
    log.delete_before(10)
    assert files(tmp_path) == [f"{8:020}.log", f"{12:020}.log", CHECKPOINT]


def test_failed_deletion_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log = of_segments(tmp_path)
    with monkeypatch.context() as failing:
        failing.setattr(os, "fdatasync", full)
        with pytest.raises(OSError, match="No space"):
            log.delete_before(9)
    assert log.start_offset == PartitionLog.open(tmp_path, FILES).start_offset == 0
    assert len(read(log)) == 16


def test_log_that_lost_its_end_starts_anew_where_records_were_deleted(tmp_path: Path) -> None:
    of_segments(tmp_path, start=9).close()
    (tmp_path / f"{12:020}.log").unlink()
    path = tmp_path / f"{8:020}.log"
    path.write_bytes(path.read_bytes()[:10])
    log = PartitionLog.open(tmp_path, FILES)
    assert (log.start_offset, log.end_offset, log.last_epoch) == (9, 9, None)
    append(log, b"from the leader")
    assert read(PartitionLog.open(tmp_path, FILES), 9) == [b"from the leader"]


def test_truncation_below_the_start_moves_it_back(tmp_path: Path) -> None:
    log = of_segments(tmp_path, start=15)
    log.truncate_to(13)
    assert (log.start_offset, log.end_offset) == (12, 12)
    append(log, b"new")
    log = PartitionLog.open(tmp_path, FILES)
    assert (log.start_offset, read(log, 12)) == (12, [b"new"])


@pytest.mark.parametrize("offset", [4, 40])
def test_restart_removes_everything_there_was(tmp_path: Path, offset: int) -> None:
    log = of_segments(tmp_path, start=9)
    log.restart_at(offset)
    assert (log.start_offset, log.end_offset, log.size_bytes) == (offset, offset, 0)
    append(log, b"new")
    assert files(tmp_path) == [f"{offset:020}.log", CHECKPOINT]
    assert read(PartitionLog.open(tmp_path, FILES), offset) == [b"new"]


@pytest.mark.parametrize("content", [b"", b"log_start_offset: -1\n", b"7", b"\xff: 1"])
def test_damaged_start_is_refused_with_what_to_write(tmp_path: Path, content: bytes) -> None:
    of_segments(tmp_path, start=9).close()
    (tmp_path / CHECKPOINT).write_bytes(content)
    with pytest.raises(CorruptLogError, match=rf"{CHECKPOINT}: .* write `log_start_offset: N`"):
        PartitionLog.open(tmp_path, FILES)


def test_start_that_is_missing_is_damage(tmp_path: Path) -> None:
    of_segments(tmp_path, start=9).close()
    (tmp_path / CHECKPOINT).unlink()
    with pytest.raises(CorruptLogError, match="offset 0 is missing before this segment"):
        PartitionLog.open(tmp_path, FILES)


def test_folder_is_renamed_under_an_open_log(tmp_path: Path) -> None:
    (tmp_path / "a_0").mkdir()
    log = PartitionLog.open(tmp_path / "a_0", FILES, segment_size_bytes_max=100)
    append(log, b"a")
    log.move(lambda path: path.rename(tmp_path / "b_0"))
    append(log, b"b")
    assert read(log) == [b"a", b"b"]
    assert len(files(tmp_path / "b_0")) == 2


def test_stamping_changes_nothing_that_the_crc_covers() -> None:
    (raw,) = produced_batches(batch(b"a", b"b"))
    (stamped,) = whole_batches(raw.stamped(1 << 40, 7).data)
    assert (stamped.header.base_offset, stamped.header.leader_epoch) == (1 << 40, 7)
    assert stamped.header.crc == raw.header.crc
    assert isinstance(stamped, RawBatch)


@pytest.mark.parametrize(
    ("data", "code", "problem"),
    [
        (b"", "INVALID_RECORD", "the request has no batch for the partition"),
        (batch(b"a")[:-1], "CORRUPT_MESSAGE", "cut short"),
        (batch(b"a")[:-1] + b"x", "CORRUPT_MESSAGE", "the CRC is"),
        (batch(b"a")[:20], "CORRUPT_MESSAGE", "20 bytes are left"),
        (b"\0" * 16 + b"\1" + b"\0" * 60, "CORRUPT_MESSAGE", "format 1"),
        (batch(b"a")[:8] + b"\xff" * 4 + batch(b"a")[12:], "CORRUPT_MESSAGE", "cut short"),
    ],
)
def test_what_is_no_batch_is_refused(data: bytes, code: str, problem: str) -> None:
    with pytest.raises(RequestError, match=problem) as caught:
        produced_batches(data)
    assert caught.value.code == code
