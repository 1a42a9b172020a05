"""Columns: compact encoding of objects' states and changes; docs/report.md describes the format.

The first row creates every object in its state before the range. Each further row contains the
changes of one record, without the previous values, which are in the earlier rows.
"""

import functools
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from records.envelope import Origin
from records.text import uuid_text
from replay.incidents.health import FENCED, LEADERLESS, SHUTTING_DOWN, UNDER_REPLICATED
from replay.report import varints
from replay.report.object_changes import Touched
from replay.report.object_order import ObjectOrder
from replay.time_travel.changes import natural
from replay.time_travel.kinds import KINDS, Fields

OUTAGES = (LEADERLESS, UNDER_REPLICATED, FENCED, SHUTTING_DOWN)
"""The kinds of outage with a bit in the column `outages`, lowest bit first."""

NEW, CHANGED, GONE = range(3)

Redact = Callable[[str, str, Any], Any]
"""Takes kind, field and value; returns the value to show, redacted if it is secret."""

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


class ColumnsMark(NamedTuple):
    """Position in a growing `Columns`: the numbers of rows, changed objects and other entries.

    `of_field` has the number of values of each field. `counters` has True for each field whose
    values so far are all integers.
    """

    rows: int = 0
    touches: int = 0
    objects: int = 0
    types: int = 0
    origins: int = 0
    values: int = 0
    shapes: int = 0
    of_field: tuple[int, ...] = ()
    counters: tuple[bool, ...] = ()


START = ColumnsMark()


class Columns:
    """Collects rows, and encodes all of them, or only the rows after a position."""

    def __init__(
        self, redact: Redact, redact_label: Callable[[str, str], str] = lambda kind, label: label
    ) -> None:
        self._redact, self._redact_label = redact, redact_label
        self._types, self._origins, self._values = _Numbers(), _Numbers(), _Numbers()
        self._fields, self._shapes, self._objects = _Numbers(), _Numbers(), _Numbers()
        self._origins[None], self._values[_value_key(None, None)] = None, None
        self._labels: list[str] = []
        # Kind and key of each object, and its topic's number.
        self._keys: list[tuple[str, Any]] = []
        self._topics: list[int | None] = []
        self._order = ObjectOrder(self._place_key)
        # By field and value, the number of a value that is shown as it is.
        self._known: dict[Any, int] = {}
        # The values that are integers, by their numbers.
        self._integer_of: dict[int, int] = {}
        # One entry a row.
        self._offset, self._delay, self._time = array("q"), array("q"), array("q")
        self._type, self._origin, self._touches = array("q"), array("q"), array("q")
        # One entry an object that a row changes.
        self._object, self._shape, self._outages = array("q"), array("q"), array("q")
        # Of each field: the object, and the value's number.
        self._of_field: list[tuple[array[int], array[int]]] = []
        self._counters: list[bool] = []

    @property
    def mark(self) -> ColumnsMark:
        """Position after the rows collected so far, for a later call of `encoded`."""
        return ColumnsMark(
            rows=len(self._offset),
            touches=len(self._object),
            objects=len(self._labels),
            types=len(self._types),
            origins=len(self._origins),
            values=len(self._values),
            shapes=len(self._shapes),
            of_field=tuple([len(numbers) for _, numbers in self._of_field]),
            counters=tuple(self._counters),
        )

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

    def object(self, kind: str, key: Any, label: str) -> int:
        """Return the number of an object, assigned in the order in which objects are first seen."""
        number = self._objects[kind, key]
        if number == len(self._labels):
            self._labels.append(self._redact_label(kind, label))
            self._keys.append((kind, key))
            topic = ("topic", key[0]) if kind in _IN_TOPIC else None
            self._topics.append(self._objects.get(topic))
        return number

    def _touch(self, each: Touched) -> None:
        number = self.object(each.kind, each.key, each.label)
        fate, fields = _set_fields(each)
        numbers = tuple([self._fields[each.kind, name] for name in fields])
        while len(self._of_field) < len(self._fields):
            self._of_field.append((array("q"), array("q")))
            self._counters.append(True)
        for field, (name, value) in zip(numbers, fields.items(), strict=True):
            objects, values = self._of_field[field]
            # Most values are integers and lists of integers that were there before.
            key: Any = field, type(value), tuple(value) if type(value) is list else value
            try:
                known = self._known.get(key)
            except TypeError:  # a list of objects
                key = known = None
            found = self._new_value(each.kind, name, key, number, value) if known is None else known
            objects.append(number)
            values.append(found)
            if found not in self._integer_of:
                self._counters[field] = False
        self._object.append(number)
        self._shape.append(self._shapes[fate, numbers])
        self._outages.append(_outage_bits(each.outages))

    def _new_value(self, kind: str, name: str, key: Any, number: int, value: Any) -> int:
        """Return the number of an object's value of a field.

        Args:
            key: Field and value in hashable form; None if the value has no such form.
        """
        shown = self._redact(kind, name, value)
        if shown != value:
            return self._value(shown, (self._fields[kind, name], number, value))
        found = self._value(shown, None)
        if key is not None:
            self._known[key] = found
        return found

    def _value(self, shown: Any, hidden: Any) -> int:
        count = len(self._values)
        number = self._values[_value_key(shown, hidden)]
        if number == count and type(plain := _plain(shown)) is int:
            self._integer_of[number] = plain
        return number

    def can_go_on(self, since: ColumnsMark) -> bool:
        """True if the rows after a position can be encoded as a continuation.

        They cannot if a field had only integers up to the position, and other values after it.
        """
        return tuple(self._counters[: len(since.counters)]) == since.counters

    def encoded(self, since: ColumnsMark = START) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Encode the rows after a position; return header fields, and the columns by name.

        The header fields are those of the report. Differences between rows start anew at the
        position. The values of integer fields are stored as differences only if the position is the
        start. Objects are numbered in display order, among all objects collected so far.
        """
        self._order.grow(len(self._labels))
        touched, new = self._object[since.touches :], range(since.objects, len(self._labels))
        topics = [topic for number in new if (topic := self._topics[number]) is not None]
        place = self._order.places(chain(touched, new, topics))
        fields = list(zip(self._fields, self._counters, strict=True))[len(since.counters) :]
        values = self._decoded(since.values)
        header = {
            "fields": [[_KINDS[kind], name, is_counter] for (kind, name), is_counter in fields],
            "shapes": list(islice(self._shapes, since.shapes, None)),
            "types": list(islice(self._types, since.types, None)),
            "origins": list(islice(self._origins, since.origins, None)),
            "values": values,
        }
        if since == START:
            header |= {"kinds": list(KINDS), "outages": list(OUTAGES)}
        rows = since.rows
        columns = {
            "offset": varints.deltas(self._offset[rows:]),
            "delay": varints.unsigned(self._delay[rows:]),
            "time": varints.deltas(self._time[rows:]),
            "type": varints.unsigned(self._type[rows:]),
            "origin": varints.unsigned(self._origin[rows:]),
            "touches": varints.unsigned(self._touches[rows:]),
            "object": varints.deltas(place[number] for number in touched),
            "shape": varints.unsigned(self._shape[since.touches :]),
            "outages": varints.unsigned(self._outages[since.touches :]),
        }
        for field, (objects, numbers) in enumerate(self._of_field):
            begin = since.of_field[field] if field < len(since.of_field) else 0
            if begin == len(numbers):
                continue
            columns[f"value:{field}"] = varints.unsigned(numbers[begin:])
            if self._counters[field]:
                counts = [self._integer_of[number] for number in numbers[begin:]]
                steps = _steps(objects, counts) if since == START else counts
                columns[f"value:{field}"] = varints.signed(steps)
        of_objects, object_columns = self._encoded_objects(new, place, since)
        return header | of_objects, columns | object_columns

    def _decoded(self, first: int) -> list[Any]:
        return [msgspec.json.decode(text) for text, _ in islice(self._values, first, None)]

    def _place_key(self, number: int) -> tuple[int, list[tuple[int, int, str]], int]:
        return _KINDS[self._keys[number][0]], natural(self._labels[number]), number

    def _encoded_objects(
        self, new: Iterable[int], place: Mapping[int, int], since: ColumnsMark
    ) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return header fields and columns of new objects, in order.

        An object in a topic is identified by the topic and a number, any other by its label.
        """
        order = sorted(new, key=place.__getitem__)
        kinds, topics, numbers, labels, ids = [], [], [], [], []
        for at in order:
            (kind, key), topic = self._keys[at], self._topics[at]
            kinds.append(_KINDS[kind])
            topics.append(0 if topic is None else place[topic] + 1)
            numbers.append(0 if topic is None else key[1])
            if topic is None:
                labels.append(self._labels[at])
            if kind == "topic":
                ids.append(uuid_text(key))
        columns = {
            "object_kind": varints.deltas(kinds),
            "object_topic": varints.deltas(topics),
            "object_number": varints.deltas(numbers),
        }
        if since != START:
            columns["object_place"] = varints.deltas(place[at] for at in order)
        return {"labels": labels, "topic_ids": ids}, columns


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


@functools.cache
def _outage_bits(outages: Sequence[str]) -> int:
    return sum(1 << OUTAGES.index(kind) for kind in outages if kind in OUTAGES)


def _set_fields(each: Touched) -> tuple[int, Fields]:
    """Return the kind of change (NEW, CHANGED or GONE) and the fields that were set.

    A field with a null value was removed.
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


def _steps(objects: Iterable[int], values: Iterable[int]) -> Iterator[int]:
    """Yield each value's difference from the object's previous value, initially 0."""
    last: dict[int, int] = {}
    for number, value in zip(objects, values, strict=True):
        yield value - last.get(number, 0)
        last[number] = value
