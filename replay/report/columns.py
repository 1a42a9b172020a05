"""Columns: compact encoding of objects' states and changes; docs/report.md describes the format.

The first row creates every object in its state before the range. Each further row contains the
changes of one record, without the previous values: those can be found in the earlier rows.
"""

import zlib
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from records.envelope import Origin
from records.text import uuid_text
from replay.incidents.outage import FENCED, LEADERLESS, SHUTTING_DOWN, UNDER_REPLICATED
from replay.report import varints
from replay.report.object_changes import Touched
from replay.time_travel.changes import natural
from replay.time_travel.kinds import KINDS, Fields

OUTAGES = (LEADERLESS, UNDER_REPLICATED, FENCED, SHUTTING_DOWN)
"""Outages that have a bit in the column `outages`, from the lowest."""

NEW, CHANGED, GONE = range(3)

Redact = Callable[[str, str, Any], Any]
"""Given a kind, a field and its value, returns what may be shown."""

# Integers that a double holds exactly.
_EXACT = 2**53
# The best takes 4 times as long, for 2 % less.
_LEVEL = 6
# A key of these begins with the id of a topic and ends with numbers.
_IN_TOPIC = frozenset({"partition", "removal"})
_KINDS = {name: index for index, name in enumerate(KINDS)}


class RowPlace(NamedTuple):
    """Offset, time, type and origin of a record; `effect` is the offset where it takes effect."""

    offset: int
    effect: int
    time: int
    type: str
    origin: Origin | None


class Columns:
    """Collects rows and encodes them."""

    def __init__(
        self, redact: Redact, redact_label: Callable[[str, str], str] = lambda kind, label: label
    ) -> None:
        self._redact, self._redact_label = redact, redact_label
        self._types, self._origins, self._values = _Numbers(), _Numbers(), _Numbers()
        self._fields, self._shapes, self._objects = _Numbers(), _Numbers(), _Numbers()
        self._origins[None], self._values[_value_key(None, None)] = None, None
        self._labels: list[str] = []
        # One entry a row.
        self._offset, self._delay, self._time = array("q"), array("q"), array("q")
        self._type, self._origin, self._touches = array("q"), array("q"), array("q")
        # One entry an object that a row changes.
        self._object, self._shape, self._outages = array("q"), array("q"), array("q")
        # Of each field: the object, and the value's number.
        self._of_field: list[tuple[array[int], array[int]]] = []

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._offset)

    @property
    def touches(self) -> int:
        """The number of objects changed, summed over the rows."""
        return len(self._object)

    def add(self, place: RowPlace, touched: Iterable[Touched]) -> None:
        """Add a row with the objects it changes."""
        before = len(self._object)
        for each in touched:
            self._touch(each)
        self._offset.append(place.offset)
        self._delay.append(place.effect - place.offset)
        self._time.append(place.time)
        self._type.append(self._types[place.type])
        self._origin.append(self.origin(place.origin))
        self._touches.append(len(self._object) - before)

    def origin(self, origin: Origin | None) -> int:
        """Return the index of an origin in the header's `origins`."""
        if origin is None:
            return self._origins[None]
        return self._origins[origin.principal, origin.command, origin.reason, origin.client]

    def object(self, kind: str, key: Hashable, label: str) -> int:
        """Return the number of an object, assigned in the order in which objects are first seen."""
        number = self._objects[kind, key]
        if number == len(self._labels):
            self._labels.append(self._redact_label(kind, label))
        return number

    def _touch(self, each: Touched) -> None:
        number = self.object(each.kind, each.key, each.label)
        fate, fields = _set_fields(each)
        numbers = tuple([self._fields[each.kind, name] for name in fields])
        while len(self._of_field) < len(self._fields):
            self._of_field.append((array("q"), array("q")))
        for field, (name, value) in zip(numbers, fields.items(), strict=True):
            objects, values = self._of_field[field]
            objects.append(number)
            shown = self._redact(each.kind, name, value)
            values.append(
                self._values[_value_key(shown, None if shown == value else (field, number, value))]
            )
        self._object.append(number)
        self._shape.append(self._shapes[fate, numbers])
        self._outages.append(
            sum(1 << OUTAGES.index(kind) for kind in each.outages if kind in OUTAGES)
        )

    def encoded(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return the fields for the report's header, and the columns."""
        order = self._sorted_objects()
        place = [0] * len(order)
        for index, number in enumerate(order):
            place[number] = index
        values = [msgspec.json.decode(text) for text, _ in self._values]
        counters = [_are_counters(numbers, values) for _, numbers in self._of_field]
        header = {
            "kinds": list(KINDS),
            "outages": OUTAGES,
            "fields": [
                [_KINDS[kind], name, is_counter]
                for (kind, name), is_counter in zip(self._fields, counters, strict=True)
            ],
            "shapes": list(self._shapes),
            "types": list(self._types),
            "origins": list(self._origins),
            "values": values,
        }
        columns = {
            "offset": varints.deltas(self._offset),
            "delay": varints.unsigned(self._delay),
            "time": varints.deltas(self._time),
            "type": varints.unsigned(self._type),
            "origin": varints.unsigned(self._origin),
            "touches": varints.unsigned(self._touches),
            "object": varints.deltas(place[number] for number in self._object),
            "shape": varints.unsigned(self._shape),
            "outages": varints.unsigned(self._outages),
        }
        for field, (objects, numbers) in enumerate(self._of_field):
            columns[f"value:{field}"] = (
                varints.signed(_steps(objects, [values[n] for n in numbers]))
                if counters[field]
                else varints.unsigned(numbers)
            )
        of_objects, object_columns = self._encoded_objects(order, place)
        return header | of_objects, columns | object_columns

    def _sorted_objects(self) -> list[int]:
        """Return the objects' numbers, ordered by kind and then by natural order of names."""
        keys = list(self._objects)
        by_kind: list[list[int]] = [[] for _ in KINDS]
        for number, (kind, _) in enumerate(keys):
            by_kind[_KINDS[kind]].append(number)
        return list(
            chain.from_iterable(
                sorted(of_kind, key=lambda n: natural(self._labels[n])) for of_kind in by_kind
            )
        )

    def _encoded_objects(
        self, order: Sequence[int], place: Sequence[int]
    ) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return header fields and columns of the objects.

        An object in a topic is identified by the topic and a number, any other by its label.
        """
        keys = list(self._objects)
        kinds, topics, numbers, labels = [], [], [], []
        for at in order:
            kind, key = keys[at]
            topic = self._objects.get(("topic", key[0])) if kind in _IN_TOPIC else None
            kinds.append(_KINDS[kind])
            topics.append(0 if topic is None else place[topic] + 1)
            numbers.append(0 if topic is None else key[1])
            if topic is None:
                labels.append(self._labels[at])
        columns = {
            "object_kind": varints.deltas(kinds),
            "object_topic": varints.deltas(topics),
            "object_number": varints.deltas(numbers),
        }
        return {"labels": labels, "topic_ids": self._topic_ids(order)}, columns

    def _topic_ids(self, order: Sequence[int]) -> list[str]:
        keys = list(self._objects)
        return [uuid_text(keys[at][1]) for at in order if keys[at][0] == "topic"]


def packed(header: dict[str, Any], columns: dict[str, bytes]) -> bytes:
    """Return a report's header and columns as one compressed block."""
    directory = [[name, len(column)] for name, column in columns.items()]
    head = msgspec.json.encode({**header, "columns": directory})
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
    parts = [len(head).to_bytes(4, "little"), head, *columns.values()]
    return b"".join([*map(deflate.compress, parts), deflate.flush()])


class _Numbers(dict[Any, int]):
    """Assigns numbers to keys in the order in which they are first seen."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number

    def __setitem__(self, key: Any, value: int | None) -> None:
        super().__setitem__(key, len(self) if value is None else value)


def _set_fields(each: Touched) -> tuple[int, Fields]:
    """Return the kind of change (NEW, CHANGED or GONE) and the fields that were set.

    A null value means that the field was removed.
    """
    before, after = each.before, each.after
    if after is None:
        return GONE, {}
    if before is None:
        return NEW, {name: value for name, value in after.items() if value is not None}
    return CHANGED, {
        name: after.get(name)
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    }


def _value_key(shown: Any, hidden: object) -> tuple[bytes, str]:
    """Return the key that identifies a value in the report.

    The key includes the hidden value, so that a changed secret gets a new key and counts as a
    change, although the value shown is the same.
    """
    return msgspec.json.encode(_plain(shown)), "" if hidden is None else repr(hidden)


def _plain(value: Any) -> Any:
    """Return a value with its floats, and integers too large for JavaScript, as text."""
    match value:
        case bool():
            return value
        case float():
            return str(value)
        case int() if not -_EXACT <= value <= _EXACT:
            return str(value)
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {name: _plain(item) for name, item in value.items()}
    return value


def _are_counters(numbers: Iterable[int], values: Sequence[Any]) -> bool:
    return all(type(values[number]) is int for number in set(numbers))


def _steps(objects: Iterable[int], values: Iterable[int]) -> Iterator[int]:
    """Yield each value's difference from the object's previous value, initially 0."""
    last: dict[int, int] = {}
    for number, value in zip(objects, values, strict=True):
        yield value - last.get(number, 0)
        last[number] = value
