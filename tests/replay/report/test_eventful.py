"""The range that a report shows first."""

import math
from collections.abc import Iterable
from pathlib import Path

from api.questions.redaction import redact_field, redact_label
from metadata_log.reader.log_reader import LogReader
from replay.incidents.health import FENCED, LEADERLESS, SHUTTING_DOWN, UNDER_REPLICATED
from replay.incidents.leaderless_times import leaderless_times
from replay.incidents.outage import Outage
from replay.report.eventful import ROWS_MAX, WINDOW_MS, Incidents, MostEventful, Weighed
from replay.report.object_changes import Touched
from replay.report.report import GrowingReport, Redaction
from replay.timeline import Timeline
from tests.real_logs import DataSet, each_data_set
from tests.replay.incidents.real import imported


def most_eventful(rows: Iterable[Weighed]) -> tuple[int, int] | None:
    window = MostEventful()
    for row in rows:
        window.add(row)
    return window.found


def test_the_window_with_the_most_weight_is_chosen() -> None:
    quiet = [Weighed(n, n * 1_000, 1) for n in range(20)]
    night = [Weighed(100 + n, 10 * WINDOW_MS + n, 20) for n in range(5)]
    assert most_eventful([*quiet, *night]) == (100, 104)


def test_records_that_change_nothing_do_not_count() -> None:
    assert most_eventful([Weighed(n, n, 0) for n in range(9)]) is None
    assert most_eventful([]) is None
    assert most_eventful([Weighed(1, 1, 0), Weighed(2, 2, 3), Weighed(3, 3, 0)]) == (2, 2)


def test_a_window_has_bounds() -> None:
    first, last = most_eventful([Weighed(n, n, 1) for n in range(2 * ROWS_MAX)]) or (0, 0)
    assert last - first + 1 == ROWS_MAX
    far = [Weighed(n, n * WINDOW_MS, 1) for n in range(4)]
    first, last = most_eventful(far) or (0, 0)
    assert last - first <= 1


_END = 99
"""The last offset of the report."""

Rows = list[tuple[int, list[Touched]]]


def touched(partition: int, *outages: str) -> Touched:
    return Touched("partition", partition, f"partition:t/{partition}", {}, {}, outages)


def broker(*outages: str) -> Touched:
    return Touched("broker", 1, "broker:1", {}, {}, outages)


def incident(
    rows: Rows, *down: int, planned: tuple[int, ...] = (), end: int = _END
) -> tuple[int, int, str] | None:
    """Return what is found in rows after a state, each a batch of its own of which the row is the
    last record.

    Args:
        rows: The offset of each row, which is its time in seconds, too, and what it changed.
        planned: Offsets of rows that controlled shutdowns caused.
    """
    found = Incidents(10)
    objects = [broker(), *(touched(number, LEADERLESS) for number in down)]
    assert list(found.begun(objects)) == objects
    for offset, objects in rows:
        row = Weighed(offset, offset * 1000, 0)
        found.add(objects, offset - 1, row, is_planned=offset in planned)
    return found.found(end)


_DOWN, _UP = [touched(1, LEADERLESS)], [touched(1)]
_OTHER_DOWN, _OTHER_UP = [touched(2, LEADERLESS)], [touched(2)]
_SHORT = [touched(1, UNDER_REPLICATED)]


def test_without_an_incident_there_is_nothing_to_open() -> None:
    assert incident([]) is None
    assert incident([(11, _UP), (12, _SHORT), (13, _UP)]) is None


def test_the_last_time_without_a_leader_is_found_from_its_batch_to_its_end() -> None:
    assert incident([(20, _DOWN), (30, _UP), (40, _UP)]) == (19, 30, LEADERLESS)
    twice: Rows = [(20, _DOWN), (30, _UP), (40, _DOWN), (50, _UP), (60, _UP)]
    assert incident(twice) == (39, 50, LEADERLESS)
    # Two that overlap are one.
    overlapping: Rows = [(20, _DOWN), (25, _OTHER_DOWN), (30, _UP), (40, _OTHER_UP)]
    assert incident(overlapping) == (19, 40, LEADERLESS)
    # What was so at the beginning began there.
    assert incident([(20, _UP)], 1) == (10, 20, LEADERLESS)


def test_what_is_wrong_at_the_end_comes_first() -> None:
    lasting: Rows = [(20, _DOWN), (30, _UP), (40, _OTHER_DOWN), (45, _UP), (60, _UP)]
    assert incident(lasting) == (39, _END, LEADERLESS)
    assert incident([], 1) == (10, _END, LEADERLESS)
    short: Rows = [(20, _SHORT), (30, _OTHER_DOWN), (40, _OTHER_UP), (50, _SHORT)]
    assert incident(short) == (19, _END, UNDER_REPLICATED)
    # A leader is missed more than a replica.
    assert incident([*short, (60, _OTHER_DOWN)]) == (59, _END, LEADERLESS)


def test_a_planned_stop_is_opened_only_without_another_incident() -> None:
    stops: Rows = [(20, _DOWN), (35, _UP), (40, _DOWN), (50, _UP)]
    assert incident(stops, planned=(40,)) == (19, 35, LEADERLESS)
    # Of planned ones the longest.
    assert incident(stops, planned=(20, 40)) == (19, 35, LEADERLESS)
    # One that also had another cause was not only planned.
    mixed: Rows = [*stops, (60, _DOWN), (65, _OTHER_DOWN), (70, _UP), (71, _OTHER_UP)]
    assert incident(mixed, planned=(20, 40, 60)) == (59, 71, LEADERLESS)


def test_a_cluster_that_was_shut_down_in_order_is_not_wrong_at_the_end() -> None:
    stopping: Rows = [(40, [broker(SHUTTING_DOWN)]), (41, _DOWN), (44, [broker(FENCED)])]
    before: Rows = [(20, _DOWN), (30, _UP)]
    assert incident([*before, *stopping], planned=(41,)) == (19, 30, LEADERLESS)
    assert incident(stopping, planned=(41,)) == (40, _END, LEADERLESS)
    assert incident([*before, *stopping]) == (40, _END, LEADERLESS)
    # While another broker is up, its partitions should have a leader.
    assert incident([*before, (41, _DOWN)], planned=(41,)) == (40, _END, LEADERLESS)


def test_a_long_time_is_shown_from_its_beginning() -> None:
    rows: Rows = [(20 + number, [touched(2, UNDER_REPLICATED)]) for number in range(2 * ROWS_MAX)]
    first, last, _ = incident([(15, _DOWN), *rows], end=30 + 2 * ROWS_MAX) or (0, 0, "")
    assert first == 14
    assert last < 20 + ROWS_MAX


def _expected(timeline: Timeline, first: int, end: int) -> tuple[int | None, int | None] | None:
    """Return begin and end of what a report opens on, from the outages; None if there was none."""
    outages = timeline.outages(first, end).intervals
    brokers = list(timeline.image(end - 1).brokers())
    is_off = all(each.fenced or each.in_controlled_shutdown for each in brokers)
    times = leaderless_times(outages)
    lasting = [each for each in times if each.to_offset is None]
    if lasting and not (lasting[-1].is_planned and is_off):
        return lasting[-1].from_offset, None
    short = [each for each in outages if each.kind == UNDER_REPLICATED]
    if not is_off and any(each.to_offset is None for each in short):
        return _joined_end(short), None
    over = [each for each in times if each.to_offset is not None] or times
    unplanned = [each for each in over if not each.is_planned]
    if not over:
        return None
    chosen = unplanned[-1] if unplanned else max(over, key=lambda each: each.duration_ms)
    return chosen.from_offset, chosen.to_offset


def _joined_end(outages: list[Outage]) -> int | None:
    """Return when the last time began in which any object was in an outage without a pause."""
    begin: int | None = None
    end: float = -1
    for each in sorted(outages, key=lambda each: each.from_offset or -1):
        if (each.from_offset or -1) > end:
            begin = each.from_offset
        end = max(end, math.inf if each.to_offset is None else each.to_offset)
    return begin


@each_data_set
def test_a_report_of_a_real_log_opens_on_its_incident(data_set: DataSet, tmp_path: Path) -> None:
    """As the outages, which are found without the report's rows, tell it."""
    redaction = Redaction(redact_field, redact_label, lambda header: header)
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        timeline, end = Timeline.of(reader), reader.end_offset
        report = GrowingReport(timeline, reader.history_start, redaction)
        opens = report.until(timeline, end - 1, dict).opens if end else None
        expected = _expected(timeline, reader.history_start, end) if end else None
        assert (opens is None) == (expected is None)
        if opens is not None and expected is not None:
            begin, until = expected
            first = reader.history_start if begin is None else begin
            assert opens[0] <= first <= opens[1]
            until = end - 1 if until is None else until
            if until - opens[0] < ROWS_MAX:
                assert opens[1] == until
