"""Narrows the range of a report until it is small enough to be sent around."""

from collections.abc import Collection
from typing import Any

from replay.report.report import GrowingReport, Progress, Redaction, Report
from replay.timeline import Timeline

# Sizes do not grow evenly with ranges.
_MARGIN = 0.8


class KeptReport:
    """The report that was made last, to go on with when the same is asked for again."""

    def __init__(self) -> None:
        self._key: object = None
        self._report: GrowingReport | None = None
        self._end = 0

    def take(self, key: object, start: int, end: int) -> GrowingReport | None:
        """Return it, if it is of this kind, begins there and does not end later; it is not kept on.

        Args:
            key: Tells all reports of one kind and first offset from others.
            start: First offset from which on states are known.
            end: Exclusive.
        """
        found, self._report = self._report, None
        is_same = key == self._key and self._end <= end
        return found if found is not None and is_same and found.start == start else None

    def keep(self, key: object, report: GrowingReport, end: int) -> None:
        """Keep a report that was made up to the end of the log."""
        self._key, self._report, self._end = key, report, end


def fitting_report(
    timeline: Timeline,
    first: int,
    last: int,
    size_max: int,
    about: dict[str, Any],
    redaction: Redaction,
    progress: Progress,
    topics: Collection[str] | None = None,
    kept: KeptReport | None = None,
) -> Report:
    """Return the report of [first, last], or of as much around its most eventful part as fits.

    Args:
        size_max: Of its packed form, in bytes. One offset may take more: states count as well.
        topics: As for `GrowingReport`.
        kept: The last report with this redaction, which is to be gone on with.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `Timeline.image`.
    """
    source, key = timeline.source, (first, topics)
    start, end = max(first, source.history_start), last + 1
    growing = None if kept is None else kept.take(key, start, end)
    if growing is None:
        growing = GrowingReport(timeline, first, redaction, topics)
    found = growing.until(timeline, last, about, progress)
    if len(found.packed) <= size_max or first >= last:
        # A later part of a batch would be taken for another batch.
        if kept is not None and end == source.end_offset:
            kept.keep(key, growing, end)
        return found
    first, last = narrower(found, size_max)
    return fitting_report(timeline, first, last, size_max, about, redaction, progress, topics)


def narrower(report: Report, size_max: int) -> tuple[int, int]:
    """Return the range to try after one that is too large."""
    length = report.last - report.first + 1
    kept = max(1, min(length - 1, int(length * size_max / len(report.packed) * _MARGIN)))
    begin, end = report.most_eventful or (report.last, report.last)
    first = (begin + end - kept) // 2
    first = min(max(first, report.first), report.last - kept + 1)
    return first, first + kept - 1
