"""The range that a report's page shows first: the last incident, else the most eventful one."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from replay.incidents.health import FENCED, LEADERLESS, SHUTTING_DOWN, UNDER_REPLICATED
from replay.report.object_changes import Touched
from replay.time_travel.effects import Effect

WINDOW_MS = 10 * 60_000
"""Maximum duration of the most eventful range, in ms."""

ROWS_MAX = 4_000
"""Maximum number of changes in the range; of a longer incident, the beginning is shown."""

_WEIGHTS = {LEADERLESS: 200, UNDER_REPLICATED: 50, FENCED: 200, SHUTTING_DOWN: 100}
_CHANGED = 10
# New objects come in large numbers and are no incident.
_NEW = 1


class Weighed(NamedTuple):
    """A record's offset, time and weight; a higher weight means a more important change."""

    offset: int
    time: int
    weight: int


def weighed(effect: Effect, touched: Iterable[Touched]) -> Weighed:
    """Return a record with its weight, highest if the record leaves objects in an outage.

    Args:
        touched: The objects that the record changed, as far as the report shows them.
    """
    return Weighed(effect.offset, effect.row.timestamp, sum(map(_weight, touched)))


def _weight(touched: Touched) -> int:
    if touched.before is None:
        return _NEW
    return _CHANGED + sum(_WEIGHTS.get(outage, 0) for outage in touched.outages)


class MostEventful:
    """Finds the window with the largest weight.

    Attributes:
        found: First and last offset of the window; None while all rows weigh 0.
    """

    def __init__(self) -> None:
        self.found: tuple[int, int] | None = None
        self._known: deque[Weighed] = deque()
        self._best = self._total = 0

    def add(self, row: Weighed) -> None:
        """Add the next row."""
        if not row.weight:
            return
        known = self._known
        known.append(row)
        self._total += row.weight
        while row.time - known[0].time > WINDOW_MS or len(known) > ROWS_MAX:
            self._total -= known.popleft().weight
        if self._total > self._best:
            self._best, self.found = self._total, (known[0].offset, row.offset)


class LastIncident:
    """Finds the last period in which any partition had no leader.

    Attributes:
        found: First and last offset of the period, including the batch that began it; None if no
            partition was without a leader so far.
    """

    def __init__(self, start: int) -> None:
        """Begin at an offset; then call `begun` with the objects that exist there."""
        self.found: tuple[int, int] | None = None
        self._down: set[Any] = set()
        self._rows = 0
        self._start = start

    def begun(self, objects: Iterable[Touched]) -> Iterator[Touched]:
        """Yield the objects that exist at the start, and note which have no leader."""
        for each in objects:
            self._note(each)
            yield each
        if self._down:
            self.found = self._start, self._start

    def _note(self, touched: Touched) -> None:
        if touched.kind == "partition":
            change = self._down.add if LEADERLESS in touched.outages else self._down.discard
            change(touched.key)

    def add(self, touched: Iterable[Touched], batch_offset: int, offset: int) -> None:
        """Add the objects that the next row changed.

        Args:
            batch_offset: The first offset of the row's batch, which may contain the cause.
        """
        was_down = bool(self._down)
        for each in touched:
            self._note(each)
        if self._down and not was_down:
            self.found, self._rows = (max(batch_offset, self._start), offset), 0
        elif was_down and self.found is not None and self._rows < ROWS_MAX:
            self.found, self._rows = (self.found[0], offset), self._rows + 1
