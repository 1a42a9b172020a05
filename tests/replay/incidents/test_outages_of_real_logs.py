"""Outages in real logs, compared with an independent computation on another program's records."""

from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from records.text import uuid_text
from replay.incidents.outage import Outage
from replay.incidents.outages import find_outages
from tests.real_logs import DataSet, each_data_set, each_data_set_where
from tests.replay.incidents.naive_outages import Interval, naive_outages
from tests.replay.incidents.real import imported

pytestmark = pytest.mark.usefixtures("either_codec")


def interval(outage: Outage) -> Interval:
    name = outage.object
    if outage.topic_id is not None:
        name = f"partition:{uuid_text(outage.topic_id)}/{name.rpartition('/')[2]}"
    assert outage.from_offset is not None
    assert outage.from_time is not None
    times = outage.from_time, outage.to_time
    return (name, outage.kind, outage.from_offset, outage.to_offset, *times)


@each_data_set
def test_outages_of_a_real_log_equal_a_look_at_every_record(
    data_set: DataSet, tmp_path: Path
) -> None:
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    if not rows or rows[0]["offset"] > 0:
        pytest.skip("the state before its first record is not known")
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        for assumed in (None, 2):
            found = find_outages(reader, reader.end_offset, assumed_min_isr=assumed).intervals
            assert len(found) == len({interval(each) for each in found})
            assert {interval(each) for each in found} == naive_outages(rows, assumed or 0)
            durations = [each.duration_ms for each in found]
            assert durations == sorted(durations, reverse=True)
            assert None not in [each.cause for each in found]


@each_data_set_where(lambda each: str(each) == "azercell3-3node-legacy/data_kafka1")
def test_causes_of_a_real_log(data_set: DataSet, tmp_path: Path) -> None:
    """Worked out by hand from the decoded log.

    Offset 65 registers broker 1 anew, while it is still unfenced. The batch continues with 18
    partitions that broker 2 led, then fences it at 84; 18 more that broker 3 led, fenced at 103.
    """
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        found = find_outages(reader, reader.end_offset).intervals
    causes = {
        (each.kind, each.from_offset): (each.cause.offset, each.cause.text)
        for each in found
        if each.cause is not None
    }
    assert causes["leaderless", 66] == (84, "broker 2 was fenced (missed heartbeats)")
    assert causes["leaderless", 102] == (103, "broker 3 was fenced (missed heartbeats)")
    assert causes["fenced", 84] == (84, "broker 2 was fenced (missed heartbeats)")
    assert causes["fenced", 65] == (
        65,
        "broker 1 restarted: it registered again without having been fenced",
    )
