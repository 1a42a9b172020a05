"""The range that a report shows first."""

from replay.report.eventful import ROWS_MAX, WINDOW_MS, Weighed, most_eventful


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
