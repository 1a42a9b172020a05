"""Decodes the columns of a report, written from docs/report.md alone."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

_COLUMNS = re.compile(r'<script type="text/plain" id="columns">([^<]*)</script>')

State = dict[tuple[str, str], dict[str, Any]]
"""The fields of each object by kind and label, without those that are null."""


def packed_of(page: Path) -> bytes:
    """Return the columns in the file of a report."""
    found = _COLUMNS.search(page.read_text())
    assert found is not None
    return base64.b64decode(found[1])


class Change(NamedTuple):
    """An object that a record created (fate 0), changed (1) or removed (2), and its new field
    values.
    """

    object: int
    fate: int
    fields: dict[str, Any]


class Unpacked:
    """The header and columns of a report."""

    def __init__(self, packed: bytes) -> None:
        block = zlib.decompress(packed, -15)
        at = 4 + int.from_bytes(block[:4], "little")
        self.header: dict[str, Any] = json.loads(block[4:at])
        self.columns: dict[str, list[int]] = {}
        for name, size in self.header["columns"]:
            self.columns[name] = list(_numbers(block[at : at + size]))
            at += size
        assert at == len(block)

    def changes(self) -> Iterator[tuple[int, int, Change]]:
        """Yield every change in order of effect: offset of the effect, row, and change."""
        header, columns = self.header, self.columns
        last: dict[tuple[int, int], int] = {}
        values = [iter(columns[f"value:{n}"]) for n in range(len(header["fields"]))]
        touched = zip(_summed(columns["object"]), columns["shape"], strict=True)
        offsets = _summed(columns["offset"])
        rows = zip(offsets, columns["delay"], columns["touches"], strict=True)
        for row, (offset, delay, count) in enumerate(rows):
            for number, shape in islice(touched, count):
                fate, fields = header["shapes"][shape]
                found = {}
                for field in fields:
                    _, name, is_counter = header["fields"][field]
                    value = next(values[field])
                    if is_counter:
                        last[field, number] = last.get((field, number), 0) + _signed(value)
                        found[name] = last[field, number]
                    else:
                        found[name] = header["values"][value]
                yield offset + delay, row, Change(number, fate, found)

    def objects(self) -> list[tuple[str, str | int, int]]:
        """Return the kind of each object, its label (or the index of its topic), and its number."""
        header, columns = self.header, self.columns
        labels = iter(header["labels"])
        return [
            (header["kinds"][kind], topic - 1 if topic else next(labels), number)
            for kind, topic, number in zip(
                *(_summed(columns[f"object_{name}"]) for name in ("kind", "topic", "number")),
                strict=True,
            )
        ]


class Rebuilt:
    """The state at successive offsets."""

    def __init__(self, unpacked: Unpacked) -> None:
        self._objects = unpacked.objects()
        self._changes = unpacked.changes()
        self._next = next(self._changes, None)
        self._state: dict[int, dict[str, Any]] = {}

    def at(self, offset: int) -> State:
        """Return the state at an offset, which must not be lower than that of the last call."""
        while self._next is not None and self._next[0] <= offset:
            number, fate, fields = self._next[2]
            of_object = self._state.pop(number, {}) | fields
            if fate != 2:
                self._state[number] = {k: v for k, v in of_object.items() if v is not None}
            self._next = next(self._changes, None)
        return {_name(n, self._objects, self._state): fields for n, fields in self._state.items()}


def _name(
    number: int, objects: list[tuple[str, str | int, int]], state: dict[int, dict[str, Any]]
) -> tuple[str, str]:
    """Return kind and label of an object; a topic's name changes when it moves."""
    kind, label, of_topic = objects[number]
    if isinstance(label, int):
        return kind, f"{state[label]['name']}/{of_topic}"
    return kind, state[number]["name"] if kind == "topic" else label


def _numbers(column: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in column:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
    assert shift == 0


def _signed(value: int) -> int:
    return -(value + 1) // 2 if value & 1 else value // 2


def _summed(column: list[int]) -> Iterator[int]:
    total = 0
    for value in column:
        total += _signed(value)
        yield total
