"""Narrows the range of a report until the report is not larger than the maximum size."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from replay.loader import BatchSource
from replay.report.kept_reports import KeptReports
from replay.report.report import Beside, GrowingReport, Progress, Redaction, Report
from replay.timeline import Timeline

# Sizes do not grow evenly with ranges.
_MARGIN = 0.8


def fitting_report(
    timeline: Timeline,
    first: int,
    last: int,
    size_max: int,
    about: Callable[[], dict[str, Any]],
    redaction: Redaction,
    progress: Progress,
    topics: Collection[str] | None = None,
    kept: KeptReports | None = None,
    known: int | None = None,
    beside: Sequence[Beside] = (),
) -> Report:
    """Return the report of [first, last]; if too large, of a range around its most eventful part.

    Args:
        size_max: Maximum packed size in bytes. The report of a single offset may exceed it, because
            a report also contains the states before its range.
        topics: As for `GrowingReport`.
        kept: Cache of recent reports with this redaction, which are continued if possible.
        known: Last offset of an earlier report of this range, if the caller has one. Then only the
            difference from that report is returned, if it can be computed.
        about, beside: As for `GrowingReport.until`; `beside` is not used for a difference.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `Timeline.image`.
    """
    source, key = timeline.source, (first, topics)
    start, end = max(first, source.history_start), last + 1
    growing = None if kept is None else kept.take(key, start, end)
    if growing is None:
        growing = GrowingReport(timeline, first, redaction, topics)
    found = None
    if known is not None and first <= known <= last and _ends_batch(source, known):
        found = growing.after(timeline, known, last, about, progress)
    if found is None:
        found = growing.until(timeline, last, about, progress, beside)
    if len(found.packed) <= size_max or first >= last:
        # A later part of a batch would be taken for another batch.
        if kept is not None and end == source.end_offset:
            kept.keep(key, growing, end)
        return found
    first, last = narrower(found, size_max)
    return fitting_report(timeline, first, last, size_max, about, redaction, progress, topics)


def _ends_batch(source: BatchSource, offset: int) -> bool:
    return all(batch.end_offset == offset + 1 for batch in source.batches(offset, offset + 1))


def narrower(report: Report, size_max: int) -> tuple[int, int]:
    """Return a smaller range to try next for a report that is too large."""
    length = report.last - report.first + 1
    kept = max(1, min(length - 1, int(length * size_max / len(report.packed) * _MARGIN)))
    begin, end = report.most_eventful or (report.last, report.last)
    first = (begin + end - kept) // 2
    first = min(max(first, report.first), report.last - kept + 1)
    return first, first + kept - 1
