"""Filters that Spark pushes down to the source: bounds of offsets and times, and sets of names.

Spark applies all filters again, so a reader may return more rows than the filters keep.
"""

import datetime
from collections.abc import Iterable
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from metadata_log.format.manifest import Kind
from records.errors import UnknownHistoryError
from replay.audit.earlier_part import KeptHistory
from replay.audit.pruning import Bounds
from replay.audit.queries.asking import Range

_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
_LOWER = (GreaterThan, GreaterThanOrEqual, EqualTo, EqualNullSafe)
_UPPER = (LessThan, LessThanOrEqual, EqualTo, EqualNullSafe)


class PushedFilters:
    """Keeps a reader's filters.

    Only readers of a session that pushes filters down may have the method `pushFilters`: in other
    sessions, Spark refuses all queries of a reader that has the method.
    """

    filters: tuple[Filter, ...] = ()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        self.filters = tuple(filters)
        return filters


def bounds_of(filters: Iterable[Filter]) -> Bounds:
    """Return inclusive bounds of offset and time that hold for all rows the filters keep."""
    return reduce(and_, map(_bounds, filters), Bounds())


def names_of(filters: Iterable[Filter], column: str) -> frozenset[str] | None:
    """Return the values that the filters leave for a column of text; None: any value."""
    found: frozenset[str] | None = None
    for each in filters:
        match each:
            case EqualTo(attribute=(name,), value=value) if name == column:
                values = frozenset({value})
            case In(attribute=(name,), value=some) if name == column:
                values = frozenset(some)
            case _:
                continue
        found = values if found is None else found & values
    return found


def narrowed(reader: KeptHistory, offsets: Range, bounds: Bounds) -> Range:
    """Return the part of a range that has all records within bounds."""
    first, last = max(offsets.first, bounds.first), min(offsets.last, bounds.last)
    if bounds.from_ms > 0:
        first = max(first, _first_at(reader, bounds.from_ms))
    # In a mirror, an earlier time may follow a later one.
    if bounds.to_ms < Bounds().to_ms and reader.kind is Kind.OWN:
        last = min(last, _last_at(reader, bounds.to_ms))
    return Range(first, last)


def _first_at(reader: KeptHistory, timestamp: int) -> int:
    try:
        return reader.first_offset_at(timestamp)
    except UnknownHistoryError:
        return reader.start_offset


def _last_at(reader: KeptHistory, timestamp: int) -> int:
    try:
        return reader.last_offset_at(timestamp)
    except UnknownHistoryError:
        return reader.start_offset - 1


def _bounds(each: Filter) -> Bounds:
    value = getattr(each, "value", None)
    match getattr(each, "attribute", None):
        case ("offset",):
            least, most = _limits(each, value)
            return Bounds(first=least, last=most)
        case ("timestamp",):
            least, most = _limits(each, value)
            return Bounds(from_ms=least, to_ms=most)
        case ("time",) if isinstance(value, datetime.datetime) and value.tzinfo:
            # Down to the millisecond, for both bounds: they are inclusive.
            least, most = _limits(each, (value - _EPOCH) // datetime.timedelta(milliseconds=1))
            return Bounds(from_ms=least, to_ms=most)
    return Bounds()


def _limits(each: Filter, value: Any) -> tuple[int, int]:
    never = Bounds()
    if not isinstance(value, int):
        return never.first, never.last
    lower = value if isinstance(each, _LOWER) else never.first
    upper = value if isinstance(each, _UPPER) else never.last
    return lower, upper
