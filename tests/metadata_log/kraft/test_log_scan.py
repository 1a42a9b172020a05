"""Several segments read as one log: checks of their order, and reading past damage."""

from pathlib import Path

import msgspec
import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft_format.batch import LogPosition, crc_of, parse_header
from metadata_log.kraft_format.batch_codec import decode_batch, encode_batch
from records.control import NoOpRecord, UnknownRecord
from records.errors import CorruptLogError, UnavailableError
from tests.metadata_log.kraft.logs import (
    LogFiles,
    batch,
    checkpoint,
    leader_change,
    partition_change,
    rows,
    topic,
    two_segments,
)


@pytest.fixture
def files(tmp_path: Path) -> LogFiles:
    return LogFiles(tmp_path / "node")


def _bases(files: LogFiles) -> list[int]:
    return [read.base_offset for read in open_directory(files.directory).batches()]


def _refusal(files: LogFiles) -> str:
    with pytest.raises(CorruptLogError) as caught:
        list(open_directory(files.directory).batches())
    return str(caught.value)


class TestOrder:
    def test_batches_of_all_segments_are_read_in_order(self, files: LogFiles) -> None:
        two_segments(files, leader_epochs=True)
        batches = list(open_directory(files.directory).batches())
        assert [read.base_offset for read in batches] == [0, 1, 4, 5, 6, 7, 9, 10]
        assert [read.end_offset for read in batches] == [1, 4, 5, 6, 7, 9, 10, 12]
        assert [read.leader_epoch for read in batches] == [1, 1, 1, 3, 3, 3, 3, 3]
        assert [read.is_control for read in batches] == [True, *[False] * 2, True, *[False] * 4]
        sizes = [read.size for read in batches]
        assert [read.position for read in batches] == [
            *[sum(sizes[:n]) for n in range(5)],
            *[sum(sizes[5:n]) for n in range(5, 8)],
        ]

    def test_each_batch_gives_back_its_bytes(self, files: LogFiles) -> None:
        two_segments(files, leader_epochs=True)
        stored = b"".join(path.read_bytes() for path in sorted(files.partition.glob("*.log")))
        batches = open_directory(files.directory).batches()
        assert b"".join(encode_batch(read.rows) for read in batches) == stored

    def test_segment_that_was_just_rolled_is_empty(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, leader_change()))
        files.segment(1)
        assert _bases(files) == [0]

    def test_empty_segment_is_a_log(self, files: LogFiles) -> None:
        files.segment(0)
        assert _bases(files) == []

    @pytest.mark.parametrize(
        ("second", "found"), [(3, "starts at offset 3"), (1, "starts at offset 1")]
    )
    def test_gap_or_overlap_between_segments_is_refused(
        self, files: LogFiles, second: int, found: str
    ) -> None:
        files.segment(0, batch(0, 1, leader_change()), batch(1, 1, NoOpRecord()))
        path = files.segment(second, batch(second, 1, NoOpRecord()))
        message = _refusal(files)
        assert message.startswith(
            f"{path} byte 0: the segment {found}, the one before it ends at 2"
        )
        assert "offsets below 2 are intact" in message

    def test_segment_before_an_empty_one_must_reach_it(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, leader_change()))
        files.segment(5)
        assert "starts at offset 5, the one before it ends at 1" in _refusal(files)

    def test_segment_is_named_for_its_first_record(self, files: LogFiles) -> None:
        path = files.segment(5, batch(6, 1, leader_change()))
        files.checkpoint(5, 1, checkpoint(1))
        expected = f"{path} byte 0: found a batch of offset 6, expected 5"
        assert _refusal(files).startswith(expected)

    @pytest.mark.parametrize("offset", [1, 4])
    def test_gap_or_overlap_within_a_segment_is_refused(self, files: LogFiles, offset: int) -> None:
        first = batch(0, 1, leader_change())
        path = files.segment(0, first, batch(1, 1, topic(), topic()), batch(offset, 1, topic()))
        message = _refusal(files)
        byte = len(first) + len(batch(1, 1, topic(), topic()))
        assert message.startswith(
            f"{path} byte {byte}: found a batch of offset {offset}, expected 3; offsets below 3 are"
        )

    def test_record_that_cannot_be_read_is_placed(self, files: LogFiles) -> None:
        first = batch(0, 1, leader_change())
        broken = UnknownRecord(api_key=2, record_version=0, value=b"\1\2\0\x20cut")
        files.segment(0, first, batch(1, 1, broken))
        message = _refusal(files)
        assert f"byte {len(first)}: byte 61 of the batch, offset 1: byte 4 of the value" in message
        assert "field name: 31 bytes wanted, 3 are left; offsets below 1 are intact" in message

    def test_other_format_is_refused(self, files: LogFiles) -> None:
        old = bytearray(batch(0, 1, leader_change()))
        old[16] = 1
        files.segment(0, bytes(old))
        assert "byte 0: the batch has magic 1, expected 2" in _refusal(files)

    def test_count_that_differs_from_the_offsets_is_refused(self, files: LogFiles) -> None:
        data = bytearray(batch(0, 1, leader_change()))
        data[23:27] = (1).to_bytes(4, "big")
        data[17:21] = crc_of(bytes(data)).to_bytes(4, "big")
        files.segment(0, bytes(data))
        assert "counts 1 records, its last offset delta is 1" in _refusal(files)


class TestEpochs:
    def test_lower_epoch_is_refused(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 5, leader_change()), batch(1, 4, leader_change()))
        assert "epoch 4 follows epoch 5, and epochs only grow" in _refusal(files)

    def test_lower_epoch_in_the_next_segment_is_refused(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 5, leader_change()))
        files.segment(1, batch(1, 4, leader_change()))
        assert "epoch 4 follows epoch 5" in _refusal(files)

    def test_second_announcement_of_an_epoch_is_refused(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 5, leader_change()), batch(1, 5, leader_change()))
        assert "a second LeaderChangeMessage in epoch 5; offsets below 1" in _refusal(files)

    def test_epoch_without_an_announcement_is_refused(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 5, leader_change()), batch(1, 6, topic()), batch(2, 6, topic()))
        assert "epoch 6 begins here, without a LeaderChangeMessage; off" in _refusal(files)

    def test_epoch_without_an_announcement_is_refused_at_the_next(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 5, topic()), batch(1, 6, leader_change()))
        assert "byte 0: epoch 5 begins here, without" in _refusal(files)

    def test_epoch_without_an_announcement_is_not_held_back_for_ever(self, files: LogFiles) -> None:
        noops = [batch(n, 1, NoOpRecord()) for n in range(500)]
        files.segment(0, *noops)
        assert "byte 0: epoch 1 begins here, without" in _refusal(files)

    def test_announcement_may_come_behind_later_data(self, files: LogFiles) -> None:
        """Kafka 3.3 wrote it like this."""
        files.segment(
            0,
            batch(0, 1, topic(), timestamp=20),
            batch(1, 1, leader_change(), timestamp=10),
            batch(2, 1, NoOpRecord(), timestamp=30),
            batch(3, 2, NoOpRecord(), timestamp=50),
            batch(4, 2, NoOpRecord(), timestamp=60),
            batch(5, 2, leader_change(), timestamp=50),
        )
        assert _bases(files) == [0, 1, 2, 3, 4, 5]

    def test_data_before_an_announcement_belongs_to_the_epoch_before(self, files: LogFiles) -> None:
        files.segment(
            0,
            batch(0, 1, leader_change(), timestamp=10),
            batch(1, 3, topic(), timestamp=20),
            batch(2, 3, leader_change(), timestamp=30),
        )
        assert "epoch 3 begins here, without a LeaderChangeMessage; offsets below 1" in _refusal(
            files
        )

    @pytest.mark.parametrize(
        ("starts", "message"),
        [
            ({1: 0, 3: 1}, None),
            ({1: 0, 3: 2}, "epoch 3 begins here, which leader-epoch-checkpoint denies"),
            ({1: 0}, "epoch 3 begins here, without a LeaderChangeMessage"),
        ],
    )
    def test_list_of_epochs_decides_whether_data_belongs_to_the_announcement_behind_it(
        self, files: LogFiles, starts: dict[int, int], message: str | None
    ) -> None:
        files.segment(
            0, batch(0, 1, leader_change()), batch(1, 3, topic()), batch(2, 3, leader_change())
        )
        files.leader_epochs(starts)
        if message is None:
            assert _bases(files) == [0, 1, 2]
        else:
            assert message in _refusal(files)

    def test_list_of_epochs_may_stand_for_the_announcement(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, topic()))
        files.leader_epochs({1: 0})
        assert _bases(files) == [0]

    def test_head_of_a_cleaned_log_may_be_in_the_middle_of_an_epoch(self, files: LogFiles) -> None:
        files.segment(5, batch(5, 3, topic()), batch(6, 3, topic()))
        files.checkpoint(6, 3, checkpoint(3, topic()))
        assert _bases(files) == [5, 6]

    def test_list_of_epochs_starts_where_kafka_cleaned_the_log_to(self, files: LogFiles) -> None:
        files.segment(5, batch(5, 3, topic()), batch(6, 4, leader_change()), batch(7, 4, topic()))
        files.checkpoint(8, 4, checkpoint(4, topic()))
        files.leader_epochs({4: 8})
        assert _bases(files) == [5, 6, 7]

    def test_list_of_epochs_may_be_older_than_the_log(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, leader_change()), batch(1, 3, leader_change()))
        files.leader_epochs({1: 0})
        assert _bases(files) == [0, 1]

    def test_list_of_epochs_may_be_empty(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, leader_change()))
        files.leader_epochs({}).write_bytes(b"")
        assert _bases(files) == [0]

    def test_list_of_epochs_that_contradicts_the_log_is_refused(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, leader_change()), batch(1, 3, leader_change()))
        files.leader_epochs({1: 0, 2: 1})
        message = _refusal(files)
        assert "epoch 3 begins here, which leader-epoch-checkpoint denies; off" in message

    def test_list_of_epochs_is_read_again_before_it_is_believed(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, leader_change()), batch(1, 3, leader_change()))
        files.leader_epochs({1: 0, 2: 1})
        batches = open_directory(files.directory).batches()
        assert next(batches).base_offset == 0
        files.leader_epochs({1: 0, 3: 1})
        assert next(batches).base_offset == 1

    @pytest.mark.parametrize(
        "text", ["0\n", "0\n1\n", "0\n2\n1 0\n", "1\n0\n", "0\n1\n1 x\n", "0\n1\n\xff"]
    )
    def test_list_of_epochs_that_is_none_is_refused(self, files: LogFiles, text: str) -> None:
        files.segment(0, batch(0, 1, leader_change()))
        files.leader_epochs({}).write_bytes(text.encode("latin-1"))
        assert "byte 0: this is no list of leader epochs; copy it" in _refusal(files)

    def test_epoch_must_be_that_of_the_checkpoint(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, leader_change()), batch(1, 2, leader_change()))
        for end_offset, epoch in ((1, 1), (2, 3)):
            files.checkpoint(end_offset, epoch, checkpoint(epoch))
        assert "epoch 2, where checkpoint 2 says 3; offsets below 1 are int" in _refusal(files)


class TestGoingOn:
    def _read(
        self, files: LogFiles, start: LogPosition | None = None
    ) -> tuple[list[int], LogPosition | None]:
        scan = open_directory(files.directory).scan(start)
        return [read.base_offset for read in scan.batches()], scan.position

    def test_reading_goes_on_where_it_stopped(self, files: LogFiles) -> None:
        path = files.segment(0, batch(0, 1, leader_change()))
        read, position = self._read(files)
        assert read == [0]
        assert self._read(files, position) == ([], position)
        path.write_bytes(path.read_bytes() + batch(1, 1, topic()) + batch(2, 1, topic())[:50])
        read, position = self._read(files, position)
        assert read == [1]
        files.segment(0, *[batch(n, 1, topic() if n else leader_change()) for n in range(3)])
        files.segment(3, batch(3, 2, leader_change()))
        read, position = self._read(files, position)
        assert read == [2, 3]
        files.segment(3, batch(3, 2, leader_change()), batch(4, 2, topic()))
        (files.partition / "00000000000000000000.log").unlink()
        files.checkpoint(3, 1, checkpoint(1, topic()))
        assert self._read(files, position)[0] == [4]

    def test_position_survives_being_stored(self, files: LogFiles) -> None:
        two_segments(files, leader_epochs=True)
        scan = open_directory(files.directory).scan()
        batches = scan.batches()
        for _ in range(3):
            next(batches)
        stored = msgspec.json.encode(scan.position)
        again = msgspec.json.decode(stored, type=LogPosition)
        assert self._read(files, again)[0] == [5, 6, 7, 9, 10]

    def test_stopping_between_data_and_its_late_announcement_is_no_error(
        self, files: LogFiles
    ) -> None:
        path = files.segment(0, batch(0, 1, topic()))
        files.leader_epochs({1: 0})
        _, position = self._read(files)
        path.write_bytes(path.read_bytes() + batch(1, 1, leader_change()))
        assert self._read(files, position)[0] == [1]

    @pytest.mark.parametrize(
        "now",
        [
            [batch(0, 1, leader_change())],
            [batch(0, 1, leader_change()), batch(1, 2, leader_change())],
            [batch(0, 1, leader_change()), batch(1, 1, partition_change(), partition_change())],
            [],
        ],
    )
    def test_log_that_was_truncated_must_be_read_again(
        self, files: LogFiles, now: list[bytes]
    ) -> None:
        files.segment(0, batch(0, 1, leader_change()), batch(1, 1, topic()))
        _, position = self._read(files)
        files.segment(0, *now)
        with pytest.raises(UnavailableError, match="read it again from its start"):
            self._read(files, position)

    def test_segment_that_was_cleaned_away_must_be_read_again(self, files: LogFiles) -> None:
        path = files.segment(0, batch(0, 1, leader_change()))
        _, position = self._read(files)
        path.unlink()
        files.segment(9, batch(9, 1, topic()))
        with pytest.raises(UnavailableError, match=r"segment 0{20}\.log is not there any more"):
            self._read(files, position)

    def test_segment_that_vanishes_is_unavailable(self, files: LogFiles) -> None:
        two_segments(files, leader_epochs=True)
        directory = open_directory(files.directory)
        batches = directory.batches()
        next(batches)
        directory.segments[1].path.unlink()
        with pytest.raises(UnavailableError, match=r"0{19}7\.log is gone: Kafka removed it"):
            list(batches)


def test_batch_of_8_mib_is_read_across_the_buffer(files: LogFiles) -> None:
    large = batch(1, 1, topic("x" * (8 * 1024 * 1024 - 200)))
    files.segment(0, batch(0, 1, leader_change()), large, batch(2, 1, NoOpRecord()))
    assert _bases(files) == [0, 1, 2]
    assert encode_batch(decode_batch(large, parse_header(large), 0).rows) == large


def test_rows_stand_where_the_log_says(files: LogFiles) -> None:
    files.segment(0, batch(0, 3, leader_change()), batch(1, 3, topic(), NoOpRecord()))
    _, read = open_directory(files.directory).batches()
    assert list(read.rows) == rows(1, 3, topic(), NoOpRecord())
    assert read.timestamp == read.rows[0].timestamp
