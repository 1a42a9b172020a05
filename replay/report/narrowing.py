"""Narrows the range of a report until it is small enough to be sent around."""

from collections.abc import Collection
from typing import Any

from replay.report.report import Progress, Redaction, Report, make_report
from replay.timeline import Timeline

# Sizes do not grow evenly with ranges.
_MARGIN = 0.8


def fitting_report(
    timeline: Timeline,
    first: int,
    last: int,
    size_max: int,
    about: dict[str, Any],
    redaction: Redaction,
    progress: Progress,
    topics: Collection[str] | None = None,
) -> Report:
    """Return the report of [first, last], or of as much around its most eventful part as fits.

    Args:
        size_max: Of its packed form, in bytes. One offset may take more: states count as well.
        topics: As for `make_report`.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `make_report`.
    """
    while True:
        found = make_report(timeline, first, last, about, redaction, progress, topics)
        if len(found.packed) <= size_max or first >= last:
            return found
        first, last = narrower(found, size_max)


def narrower(report: Report, size_max: int) -> tuple[int, int]:
    """Return the range to try after one that is too large."""
    length = report.last - report.first + 1
    kept = max(1, min(length - 1, int(length * size_max / len(report.packed) * _MARGIN)))
    begin, end = report.most_eventful or (report.last, report.last)
    first = (begin + end - kept) // 2
    first = min(max(first, report.first), report.last - kept + 1)
    return first, first + kept - 1
