"""Selects the segments a query needs, from bounds of offset and time in its optimized plan.

Spark's optimizer moves conditions down to the scan, folds constants and splits BETWEEN into two
comparisons. Conditions directly above the scan, such as `offset >= 5` or `time < TIMESTAMP '...'`,
bound the rows that the query reads.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

from py4j.java_gateway import JavaObject

VIEW_OPTION = "metalog.view"
"""Option of the reader that marks a scan of the view `log`."""

_EVER = 2**63 - 1
_MINUS = {"LessThan": "GreaterThan", "LessThanOrEqual": "GreaterThanOrEqual"}
_MIRRORED = _MINUS | {mirrored: name for name, mirrored in _MINUS.items()} | {"EqualTo": "EqualTo"}
_US_PER_MS = 1_000


@dataclass(frozen=True)
class Bounds:
    """Inclusive bounds of all rows that a query reads; `a | b` are bounds that cover a and b."""

    first: int = -_EVER
    last: int = _EVER
    from_ms: int = -_EVER
    to_ms: int = _EVER

    def __and__(self, other: "Bounds") -> "Bounds":
        return self._combined(other, max, min)

    def __or__(self, other: "Bounds") -> "Bounds":
        return self._combined(other, min, max)

    def _combined(self, other: "Bounds", lower: Any, upper: Any) -> "Bounds":
        return Bounds(
            lower(self.first, other.first),
            upper(self.last, other.last),
            lower(self.from_ms, other.from_ms),
            upper(self.to_ms, other.to_ms),
        )


def bounds_of(plan: JavaObject) -> Bounds:
    """Return bounds that cover all scans of the view `log` in an optimized plan."""
    found = list(_scans(plan))
    return reduce(operator.or_, found) if found else Bounds()


def _scans(node: JavaObject) -> Iterator[Bounds]:
    name = _name(node)
    if name == "Filter" and _is_log(node.child()):
        yield _bounds(node.condition())
    elif _is_log(node):
        yield Bounds()
    else:
        for child in _each(node.children()):
            yield from _scans(child)
    for inner in _each(node.subqueries()):
        yield from _scans(inner)


def _is_log(node: JavaObject) -> bool:
    # By Spark's own reader, or by ours (python_source.py).
    name = _name(node)
    if name == "LogicalRelation" and _name(node.relation()) == "HadoopFsRelation":
        return bool(node.relation().options().contains(VIEW_OPTION))
    if name == "DataSourceV2ScanRelation":
        return bool(node.relation().options().containsKey(VIEW_OPTION))
    return False


def _bounds(condition: JavaObject) -> Bounds:
    name = _name(condition)
    if name == "And":
        return _bounds(condition.left()) & _bounds(condition.right())
    if name == "Or":
        return _bounds(condition.left()) | _bounds(condition.right())
    if name not in _MIRRORED:
        return Bounds()
    left, right = condition.left(), condition.right()
    if _name(left) == "Literal":
        name, left, right = _MIRRORED[name], right, left
    if _name(right) != "Literal" or right.value() is None:
        return Bounds()
    return _bound(name, left, right.value())


def _bound(comparison: str, value: JavaObject, limit: Any) -> Bounds:
    is_time = _name(value) == "MillisToTimestamp"
    attribute = value.child() if is_time else value
    if _name(attribute) != "AttributeReference" or not isinstance(limit, int):
        return Bounds()
    column = attribute.name()
    if column != "timestamp" and (is_time or column != "offset"):
        return Bounds()
    lower = comparison in ("GreaterThan", "GreaterThanOrEqual", "EqualTo")
    upper = comparison in ("LessThan", "LessThanOrEqual", "EqualTo")
    # A time may be between two milliseconds, so that its bound stays inclusive.
    beside = int(comparison in ("GreaterThan", "LessThan") and not is_time)
    limit = limit // _US_PER_MS if is_time else limit
    least = limit + beside if lower else -_EVER
    most = limit - beside if upper else _EVER
    if column == "offset":
        return Bounds(first=least, last=most)
    return Bounds(from_ms=least, to_ms=most)


def _name(value: JavaObject) -> str:
    name: str = value.getClass().getSimpleName()
    return name.rstrip("$")


def _each(values: JavaObject) -> Iterator[JavaObject]:
    iterator = values.iterator()
    while iterator.hasNext():
        yield iterator.next()
