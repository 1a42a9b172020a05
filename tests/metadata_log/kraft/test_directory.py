"""Kafka's metadata log directory: its files, and where replay starts."""

import os
from pathlib import Path

import pytest

from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.directory import KraftDirectory, open_directory
from records.base import Record
from records.control import NoOpRecord
from records.errors import CorruptLogError, RequestError, UnavailableError
from tests.metadata_log.kraft.logs import (
    LogFiles,
    batch,
    checkpoint,
    leader_change,
    topic,
    two_segments,
)


@pytest.fixture
def files(tmp_path: Path) -> LogFiles:
    return LogFiles(tmp_path / "node")


def _noops(first: int, end: int, leader_epoch: int = 1) -> list[bytes]:
    return [batch(offset, leader_epoch, NoOpRecord()) for offset in range(first, end)]


def _base(directory: KraftDirectory) -> tuple[int, int] | None:
    base = directory.base_checkpoint
    return None if base is None else (base.end_offset, base.leader_epoch)


class TestOpening:
    def test_partition_is_found_in_its_nodes_directory_and_by_itself(self, files: LogFiles) -> None:
        two_segments(files, leader_epochs=True)
        for path in (files.directory, files.partition):
            assert open_directory(path).path == files.partition

    def test_copy_under_another_name_is_a_log_too(self, files: LogFiles) -> None:
        two_segments(files, leader_epochs=True)
        moved = files.partition.rename(files.directory / "copy")
        assert len(list(open_directory(moved).batches())) == 8

    def test_partition_that_is_the_working_directory_knows_its_cluster(
        self, files: LogFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        two_segments(files, leader_epochs=True)
        (files.directory / "meta.properties").write_text("cluster.id=here\n")
        monkeypatch.chdir(files.partition)
        assert open_directory(Path()).cluster_id == "here"

    @pytest.mark.parametrize(
        "name",
        [
            "leader-epoch-checkpoint",
            "0.log",
            "bootstrap.checkpoint",
            "99999999999999999999.log",
            "99999999999999999999-0000000001.checkpoint",
        ],
    )
    def test_folder_without_segments_and_checkpoints_is_no_log(
        self, files: LogFiles, name: str
    ) -> None:
        (files.partition / name).touch()
        for path in (files.directory, files.partition, files.directory / "absent"):
            with pytest.raises(RequestError, match="holds no Kafka metadata log") as caught:
                open_directory(path)
            assert str(caught.value).startswith(f"{path} ")
            assert "__cluster_metadata-0" in str(caught.value)

    def test_files_that_come_and_go_are_passed_over(self, files: LogFiles) -> None:
        two_segments(files, leader_epochs=True)
        for name in (
            "00000000000000000000.index",
            "00000000000000000000.timeindex",
            "00000000000000000007.log.deleted",
            "00000000000000000007.log.swap",
            "00000000000000000007.log.cleaned",
            "00000000000000000005-0000000001-123.checkpoint.part",
            "00000000000000000003-0000000001.checkpoint.deleted",
            "bootstrap.checkpoint",
            "quorum-state",
            "partition.metadata",
        ):
            (files.partition / name).write_bytes(b"anything")
        directory = open_directory(files.directory)
        assert [segment.base_offset for segment in directory.segments] == [0, 7]
        assert [kept.end_offset for kept in directory.checkpoints] == [5]
        assert len(list(directory.batches())) == 8

    @pytest.mark.parametrize(
        ("properties", "cluster_id"),
        [
            ("#\n#Sun\nnode.id=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n", "4L6g3nShT-eMCtK--X86sw"),
            ("cluster.id=abc\\=\\=\r\n", "abc=="),
            ("node.id=1\n", None),
            (None, None),
        ],
    )
    def test_cluster_id_is_that_of_the_node(
        self, files: LogFiles, properties: str | None, cluster_id: str | None
    ) -> None:
        two_segments(files, leader_epochs=True)
        if properties is not None:
            (files.directory / "meta.properties").write_text(properties)
        assert open_directory(files.directory).cluster_id == cluster_id


class TestBase:
    def test_log_from_offset_0_needs_none(self, files: LogFiles) -> None:
        two_segments(files, leader_epochs=True)
        directory = open_directory(files.directory)
        assert (_base(directory), directory.committed_end_offset) == (None, 5)

    def test_log_without_checkpoints_is_not_known_to_be_committed(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, leader_change()))
        directory = open_directory(files.directory)
        assert (_base(directory), directory.committed_end_offset) == (None, 0)

    @pytest.mark.parametrize(
        ("records", "base"), [((), None), ((topic(),), (0, 0))], ids=["control", "data"]
    )
    def test_checkpoint_at_0_is_the_base_if_it_holds_data(
        self, files: LogFiles, records: tuple[Record, ...], base: tuple[int, int] | None
    ) -> None:
        files.segment(0, batch(0, 1, leader_change()), *_noops(1, 4))
        files.checkpoint(0, 0, checkpoint(0, *records))
        files.checkpoint(3, 1, checkpoint(1, topic()))
        directory = open_directory(files.directory)
        assert (_base(directory), directory.committed_end_offset) == (base, 3)

    def test_cleaned_log_starts_from_the_oldest_checkpoint_that_reaches_it(
        self, files: LogFiles
    ) -> None:
        files.segment(10, *_noops(10, 30))
        for end_offset in (8, 12, 20):
            files.checkpoint(end_offset, 1, checkpoint(1, topic()))
        directory = open_directory(files.directory)
        assert (_base(directory), directory.committed_end_offset) == ((12, 1), 20)
        assert next(directory.batches()).base_offset == 10

    def test_checkpoint_at_the_very_start_of_a_cleaned_log_reaches_it(
        self, files: LogFiles
    ) -> None:
        files.segment(10)
        files.checkpoint(10, 1, checkpoint(1, topic()))
        directory = open_directory(files.directory)
        assert (_base(directory), list(directory.batches())) == ((10, 1), [])

    def test_cleaned_log_without_such_a_checkpoint_is_refused(self, files: LogFiles) -> None:
        files.segment(10, *_noops(10, 12))
        files.checkpoint(8, 1, checkpoint(1, topic()))
        with pytest.raises(
            CorruptLogError, match="starts at offset 10, but no checkpoint ends there"
        ):
            _ = open_directory(files.directory).base_checkpoint

    def test_checkpoints_alone_start_from_the_newest(self, files: LogFiles) -> None:
        files.checkpoint(8, 1, checkpoint(1, topic()))
        files.checkpoint(9, 2, checkpoint(2, topic()))
        directory = open_directory(files.directory)
        assert (_base(directory), list(directory.batches())) == ((9, 2), [])
        assert directory.committed_end_offset == 9

    @pytest.mark.parametrize(
        ("records", "base"), [((), None), ((topic(),), (0, 0))], ids=["control", "data"]
    )
    def test_node_that_never_ran_has_a_checkpoint_at_0(
        self, files: LogFiles, records: tuple[Record, ...], base: tuple[int, int] | None
    ) -> None:
        files.checkpoint(0, 0, checkpoint(0, *records))
        directory = open_directory(files.directory)
        assert (_base(directory), directory.committed_end_offset) == (base, 0)

    @pytest.mark.parametrize("end_offset", [5, 100])
    def test_checkpoint_beyond_the_log_proves_nothing_about_it(
        self, files: LogFiles, end_offset: int
    ) -> None:
        files.segment(0, batch(0, 1, leader_change()), *_noops(1, 4))
        files.checkpoint(3, 1, checkpoint(1, topic()))
        files.checkpoint(end_offset, 2, checkpoint(2, topic()))
        directory = open_directory(files.directory)
        assert (_base(directory), directory.committed_end_offset) == (None, 3)
        assert len(list(directory.batches())) == 4
        assert directory.committed_end_offset == 3

    def test_segments_without_any_other_start_are_stale(self, files: LogFiles) -> None:
        files.segment(2, *_noops(2, 4))
        files.checkpoint(9, 2, checkpoint(2, topic()))
        directory = open_directory(files.directory)
        assert (_base(directory), directory.committed_end_offset) == ((9, 2), 9)
        assert (list(directory.batches()), directory.segments) == ([], ())
        assert [segment.base_offset for segment in directory.all_segments] == [2]

    def test_committed_end_is_known_from_reading_the_log(self, files: LogFiles) -> None:
        path = files.segment(0, batch(0, 1, leader_change()), *_noops(1, 4))
        files.checkpoint(4, 1, checkpoint(1, topic()))
        directory = open_directory(files.directory)
        assert len(list(directory.batches())) == 4
        path.unlink()
        assert directory.committed_end_offset == 4

    def test_checkpoint_at_the_end_of_the_log_leaves_nothing_behind(self, files: LogFiles) -> None:
        files.segment(0, batch(0, 1, leader_change()), *_noops(1, 4))
        files.checkpoint(4, 1, checkpoint(1, topic()))
        directory = open_directory(files.directory)
        assert (_base(directory), len(list(directory.batches()))) == (None, 4)


class TestCheckpoint:
    def test_data_is_told_from_what_frames_it(self, files: LogFiles) -> None:
        path = files.checkpoint(8, 3, checkpoint(3, topic("a"), topic("b"), timestamp=99))
        kept = KraftCheckpoint(path)
        assert (kept.end_offset, kept.leader_epoch, kept.timestamp) == (8, 3, 99)
        assert [[row.payload for row in rows] for rows in kept.rows()] == [[topic("a"), topic("b")]]
        assert [read.is_control for read in kept.batches()] == [True, False, True]

    @pytest.mark.parametrize(
        ("part", "message"),
        [
            (slice(0, 0), "incomplete: it has no SnapshotFooterRecord"),
            (slice(0, 1), "incomplete: it has no SnapshotFooterRecord"),
            (slice(0, 2), "incomplete: it has no SnapshotFooterRecord"),
            (slice(1, 3), "found a batch of offset 1, expected 0"),
        ],
    )
    def test_part_of_a_checkpoint_is_refused(
        self, files: LogFiles, part: slice, message: str
    ) -> None:
        files.segment(0, batch(0, 1, leader_change()), *_noops(1, 4))
        files.checkpoint(3, 1, checkpoint(1, topic())[part])
        directory = open_directory(files.directory)
        with pytest.raises(CorruptLogError, match=message):
            list(directory.checkpoints[0].rows())
        with pytest.raises(CorruptLogError, match=message):
            _ = directory.committed_end_offset

    def test_cut_within_a_batch_is_refused(self, files: LogFiles) -> None:
        *before, footer = checkpoint(1, topic())
        kept = KraftCheckpoint(files.checkpoint(3, 1, [*before, footer[:-1]]))
        with pytest.raises(
            CorruptLogError, match="the file ends 74 bytes after the start"
        ) as caught:
            kept.verify()
        assert "intact" not in str(caught.value)

    def test_data_without_a_header_is_refused(self, files: LogFiles) -> None:
        kept = KraftCheckpoint(files.checkpoint(3, 1, [batch(0, 1, topic())]))
        with pytest.raises(CorruptLogError, match="the first record is not a SnapshotHeaderRecord"):
            kept.verify()

    def test_batch_behind_the_footer_is_refused(self, files: LogFiles) -> None:
        batches = [*checkpoint(1, topic()), batch(3, 1, topic())]
        with pytest.raises(CorruptLogError, match="a batch follows the SnapshotFooterRecord"):
            KraftCheckpoint(files.checkpoint(3, 1, batches)).verify()

    def test_batch_of_another_epoch_is_refused(self, files: LogFiles) -> None:
        with pytest.raises(CorruptLogError, match="a batch has epoch 2, but the file's"):
            KraftCheckpoint(files.checkpoint(3, 1, checkpoint(2, topic()))).verify()

    def test_checkpoint_that_vanished_is_unavailable(self, files: LogFiles) -> None:
        path = files.checkpoint(3, 1, checkpoint(1, topic()))
        directory = open_directory(files.directory)
        path.unlink()
        with pytest.raises(UnavailableError, match="is gone: Kafka removed it"):
            _ = directory.committed_end_offset


def test_nothing_is_written_and_nothing_is_locked(files: LogFiles) -> None:
    two_segments(files, leader_epochs=True)
    before = {path: path.stat() for path in files.directory.rglob("*")}
    for path in before:
        os.chmod(path, 0o500 if path.is_dir() else 0o400)
    directory = open_directory(files.directory)
    assert len(list(directory.batches())) == 8
    assert directory.committed_end_offset == 5
    after = {path: path.stat() for path in files.directory.rglob("*")}
    assert after.keys() == before.keys()
    assert all(after[path].st_mtime_ns == before[path].st_mtime_ns for path in before)
