"""A mirror keeps Kafka's offsets, epochs and times, and finds offsets by time."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from metadata_log.format.checkpoint import CheckpointRecord
from metadata_log.format.manifest import Kind
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.mirror import MirrorBuilder
from records.base import Record
from records.configs import FeatureLevelRecord
from records.control import NoOpRecord, NoOpRunRecord
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError, UnknownHistoryError


def row(offset: int, timestamp: int, payload: Record, epoch: int = 3) -> Envelope:
    """The only row of a batch."""
    return Envelope(
        offset=offset,
        leader_epoch=epoch,
        timestamp=timestamp,
        batch_offset=offset,
        record_version=0,
        payload=payload,
    )


def level(n: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name="metadata.version", feature_level=n)


def mirror(
    directory: Path,
    rows: Sequence[tuple[Envelope, int]],
    before: Callable[[MirrorBuilder], None] = lambda builder: None,
    confirmed_end: int = 0,
) -> Path:
    """Build a mirror of batches, each given with its end offset."""
    with MirrorBuilder(directory, "kafka-cluster") as builder:
        before(builder)
        for first, end in rows:
            builder.append([first], end)
        builder.finish(confirmed_end)
    return directory


def base(end_offset: int, timestamp: int) -> Callable[[MirrorBuilder], None]:
    return lambda builder: builder.write_base(
        [CheckpointRecord(level(n), 0) for n in range(1, 3_000)],
        end_offset=end_offset,
        leader_epoch=2,
        timestamp=timestamp,
    )


@pytest.fixture
def backwards(tmp_path: Path) -> Path:
    """A mirror whose times go back: 100, 300, 200, 400 at the offsets 0 to 3."""
    times = [100, 300, 200, 400]
    return mirror(tmp_path / "log", [(row(n, t, level(n + 1)), n + 1) for n, t in enumerate(times)])


def test_mirror_has_the_offsets_epochs_and_times_it_was_given(tmp_path: Path) -> None:
    given = [(row(7, 500, level(1)), 8), (row(8, 400, level(2), epoch=9), 9)]
    log = mirror(tmp_path / "log", given, base(7, 450), confirmed_end=7)
    with LogReader.open(log) as reader:
        assert reader.kind is Kind.MIRROR
        assert (reader.start_offset, reader.end_offset, reader.confirmed_end) == (7, 9, 7)
        read = [r for batch in reader.batches() for r in batch.rows]
    assert [(r.offset, r.leader_epoch, r.timestamp, r.payload) for r in read] == [
        (r.offset, r.leader_epoch, r.timestamp, r.payload) for r, _ in given
    ]


def test_base_checkpoint_is_read_back_without_header_and_footer(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", [(row(7, 500, level(1)), 8)], base(7, 450))
    with LogReader.open(log) as reader:
        assert reader.base is not None
        assert (reader.base.end_offset, reader.base.leader_epoch, reader.base.timestamp) == (
            7,
            2,
            450,
        )
        payloads = [r.payload for rows in reader.base.rows() for r in rows]
    assert payloads == [level(n) for n in range(1, 3_000)]


def test_segments_may_begin_below_the_base(tmp_path: Path) -> None:
    rows = [(row(n, n, level(n)), n + 1) for n in range(5, 12)]
    log = mirror(tmp_path / "log", rows, base(9, 8))
    with LogReader.open(log) as reader:
        assert (reader.start_offset, reader.history_start, reader.end_offset) == (5, 9, 12)
        assert [b.base_offset for b in reader.batches()] == list(range(5, 12))


def test_log_that_starts_late_without_a_base_is_refused(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", [(row(7, 500, level(1)), 8)], base(7, 450))
    next(log.glob("*.checkpoint.avro")).unlink()
    with pytest.raises(CorruptLogError, match="no checkpoint at or above its start exists"):
        LogReader.open(log)


@pytest.mark.parametrize("position", [10, 13_000, -40, -3])
def test_damaged_checkpoint_is_reported(tmp_path: Path, position: int) -> None:
    log = mirror(tmp_path / "log", [(row(7, 500, level(1)), 8)], base(7, 450))
    path = next(log.glob("*.checkpoint.avro"))
    data = bytearray(path.read_bytes())
    data[position] ^= 4
    path.write_bytes(data)
    with pytest.raises(CorruptLogError, match=r"checkpoint\.avro byte \d+: "):
        LogReader.open(log)


def test_base_of_another_import_of_the_same_cluster_is_refused(tmp_path: Path) -> None:
    def levels(first: int) -> Callable[[MirrorBuilder], None]:
        return lambda builder: builder.write_base(
            [CheckpointRecord(level(first + n), 0) for n in range(20)],
            end_offset=7,
            leader_epoch=2,
            timestamp=450,
        )

    one, two = (
        mirror(tmp_path / f"log-{first}", [(row(7, 500, level(1)), 8)], levels(first))
        for first in (1, 2)
    )
    (base_one,), (base_two,) = (list(log.glob("*.checkpoint.avro")) for log in (one, two))
    assert base_one.stat().st_size == base_two.stat().st_size
    base_one.write_bytes(base_two.read_bytes())
    with pytest.raises(
        CorruptLogError, match="this checkpoint is not of this log: the checkpoint was "
    ):
        LogReader.open(one)


def test_checkpoint_without_its_footer_is_incomplete(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", [(row(7, 500, level(1)), 8)], base(7, 450))
    path = next(log.glob("*.checkpoint.avro"))
    data = path.read_bytes()
    sync_marker = data[-16:]
    last_block = data.rindex(sync_marker, 0, len(data) - 16) + 16
    path.write_bytes(data[:last_block])
    with pytest.raises(CorruptLogError, match="incomplete"):
        LogReader.open(log)


@pytest.mark.parametrize(
    ("time", "offset"), [(99, -1), (100, 0), (250, 0), (299, 0), (300, 2), (399, 2), (400, 3)]
)
def test_time_means_the_offset_before_the_first_later_record(
    backwards: Path, time: int, offset: int
) -> None:
    with LogReader.open(backwards) as reader:
        assert reader.last_offset_at(time) == offset


def test_time_inside_a_run_of_noops_is_a_point_of_the_run(tmp_path: Path) -> None:
    run = NoOpRunRecord(count=10, batch_count=10, last_timestamp=900)
    rows = [(row(0, 100, level(1)), 1), (row(1, 200, run), 11), (row(11, 800, level(2)), 12)]
    with LogReader.open(mirror(tmp_path / "log", rows)) as reader:
        # At 850 a NoOp at 900 stands before the change at 800: the change is not yet seen. Inside
        # the run only two times are known, and the offset is the first between them.
        assert reader.last_offset_at(850) == 2
        assert reader.last_offset_at(199) == 0
        assert reader.last_offset_at(900) == 11
        # So a range of times inside the run has a record.
        assert [reader.first_offset_at(time) for time in (200, 201, 850, 901)] == [1, 2, 2, 12]


def test_time_before_the_base_is_unknown(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", [(row(7, 500, level(1)), 8)], base(7, 450))
    with LogReader.open(log) as reader:
        with pytest.raises(
            UnknownHistoryError, match=r"time 1970\S+449Z .* at offset 7, time 1970\S+450Z"
        ):
            reader.last_offset_at(449)
        assert reader.last_offset_at(450) == 6


def test_offset_before_the_start_is_unknown(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", [(row(7, 500, level(1)), 8)], base(7, 450))
    with LogReader.open(log) as reader, pytest.raises(UnknownHistoryError, match="starts at 7"):
        list(reader.batches(6))


async def test_mirror_takes_no_records_and_names_the_way_out(backwards: Path) -> None:
    with pytest.raises(RequestError, match="metalog fork"):
        await MetadataLog.open(backwards)


def test_failed_import_leaves_nothing(tmp_path: Path) -> None:
    def fail_after_a_batch() -> None:
        with MirrorBuilder(tmp_path / "log", "kafka-cluster") as builder:
            builder.append([row(0, 1, NoOpRecord())], 1)
            raise CorruptLogError("the source is damaged")

    open_before = len(os.listdir("/dev/fd"))
    with pytest.raises(CorruptLogError):
        fail_after_a_batch()
    assert os.listdir(tmp_path) == []
    assert len(os.listdir("/dev/fd")) == open_before


def test_import_never_replaces_what_is_there(backwards: Path) -> None:
    with pytest.raises(RequestError, match="exists already"):
        MirrorBuilder(backwards, "kafka-cluster")
