"""Narrows the range of a report until the report is not larger than the maximum size."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from replay.loader import BatchSource
from replay.report.gaps import Range
from replay.report.kept_reports import KeptReports
from replay.report.report import Beside, GrowingReport, Progress, Redaction, Report

# Sizes do not grow evenly with ranges.
_MARGIN = 0.8


def fitting_report(
    wanted: Range,
    size_max: int,
    about: Callable[[], dict[str, Any]],
    redaction: Redaction,
    progress: Progress,
    topics: Collection[str] | None = None,
    kept: KeptReports | None = None,
    known: int | None = None,
    beside: Sequence[Beside] = (),
) -> Report:
    """Return the report of a range; if too large, of a range around its most eventful part.

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
    timeline, first, last, _ = wanted
    source = timeline.source
    key, end = (first, topics, source.history_start), last + 1
    growing = None if kept is None else kept.take(key, wanted.start, end)
    if growing is None or not growing.goes_on(source):
        growing = _begun(wanted, redaction, topics)
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
    smaller = wanted.narrowed(*narrower(found, size_max))
    return fitting_report(smaller, size_max, about, redaction, progress, topics)


def _begun(wanted: Range, redaction: Redaction, topics: Collection[str] | None) -> GrowingReport:
    """Return the report of a range, up to where its last part begins."""
    logs = [*(part.timeline for part in wanted.before), wanted.timeline]
    growing = GrowingReport(logs[0], wanted.first, redaction, topics)
    for part, after in zip(wanted.before, logs[1:], strict=True):
        growing.cross(part, after)
    return growing


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
