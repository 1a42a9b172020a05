"""The ranges that a report's page offers: the incident on which it opens, the most eventful one."""

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


class Incidents:
    """Finds the incident on which the page of a report opens.

    That is what is still wrong at the end; else the last time without a leader that not only
    controlled shutdowns began; else the longest time without a leader.
    """

    def __init__(self, start: int) -> None:
        """Begin at an offset; then call `begun` with the objects that exist there."""
        self._start = start
        self._down = _Period()
        self._short = _Period()
        self._up: set[Any] = set()
        self._last: tuple[int, int] | None = None
        self._longest: tuple[int, tuple[int, int]] | None = None

    def begun(self, objects: Iterable[Touched]) -> Iterator[Touched]:
        """Yield the objects that exist at the start, and note in which state they are."""
        for each in objects:
            self._note(each, is_planned=False)
            yield each
        for period in (self._down, self._short):
            period.follow(self._start, self._start, 0)

    def add(
        self, touched: Iterable[Touched], batch_offset: int, row: Weighed, *, is_planned: bool
    ) -> None:
        """Add the objects that the next row changed.

        Args:
            batch_offset: The first offset of the row's batch, which may contain the cause.
            is_planned: True if a controlled shutdown caused what the row began.
        """
        for each in touched:
            self._note(each, is_planned=is_planned)
        begin = max(batch_offset, self._start)
        self._short.follow(begin, row.offset, row.time)
        if self._down.follow(begin, row.offset, row.time):
            self._end(row.time)

    def found(self, last: int) -> tuple[int, int, str] | None:
        """Return first and last offset of the incident, and its kind of outage; None if there is
        none.

        Args:
            last: The report's last offset.
        """
        down, short = self._down, self._short
        is_off = not self._up
        if down.keys and not (down.is_planned and is_off):
            return *down.until(last), LEADERLESS
        if short.keys and not is_off:
            return *short.until(last), UNDER_REPLICATED
        if self._last is not None:
            return *self._last, LEADERLESS
        if self._longest is not None:
            return *self._longest[1], LEADERLESS
        return (*down.until(last), LEADERLESS) if down.keys else None

    def _note(self, touched: Touched, *, is_planned: bool) -> None:
        if touched.kind == "broker":
            is_up = touched.after is not None and not touched.outages
            (self._up.add if is_up else self._up.discard)(touched.key)
        if touched.kind == "partition":
            self._down.note(touched.key, LEADERLESS in touched.outages, is_planned=is_planned)
            self._short.note(
                touched.key, UNDER_REPLICATED in touched.outages, is_planned=is_planned
            )

    def _end(self, time: int) -> None:
        down = self._down
        if not down.is_planned:
            self._last = down.range
        elif self._longest is None or time - down.time > self._longest[0]:
            self._longest = time - down.time, down.range


class _Period:
    """The current or last period in which any partition was in a kind of outage.

    Attributes:
        keys: The partitions that are in it.
        is_planned: True if controlled shutdowns caused all of it.
        range: First offset, and the last one; of a long period only the beginning.
        time: Append time of the row that began it, ms since 1970.
    """

    def __init__(self) -> None:
        self.keys: set[Any] = set()
        self.is_planned = True
        self.range = (0, 0)
        self.time = 0
        self._was = False
        self._rows = 0

    def note(self, key: Any, is_in: bool, *, is_planned: bool) -> None:
        """Note the state of a partition after the next row."""
        if not is_in:
            self.keys.discard(key)
        elif key not in self.keys:
            self.is_planned = is_planned and (self.is_planned or not self.keys)
            self.keys.add(key)

    def follow(self, begin: int, offset: int, time: int) -> bool:
        """Follow the next row, whose objects were noted; return True if the period ended."""
        was, self._was = self._was, bool(self.keys)
        if self.keys and not was:
            self.range, self.time, self._rows = (begin, offset), time, 0
        elif was and self._rows < ROWS_MAX:
            self.range, self._rows = (self.range[0], offset), self._rows + 1
        return was and not self.keys

    def until(self, last: int) -> tuple[int, int]:
        """Return the range of a period that lasts to the report's last offset."""
        return (self.range[0], last) if self._rows < ROWS_MAX else self.range
