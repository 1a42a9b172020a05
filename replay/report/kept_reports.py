"""Cache of recent reports, which continue as their log grows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replay.report.report import GrowingReport

KEPT_MAX = 16
"""Maximum number of cached reports."""

KEPT_TOUCHES_MAX = 250_000
"""Maximum total of changed objects, about 1 KiB each; a single cached report may have more."""


class KeptReports:
    """Cache of recent reports, so that a repeated request can continue its report."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[GrowingReport, int]] = {}

    def take(self, key: object, start: int, end: int) -> "GrowingReport | None":
        """Remove a cached report and return it if it can be continued, else None.

        A report can be continued if it starts at `start`, and does not end after `end`.

        Args:
            key: Identifies all reports of one kind and first offset.
            start: First offset at which the state is known.
            end: Exclusive end of the requested report.
        """
        found, kept_end = self._kept.pop(key, (None, 0))
        return found if found is not None and kept_end <= end and found.start == start else None

    def keep(self, key: object, report: "GrowingReport", end: int) -> None:
        """Cache a report that ends with the log; when full, drop the least recently used one."""
        self._kept[key] = report, end
        while len(self._kept) > 1 and (
            len(self._kept) > KEPT_MAX
            or sum(kept.touches for kept, _ in self._kept.values()) > KEPT_TOUCHES_MAX
        ):
            del self._kept[next(iter(self._kept))]
