"""Outages that may have begun before the log shows them: the same in every range."""

from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from replay.image.metadata import MetadataImage
from replay.incidents.outage import Outage
from replay.incidents.outages import find_outages
from replay.timeline import Timeline
from tests.real_logs import DataSet, each_data_set, each_data_set_where
from tests.replay.incidents.real import imported

pytestmark = pytest.mark.usefixtures("either_codec")


def silence_ms(data_set: DataSet, broker_id: int, at: int) -> int:
    """Return how long no record was written before the last new controller of the minute before
    offset `at`, if that was at least 5 s, and the broker registered before, by another program's
    rows.
    """
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    (now,) = [row["timestamp"] for row in rows if row["offset"] == at]
    silent = 0
    for before, row in pairwise(rows):
        is_near = row["offset"] < at and now - row["timestamp"] <= 60_000
        lasted = row["timestamp"] - before["timestamp"]
        if row["type"] == "LeaderChangeMessage" and is_near and lasted >= 5_000:
            silent = lasted
        is_own = row["data"].get("brokerId") == broker_id and row["offset"] < at
        if row["type"] == "RegisterBrokerRecord" and is_own:
            silent = 0
    return silent


def _newest(image: MetadataImage, at: int) -> MetadataImage | None:
    return image if at >= image.provenance.next_offset - 1 else None


def key(outage: Outage) -> tuple[object, ...]:
    return outage.object, outage.kind, outage.from_offset


@each_data_set
def test_a_broker_found_gone_by_a_new_controller_may_have_been_gone_while_the_log_was_silent(
    data_set: DataSet, tmp_path: Path
) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        found = find_outages(reader, reader.end_offset).intervals
    for each in found:
        if each.kind != "fenced" or each.from_offset is None:
            continue
        assert each.cause is not None
        is_planned = "shutdown" in each.cause.text or "still fenced" in each.cause.text
        expected = 0 if is_planned else silence_ms(data_set, each.brokers[0], each.from_offset)
        assert each.silence_ms == expected, (each, each.cause)
        assert each.is_at_least == bool(expected)


@each_data_set_where(
    lambda each: each.name in ("azercell3-3node-legacy", "indus-rig-removetopic-snapshots"),
    is_heavy=lambda _: False,
)
def test_what_is_at_least_does_not_depend_on_the_range(data_set: DataSet, tmp_path: Path) -> None:
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        timeline = Timeline(reader)
        every = {key(each): each for each in timeline.outages(0, reader.end_offset).intervals}
        silent = [each for each in every.values() if each.silence_ms]
        assert silent
        for offset in sorted({each.from_offset or 0 for each in silent}):
            # What takes a broker away comes last in its batch.
            (batch,) = reader.batches(offset, offset + 1)
            for first, end in ((offset, batch.end_offset), (offset + 1, reader.end_offset)):
                part = timeline.outages(first, end).intervals
                assert {key(each): each.silence_ms for each in part} == {
                    key(each): every[key(each)].silence_ms for each in part
                }
            # As if a snapshot began there: what was before is looked up.
            image = timeline.image(offset)
            part = find_outages(
                reader,
                reader.end_offset,
                from_offset=offset + 1,
                newest=partial(_newest, image),
            ).intervals
            assert {key(each): each.silence_ms for each in part} == {
                key(each): every[key(each)].silence_ms for each in part
            }
