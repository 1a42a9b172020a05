"""The range that a report shows first."""

from collections.abc import Iterable
from pathlib import Path

from api.questions.redaction import redact_field, redact_label
from metadata_log.reader.log_reader import LogReader
from replay.incidents.health import LEADERLESS, UNDER_REPLICATED
from replay.incidents.leaderless_times import leaderless_times
from replay.report.eventful import ROWS_MAX, WINDOW_MS, LastIncident, MostEventful, Weighed
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


def touched(partition: int, *outages: str) -> Touched:
    return Touched("partition", partition, f"partition:t/{partition}", {}, {}, outages)


def incident(rows: list[tuple[int, list[Touched]]], *down: int) -> tuple[int, int] | None:
    """Return what is found in rows (each with its offset, a batch of its own) after a state."""
    last = LastIncident(10)
    objects = [touched(number, LEADERLESS) for number in down]
    assert list(last.begun(objects)) == objects
    for offset, objects in rows:
        last.add(objects, offset - 1, offset)
    return last.found


def test_the_last_time_without_a_leader_is_found_from_its_batch_to_its_end() -> None:
    down, up = [touched(1, LEADERLESS)], [touched(1)]
    other_down, other_up = [touched(2, LEADERLESS)], [touched(2)]
    assert incident([]) is None
    assert incident([(11, up), (12, [touched(1, UNDER_REPLICATED)])]) is None
    assert incident([(20, down), (30, up), (40, up)]) == (19, 30)
    assert incident([(20, down), (30, up), (40, down), (50, up), (60, up)]) == (39, 50)
    # Two that overlap are one; what goes on at the end is shown to the end.
    assert incident([(20, down), (25, other_down), (30, up), (40, other_up)]) == (19, 40)
    assert incident([(20, down), (30, up), (40, other_down), (45, up), (60, up)]) == (39, 60)
    # What was so at the beginning began there.
    assert incident([(20, up)], 1) == (10, 20)
    assert incident([], 1) == (10, 10)


def test_a_long_time_is_shown_from_its_beginning() -> None:
    rows = [(20 + number, [touched(2, UNDER_REPLICATED)]) for number in range(2 * ROWS_MAX)]
    first, last = incident([(15, [touched(1, LEADERLESS)]), *rows]) or (0, 0)
    assert first == 14
    assert last < 20 + ROWS_MAX


@each_data_set
def test_a_report_of_a_real_log_opens_on_its_last_time_without_a_leader(
    data_set: DataSet, tmp_path: Path
) -> None:
    """As the outages, which are found without the report's rows, tell it."""
    redaction = Redaction(redact_field, redact_label, lambda header: header)
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        timeline, end = Timeline.of(reader), reader.end_offset
        times = leaderless_times(timeline.outages(reader.history_start, end).intervals)
        report = GrowingReport(timeline, reader.history_start, redaction)
        opens = report.until(timeline, end - 1, dict).opens if end else None
        if times and opens is not None:
            begin = times[-1].from_offset
            first = reader.history_start if begin is None else begin
            assert opens[0] <= first <= opens[1]
            until = times[-1].to_offset
            if until is not None and until - opens[0] < ROWS_MAX:
                assert opens[1] == until
