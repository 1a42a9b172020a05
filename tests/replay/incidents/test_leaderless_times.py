"""Times without a leader: those of real logs against a look at each record, and corner cases."""

from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from replay.incidents.leaderless_times import leaderless_times
from replay.incidents.outage import Outage
from replay.incidents.outages import find_outages
from tests.real_logs import DataSet, each_data_set
from tests.replay.incidents.naive_outages import naive_outages
from tests.replay.incidents.real import imported


@each_data_set
def test_times_of_a_real_log_equal_a_look_at_every_record(
    data_set: DataSet, tmp_path: Path
) -> None:
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    if not rows or rows[0]["offset"] > 0:
        pytest.skip("the state before its first record is not known")
    end = rows[-1]["offset"] + 1
    down = [0] * (end + 1)
    for _, kind, begin, until, *_ in naive_outages(rows, 0):
        if kind == "leaderless":
            # At the record that ends one outage another may begin: no partition in between.
            for offset in range(begin, end if until is None else until + 1):
                down[offset] += 1
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        times = leaderless_times(find_outages(reader, reader.end_offset).intervals)
    found = [0] * (end + 1)
    for time in times:
        assert time.from_offset is not None
        until = end if time.to_offset is None else time.to_offset + 1
        for offset in range(time.from_offset, until):
            found[offset] += 1
    assert [bool(count) for count in down] == [bool(count) for count in found]
    assert max(found) <= 1, "times overlap"


def outage(
    begin: int | None, end: int | None, *, kind: str = "leaderless", now: int = 1_000
) -> Outage:
    """An outage of a topic's partition; record N has time 10 * N, the history begins at 100."""
    from_time = None if begin is None else 10 * begin
    to_time = None if end is None else 10 * end
    return Outage(
        label=f"topic:{begin}",
        kind=kind,
        from_offset=begin,
        from_time=from_time,
        known_cause=None,
        before=None,
        after=None,
        to_offset=end,
        to_time=to_time,
        duration_ms=(now if to_time is None else to_time)
        - (100 if from_time is None else from_time),
    )


@pytest.mark.parametrize(
    ("outages", "times"),
    [
        ([], []),
        ([outage(20, 30, kind="under_replicated")], []),
        ([outage(20, 30)], [(20, 30, 100)]),
        ([outage(20, 30), outage(40, 50)], [(20, 30, 100), (40, 50, 100)]),
        ([outage(40, 50), outage(20, 45), outage(25, 30)], [(20, 50, 300)]),
        ([outage(20, 60), outage(30, 40), outage(55, 58)], [(20, 60, 400)]),
        ([outage(20, None), outage(30, 40), outage(50, 60)], [(20, None, 800)]),
        ([outage(None, 30), outage(25, 40)], [(None, 40, 300)]),
        ([outage(None, 30), outage(25, None)], [(None, None, 900)]),
        ([outage(None, None), outage(25, 30)], [(None, None, 900)]),
        # Clocks that step back make no time negative.
        ([outage(30, None, now=200)], [(30, None, 0)]),
    ],
)
def test_times_that_overlap_are_one(
    outages: list[Outage], times: list[tuple[int | None, int | None, int]]
) -> None:
    for each in outages:
        each.duration_ms = max(0, each.duration_ms)
    found = leaderless_times(outages)
    assert [(t.from_offset, t.to_offset, t.duration_ms) for t in found] == times
    assert sum(t.partitions for t in found) == sum(o.kind == "leaderless" for o in outages)
