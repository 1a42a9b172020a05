"""Every operation that has returned survives the loss of everything that was not synced.

After a power loss the simulated disk has only what a sync of the file and of its folder stored. The
campaigns of `make torture` try the states in between; here it is one state for each call.
"""

from pathlib import Path

import pytest

from metadata_log.files.fs import Fs, create_synced, read_start, write_whole
from metadata_log.files.names import COMMIT_MARK
from metadata_log.format.commit_mark import SLOT_SIZE, SLOT_SPACING, decode_slot
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from records.topics import TopicRecord
from tests.simulated_disk.disk import ROOT, SimulatedDisk
from tests.simulated_disk.history import Answer, History
from tests.simulated_disk.session import CLUSTER_ID, LOG, Session, StepClock, read_log


def read_whole(fs: Fs, path: Path) -> bytes:
    return read_start(fs, path, 2**20)


def after_power_loss(disk: SimulatedDisk) -> SimulatedDisk:
    """Return the disk as it is after a power loss that loses everything unsynced."""
    return SimulatedDisk(disk.after_power_loss({}))


@pytest.fixture
def disk() -> SimulatedDisk:
    """A disk with an empty log."""
    disk = SimulatedDisk()
    create_log(LOG, CLUSTER_ID, fs=disk)
    return disk


def test_new_log_is_there(disk: SimulatedDisk) -> None:
    assert read_log(after_power_loss(disk)) == []


def test_every_acknowledged_batch_is_there_at_the_next_start(disk: SimulatedDisk) -> None:
    session = Session(disk, History(), StepClock())
    for number in range(1, 12):
        (submission,) = session.append([f"record-{number}"])
        assert submission.answer is Answer.ACKNOWLEDGED
        left = after_power_loss(disk)
        again = Session(left, History(), StepClock())
        batches = read_log(left)
        assert sum(len(batch.rows) for batch in batches) == again.log.end_offset
        # A leader change of each of the two writers stands beside the batches.
        assert len(batches) == number + 2
        assert submission.result is not None
        assert batches[-2].base_offset == submission.result.base_offset
        again.die()


def test_segments_that_were_rolled_are_there(disk: SimulatedDisk) -> None:
    """At least two segments were filled, and they need no further sync."""
    session = Session(disk, History(), StepClock())
    for number in range(40):
        session.append([f"{number}-{n}" for n in range(20)])
    left = after_power_loss(disk)
    segments = [name for name in left.list(LOG) if name.endswith(".avro")]
    assert len(segments) > 2
    assert segments == [name for name in disk.list(LOG) if name.endswith(".avro")]
    for name in segments[:-1]:
        assert read_whole(left, LOG / name) == read_whole(disk, LOG / name)
    Session(left, History(), StepClock()).close()
    assert read_log(left)[-1].end_offset == session.log.end_offset + 1


def test_log_that_was_closed_has_the_same_mark_in_both_slots(disk: SimulatedDisk) -> None:
    session = Session(disk, History(), StepClock())
    session.append(["one"], ["two"])
    end = session.log.end_offset
    session.close()
    left = after_power_loss(disk)
    assert {path: data for path, data in left.visible().items() if path.endswith("mark")} == {
        path: data for path, data in disk.visible().items() if path.endswith("mark")
    }
    data = read_whole(left, LOG / COMMIT_MARK)
    marks = [decode_slot(data[at : at + SLOT_SIZE]) for at in (0, SLOT_SPACING)]
    assert [mark and mark.end_offset for mark in marks] == [end, end]
    assert [mark and mark.confirmed_end for mark in marks] == [end, end]
    assert read_log(left)[-1].end_offset == end


def test_mark_of_a_log_in_use_is_synced_within_its_interval(disk: SimulatedDisk) -> None:
    session = Session(disk, History(), StepClock())
    session.append(["one"])
    session.wait(1.5)
    with LogReader.open(LOG, fs=after_power_loss(disk)) as reader:
        assert reader.mark.end_offset == session.log.end_offset
    session.append(["two"])
    session.wait(1.5)
    with LogReader.open(LOG, fs=after_power_loss(disk)) as reader:
        assert reader.mark.end_offset == session.log.end_offset


def test_claims_and_marks_of_a_new_writer_are_there_before_it_writes(disk: SimulatedDisk) -> None:
    session = Session(disk, History(), StepClock())
    left = after_power_loss(disk)
    assert f"epoch-{session.log.leader_epoch}" in left.list(LOG)
    assert [name for name in left.list(LOG) if name.endswith(".part")] == []
    again = Session(left, History(), StepClock())
    assert again.log.leader_epoch == session.log.leader_epoch + 1


def test_file_that_is_written_whole_is_there_or_the_one_before() -> None:
    disk = SimulatedDisk()
    path = Path(ROOT) / "file"
    states = []
    disk.boundary = lambda: states.append(disk.after_power_loss({}).get(str(path)))
    for content in (b"first", b"second"):
        write_whole(disk, path, content)
        assert disk.after_power_loss({})[str(path)] == content
    assert set(states) == {None, b"first"}
    assert disk.list(Path(ROOT)) == ["file"]


def test_file_that_cannot_be_written_is_not_left() -> None:
    disk = SimulatedDisk()
    path = Path(ROOT) / "file"

    def fail(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        create_synced(disk, path, fail)
    assert disk.list(Path(ROOT)) == []
    disk.open(path, create=True).pwrite(b"of an earlier try", 0)
    create_synced(disk, path, lambda file: file.pwrite(b"new", 0)).close()
    assert read_whole(disk, path) == b"new"


def test_records_are_those_that_were_appended(disk: SimulatedDisk) -> None:
    session = Session(disk, History(), StepClock())
    (submission,) = session.append(["a", "b"])
    session.close()
    payloads = [r.payload for batch in read_log(after_power_loss(disk)) for r in batch.rows]
    assert payloads[-2:] == list(submission.records)
    assert not [p for p in payloads if isinstance(p, TopicRecord)]
