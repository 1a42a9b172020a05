"""The most eventful range of a report, which its page shows first."""

from collections.abc import Iterable
from typing import NamedTuple

from replay.incidents.outage import FENCED, LEADERLESS, SHUTTING_DOWN, UNDER_REPLICATED
from replay.report.object_changes import EffectiveRow, Touched

WINDOW_MS = 10 * 60_000
"""The range lasts no longer."""

ROWS_MAX = 4_000
"""It has no more changes, else it could not be read."""

_WEIGHTS = {LEADERLESS: 200, UNDER_REPLICATED: 50, FENCED: 200, SHUTTING_DOWN: 100}
_CHANGED = 10
# New objects come in large numbers and are no incident.
_NEW = 1


class Weighed(NamedTuple):
    """A record's offset, time and weight; a higher weight means a more important change."""

    offset: int
    time: int
    weight: int


def weighed(each: EffectiveRow) -> Weighed:
    """Return a record with its weight; changes that leave an object in an outage weigh most."""
    weight = sum(map(_weight, each.touched))
    return Weighed(each.effect, each.row.timestamp, weight)


def _weight(touched: Touched) -> int:
    if touched.before is None:
        return _NEW
    return _CHANGED + sum(_WEIGHTS.get(outage, 0) for outage in touched.outages)


def most_eventful(rows: Iterable[Weighed]) -> tuple[int, int] | None:
    """Return first and last offset of the window with the largest weight; None if all weigh 0."""
    known = [row for row in rows if row.weight]
    best, found, total, first = 0, None, 0, 0
    for last, row in enumerate(known):
        total += row.weight
        while row.time - known[first].time > WINDOW_MS or last - first >= ROWS_MAX:
            total -= known[first].weight
            first += 1
        if total > best:
            best, found = total, (known[first].offset, row.offset)
    return found
