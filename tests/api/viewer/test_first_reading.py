"""The summary that is found while a log is loaded is the answer to the question."""

import shutil
from pathlib import Path

from api.questions.pages import PagedLog
from api.questions.summary import SUMMARY
from api.viewer.first_reading import ASKED, first_reading, is_read_whole
from controller.wire import to_wire
from metadata_log.reader.log_reader import LogReader
from replay.image.digest import image_digest
from replay.snapshot.ports import SNAPSHOTS_NAME
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set
from tests.replay.incidents.real import imported


def check_beside(log: Path) -> None:
    """Check the state, and that the summary is the answer to the question."""
    with LogReader.open(log) as reader:
        found = first_reading(reader, lambda offset, end: None)
        end = Timeline.of(reader).image()
        assert found.end_offset == reader.end_offset
    assert image_digest(found.image) == image_digest(end)
    assert found.image.provenance == end.provenance
    asked = PagedLog(log, is_live=False).page(SUMMARY.name, to_wire(ASKED), "end")
    assert found.summary == asked


def test_the_summary_is_found_while_the_state_is_read(demo_log: Path) -> None:
    check_beside(demo_log)


@each_data_set
def test_the_summary_of_every_real_log_is_found_while_it_is_read(
    data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    with LogReader.open(log) as reader:
        is_whole = is_read_whole(reader)
    if is_whole:
        check_beside(log)
        return
    with LogReader.open(log) as reader:
        assert reader.base is not None
        assert first_reading(reader, lambda offset, end: None).summary is None


def test_with_a_snapshot_the_records_are_not_read_for_the_summary(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    (log / SNAPSHOTS_NAME).unlink(missing_ok=True)
    assert metalog("snapshot", "create", log, "--at", 300).code == 0
    read: list[int] = []
    with LogReader.open(log) as reader:
        found = first_reading(reader, lambda offset, end: read.append(offset))
        assert image_digest(found.image) == image_digest(Timeline(reader).image())
    assert found.summary is None
    assert read[0] > 300
