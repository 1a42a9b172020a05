"""Gaps of a recording in a report: a row and an event list the changes found after each gap.

When, in which order and by whom these changes were made is not known, so the row has no cause.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from metadata_log.format.parts import Gap
from replay.report.columns import RowPlace
from replay.report.object_changes import Touched
from replay.timeline import Timeline

GAP = "gap"
"""Type of the row, and kind of the event, that stand for a gap."""


class PartBefore(NamedTuple):
    """An earlier part of a recording, and the gap after it."""

    timeline: Timeline
    gap: Gap


class Range(NamedTuple):
    """A range [first, last] of a recording; `last` is in the log of `timeline`.

    Attributes:
        before: The earlier parts in the range, oldest first.
    """

    timeline: Timeline
    first: int
    last: int
    before: Sequence[PartBefore] = ()

    def narrowed(self, first: int, last: int) -> "Range":
        """Return this range reduced to [first, last], which must lie inside it.

        A start in a gap moves to the end of the gap, an end in a gap to the offset before the gap.
        """
        timeline, before = self.timeline, list(self.before)
        while before and last < before[-1].gap.to_offset:
            timeline, gap = before.pop()
            last = min(last, gap.from_offset - 1)
            first = min(first, last)
        while before and first > before[0].gap.from_offset:
            first = max(first, before.pop(0).gap.to_offset)
        return Range(timeline, first, last, before)

    @property
    def start(self) -> int:
        """First offset at which the state is known."""
        oldest = self.before[0].timeline if self.before else self.timeline
        return max(self.first, oldest.source.history_start)


def gap_row(gap: Gap) -> RowPlace:
    """Return the place of the row that stands for a gap: that of the snapshot after it."""
    return RowPlace(gap.to_offset - 1, gap.to_offset - 1, gap.to_time, GAP, None)


def not_recorded(gap: Gap) -> str:
    """Return a text such as `offsets 410 to 799 were not recorded`."""
    return f"offsets {gap.from_offset} to {gap.to_offset - 1} were not recorded"


def found_text(found: Iterable[Touched]) -> str:
    """Return a text such as `found after them: 2 topics new, 1 partition changed`."""
    counts = Counter((each.kind, _fate(each)) for each in found)
    said = [
        f"{count:,} {kind}{'' if count == 1 else 's'} {fate}"
        for (kind, fate), count in counts.items()
    ]
    return f"found after them: {', '.join(said)}" if said else "nothing differs after them"


def _fate(touched: Touched) -> str:
    if touched.before is None:
        return "new"
    return "gone" if touched.after is None else "changed"
