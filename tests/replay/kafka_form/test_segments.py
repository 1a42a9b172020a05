"""An own log in Kafka's form, exported as segments and imported again."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.decisions.levels import record_version
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from metadata_log.reader.log_reader import LogReader
from records.control import NoOpRecord
from records.envelope import Envelope
from records.errors import RequestError
from records.registry import is_control
from replay.care.fork import fork_log
from replay.care.retain import retain
from replay.image.metadata import MetadataImage
from replay.kafka_form import first_names as first_names_of_base
from replay.kafka_form.segments import export_own_segments
from replay.loader import load_image
from replay.transactions import Transactions
from tests.own_logs import content
from tests.own_logs import write_history as write_any_history
from tests.replay.kafka_form.expected import FirstNames, State, expected_state, observed_state

_BATCHES = 120


async def write_history(directory: Path, seed: int, batches: int) -> Path:
    """Write a random log as a controller would."""
    return await write_any_history(
        directory, seed, batches, batches_an_epoch=50, as_by_controller=True
    )


def export(log: Path, target: Path, at: int | None = None) -> bytes:
    """Export a log, and return its batches."""
    with LogReader.open(log) as reader:
        end = reader.end_offset if at is None else at + 1
        export_own_segments(reader, target, end, record_version, progress=lambda _: None)
    found = sorted((target / PARTITION_DIRECTORY).glob("*.log"))
    return b"".join(path.read_bytes() for path in found)


def exported_and_imported(log: Path, tmp_path: Path) -> Path:
    """Return a mirror of a log's form."""
    export(log, tmp_path / "kafka")
    import_directory(open_directory(tmp_path / "kafka"), tmp_path / "mirror", collapse_noops=False)
    return tmp_path / "mirror"


@pytest.mark.parametrize("seed", [1, 2])
async def test_an_observer_has_our_state_at_each_offset(tmp_path: Path, seed: int) -> None:
    log = await write_history(tmp_path / "log", seed, _BATCHES)
    mirror = exported_and_imported(log, tmp_path)
    first, transactions = FirstNames(), Transactions()
    ours = theirs = MetadataImage.EMPTY
    with LogReader.open(log) as mine, LogReader.open(mirror) as other:
        assert other.end_offset == mine.end_offset
        for batch in mine.batches():
            for row in transactions.effective(batch.rows):
                first.add(row)
            at = batch.end_offset - 1
            ours, theirs = (
                load_image(source, at, start=s) for source, s in ((mine, ours), (other, theirs))
            )
            assert observed_state(theirs, ours) == expected_state(ours, first), at
            assert theirs.provenance.next_offset == ours.provenance.next_offset
            assert theirs.provenance.timestamp == ours.provenance.timestamp
            assert theirs.provenance.leader_epoch == ours.provenance.leader_epoch


async def test_each_offset_has_the_record_of_our_log_or_a_noop(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", 11, _BATCHES)
    mirror = exported_and_imported(log, tmp_path)
    with LogReader.open(log) as mine, LogReader.open(mirror) as other:
        for ours, theirs in zip(_rows(mine), _rows(other), strict=True):
            place = ours.offset, ours.leader_epoch, ours.timestamp
            assert (theirs.offset, theirs.leader_epoch, theirs.timestamp) == place
            assert type(theirs.payload) in (type(ours.payload), NoOpRecord)


def _rows(reader: LogReader) -> Iterator[Envelope]:
    return (row for batch in reader.batches() for row in batch.rows)


async def test_blocks_and_batches_begin_at_the_same_offsets(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", 5, _BATCHES)
    mirror = exported_and_imported(log, tmp_path)
    with LogReader.open(log) as mine, LogReader.open(mirror) as other:
        starts = {batch.base_offset for batch in mine.batches()}
        more = {batch.base_offset for batch in other.batches()} - starts
        kinds = [{is_control(row.payload) for row in batch.rows} for batch in mine.batches()]
        assert starts <= {batch.base_offset for batch in other.batches()}
        assert len(more) <= sum(len(each) > 1 for each in kinds)


async def test_another_nodes_folder_and_another_run_give_the_same_bytes(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", 6, _BATCHES)
    other = tmp_path / "other"
    other.mkdir()
    for name, data in content(log).items():
        (other / name).write_bytes(data)
    whole = export(log, tmp_path / "a")
    assert whole == export(other, tmp_path / "b")
    with LogReader.open(log) as reader:
        ends = [batch.end_offset - 1 for batch in reader.batches()]
    for at in (ends[0], ends[len(ends) // 2]):
        assert whole.startswith(export(log, tmp_path / f"at-{at}", at))


async def test_a_log_that_was_cut_is_a_checkpoint_and_what_follows(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", 7, _BATCHES)
    whole = export(log, tmp_path / "whole")
    before = tmp_path / "before"
    shutil.copytree(log, before)
    with LogReader.open(log) as reader:
        middle = reader.end_offset // 2
    retain(log, middle, check_dropped=lambda _: None)
    mirror = exported_and_imported(log, tmp_path)
    with LogReader.open(log) as mine, LogReader.open(mirror) as other:
        assert mine.history_start > 0
        assert (other.history_start, other.end_offset) == (mine.history_start, mine.end_offset)
        at = mine.history_start - 1
        first = first_names(before, at)
        ours, theirs = load_image(mine, at), load_image(other, at)
        assert first.of != {t.topic_id: ours.full_name(t) for t in ours.topics()}, "some moved"
        # The layouts are those of metadata.version, as in Kafka's snapshots.
        expected = expected_state(ours, first)
        assert _unversioned(observed_state(theirs, ours)) == _unversioned(expected)
        rest = export(log, tmp_path / "rest")
        assert whole.endswith(rest)
    assert 0 < len(rest) < len(whole)


async def test_a_log_that_was_cut_twice_has_the_same_bytes(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", 7, _BATCHES)
    whole = export(log, tmp_path / "whole")
    for part in (3, 2):
        with LogReader.open(log) as reader:
            at = reader.end_offset - reader.end_offset // part
        retain(log, at, check_dropped=lambda _: None)
        assert whole.endswith(export(log, tmp_path / f"rest-{part}"))


async def test_a_base_of_an_earlier_release_has_the_names_of_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await write_history(tmp_path / "log", 7, _BATCHES)
    monkeypatch.setattr("replay.care.retain.first_names_at", lambda reader, end: "")
    with LogReader.open(log) as reader:
        middle = reader.end_offset // 2
    retain(log, middle, check_dropped=lambda _: None)
    mirror = exported_and_imported(log, tmp_path)
    with LogReader.open(log) as mine, LogReader.open(mirror) as other:
        ours, theirs = (load_image(each, mine.history_start - 1) for each in (mine, other))
        names = {topic.topic_id: ours.full_name(topic) for topic in ours.topics()}
        assert names == {topic.topic_id: topic.name for topic in theirs.topics()}
    before = export(log, tmp_path / "before")
    monkeypatch.undo()
    with LogReader.open(log) as reader:
        later = reader.end_offset * 3 // 4
    retain(log, later, check_dropped=lambda _: None)
    assert before.endswith(export(log, tmp_path / "after"))


async def test_more_first_names_than_a_header_holds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await write_history(tmp_path / "log", 7, _BATCHES)
    names = content(log)
    monkeypatch.setattr(first_names_of_base, "TEXT_BYTES_MAX", 20)
    with LogReader.open(log) as reader:
        middle = reader.end_offset // 2
    with pytest.raises(RequestError, match="keep the history from before they were moved"):
        retain(log, middle, check_dropped=lambda _: None)
    assert names.items() <= content(log).items(), "nothing was removed"


def first_names(log: Path, at: int) -> FirstNames:
    """Return the first names up to an offset, inclusive, of what took effect."""
    first, transactions = FirstNames(), Transactions()
    with LogReader.open(log) as reader:
        for batch in reader.batches(0, at + 1):
            for row in transactions.effective(batch.rows):
                first.add(row)
    return first


def _unversioned(state: State) -> set[str]:
    return {text for text, _ in state}


async def test_a_fork_is_a_checkpoint_and_what_follows(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", 8, 40)
    with LogReader.open(log) as reader:
        fork_log(reader, tmp_path / "fork", 60, progress=lambda _: None)
    mirror = exported_and_imported(tmp_path / "fork", tmp_path)
    with LogReader.open(tmp_path / "fork") as mine, LogReader.open(mirror) as other:
        assert (other.history_start, other.end_offset) == (mine.history_start, mine.end_offset)
        ours, theirs = load_image(mine), load_image(other)
        first = first_names(log, mine.history_start - 1)
        expected = expected_state(ours, first)
        assert _unversioned(observed_state(theirs, ours)) == _unversioned(expected)


async def test_a_point_inside_a_batch_is_refused(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", 9, 40)
    with LogReader.open(log) as reader:
        batch = next(b for b in reader.batches() if len(b.rows) > 2)
    with pytest.raises(RequestError, match="is inside the batch of offsets"):
        export(log, tmp_path / "out", batch.base_offset)
    assert not (tmp_path / "out").exists()
