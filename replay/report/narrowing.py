"""Narrows the range of a report until the report is not larger than the maximum size."""

from collections.abc import Collection
from typing import Any

from replay.loader import BatchSource
from replay.report.report import GrowingReport, Progress, Redaction, Report
from replay.timeline import Timeline

# Sizes do not grow evenly with ranges.
_MARGIN = 0.8


KEPT_MAX = 16
"""How many reports are kept."""

KEPT_TOUCHES_MAX = 250_000
"""How many changed objects they have together, but for the last one alone: about 1 KiB each."""


class KeptReports:
    """Cache of recent reports, so that a repeated request can continue its report."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[GrowingReport, int]] = {}

    def take(self, key: object, start: int, end: int) -> GrowingReport | None:
        """Remove a cached report and return it if it can be continued, else None.

        A report can be continued if it starts at `start`, and does not end after `end`.

        Args:
            key: Identifies all reports of one kind and first offset.
            start: First offset from which on states are known.
            end: Exclusive end of the requested report.
        """
        found, kept_end = self._kept.pop(key, (None, 0))
        return found if found is not None and kept_end <= end and found.start == start else None

    def keep(self, key: object, report: GrowingReport, end: int) -> None:
        """Cache a report that ends with the log; when full, drop the least recently used one."""
        self._kept[key] = report, end
        while len(self._kept) > 1 and (
            len(self._kept) > KEPT_MAX
            or sum(kept.touches for kept, _ in self._kept.values()) > KEPT_TOUCHES_MAX
        ):
            del self._kept[next(iter(self._kept))]


def fitting_report(
    timeline: Timeline,
    first: int,
    last: int,
    size_max: int,
    about: dict[str, Any],
    redaction: Redaction,
    progress: Progress,
    topics: Collection[str] | None = None,
    kept: KeptReports | None = None,
    known: int | None = None,
) -> Report:
    """Return the report of [first, last]; if too large, of a range around its most eventful part.

    Args:
        size_max: Maximum packed size in bytes. The report of a single offset may exceed it, because
            a report also contains the states before its range.
        topics: As for `GrowingReport`.
        kept: Cache of recent reports with this redaction, which are continued if possible.
        known: Last offset of an earlier report of this range, if the caller has one. Then only the
            difference from that report is returned, if it can be computed.

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
        found = growing.until(timeline, last, about, progress)
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
