"""Compiles an Avro schema to a small program that decodes its records into columns (machine.py).

An instruction is four integers: operation, column or -1, and two operands. Values without a column
are skipped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy

from records.errors import CorruptLogError
from replay.audit.decoding.schemas import full_name

DEPTH_MAX = 32
"""Maximum nesting depth of arrays and maps."""

_INTEGERS = ("int", "long", "enum")
_SIZES = {"float": 4, "double": 8}


class Op(IntEnum):
    """Operation of an instruction."""

    STOP = 0
    INTEGER = 1
    """Operand: 1 if the integer must fit 32 bits."""
    BOOLEAN = 2
    OCTETS = 3
    FIXED = 4
    """Operand: the size in bytes."""
    UNION = 5
    """Operands: index of the first branch in the targets, number of branches."""
    JUMP = 6
    """Operand: the instruction to jump to."""
    LOOP = 7
    """Begins an array or a map. Operand: the NEXT at its end."""
    NEXT = 8
    """Begins another item, if there is one. Operand: the first instruction of an item."""
    INTEGERS = 9
    """An array of integers. Operand: as for INTEGER."""
    FIXEDS = 10
    """An array of fixed byte strings. Operand: as for FIXED."""
    CONSTANT = 11
    """Operands: the column's two values; reads nothing."""
    BEGIN = 12
    """Stores the position at which a record begins; END stores the record's size."""
    END = 13
    DROP = 14
    """Leaves the whole row out of the result."""


@dataclass(frozen=True)
class Program:
    """A compiled schema.

    Attributes:
        code: The instructions.
        targets: The first instruction of each branch of each union.
        members: By branch, the names of the record types in the compiler's `union`.
    """

    code: Any
    targets: Any
    members: tuple[str, ...]


class Compiler:
    """Compiles the schema of a file; a column may be read from several fields."""

    def __init__(
        self,
        columns: Mapping[str, int],
        defaults: Mapping[str, Any],
        union: str,
        kept: frozenset[str],
    ) -> None:
        """Select the columns and records to decode.

        Args:
            columns: Column numbers by path: names of fields, joined by dots; after a field whose
                type is a union of records, the record's name follows.
            defaults: By path, the value to use if the file's schema lacks the field.
            union: Path of a union of records. The column of this path gets the number of the
                branch, and the next column the record's bytes.
            kept: Names of the record types in the union to decode; records of other types are
                skipped.
        """
        self._columns = columns
        self._defaults = defaults
        self._union = union
        self._kept = kept
        self._code: list[list[int]] = []
        self._targets: list[int] = []
        self._named: dict[str, tuple[Any, str]] = {}
        self._members: tuple[str, ...] = ()
        self._depth = 0

    def program(self, schema: Any) -> Program:
        """Return the program for records of a schema.

        Raises:
            CorruptLogError: the schema is not valid, or uses a feature that this decoder does not
                support.
        """
        try:
            self._any(schema, "", "")
        except (KeyError, TypeError, AttributeError) as error:
            raise CorruptLogError(f"not a valid Avro schema: {error!r}") from error
        self._emit(Op.STOP)
        code, targets = numpy.array(self._code, numpy.int64), self._targets or [0]
        return Program(code, numpy.array(targets, numpy.int64), self._members)

    def _emit(self, op: Op, column: int = -1, a: int = 0, b: int = 0) -> int:
        self._code.append([op, column, a, b])
        return len(self._code) - 1

    def _any(self, schema: Any, path: str, space: str) -> None:
        if isinstance(schema, list):
            self._branches(schema, path, space)
            return
        schema, space = self._resolved(schema, space)
        column = self._columns.get(path, -1)
        if column >= 0 and schema["type"] in ("record", "map", *_SIZES):
            self._refuse(path)
        match schema["type"]:
            case "null":
                pass
            case "boolean":
                self._emit(Op.BOOLEAN, column)
            case "string" | "bytes":
                self._emit(Op.OCTETS, column)
            case "fixed":
                self._emit(Op.FIXED, column, schema["size"])
            case "record":
                self._record(schema, path, space)
            case "array":
                self._array(schema["items"], path, space)
            case "map":
                self._loop({"type": "record", "fields": _entry(schema["values"])}, path, space)
            case kind if kind in _INTEGERS:
                self._emit(Op.INTEGER, column, int(kind != "long"))
            case kind if kind in _SIZES:
                self._emit(Op.FIXED, column, _SIZES[kind])
            case kind:
                # {"type": {"type": ...}} is the inner type.
                self._any(kind, path, space)

    def _resolved(self, schema: Any, space: str) -> tuple[Any, str]:
        """Return the definition of a type, which may be given by name, and its namespace."""
        if isinstance(schema, str):
            for name in (full_name(schema, space), schema):
                if name in self._named:
                    return self._named[name]
            return {"type": schema if schema in _PRIMITIVE else _undefined(schema)}, space
        if "name" in schema:
            name = full_name(schema["name"], schema.get("namespace", space))
            space = name.rpartition(".")[0]
            self._named[name] = schema, space
        return schema, space

    def _record(self, schema: Any, path: str, space: str) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise CorruptLogError(f"the schema nests deeper than {DEPTH_MAX}, or without end")
        names = set()
        for field in schema["fields"]:
            names.add(field["name"])
            self._any(field["type"], f"{path}.{field['name']}" if path else field["name"], space)
        for missing, value in self._defaults.items():
            parent, _, name = missing.rpartition(".")
            if parent == path and name not in names:
                self._default(missing, value)
        self._depth -= 1

    def _default(self, path: str, value: Any) -> None:
        match value:
            case None:
                pass
            case int():
                self._emit(Op.CONSTANT, self._columns[path], value, 1)
            case [] | "":
                self._emit(Op.CONSTANT, self._columns[path], 0, 0)
            case _:
                self._refuse(path)

    def _branches(self, branches: list[Any], path: str, space: str) -> None:
        is_chosen = path == self._union
        column = self._columns[path] if is_chosen else -1
        first = len(self._targets)
        self._emit(Op.UNION, column, first, len(branches))
        self._targets.extend([0] * len(branches))
        named = sum(branch != "null" for branch in branches) > 1
        if named and path in self._columns and not is_chosen:
            self._refuse(path)
        jumps, members = [], []
        for number, branch in enumerate(branches):
            self._targets[first + number] = len(self._code)
            name = _short_name(branch) if named else ""
            members.append(name)
            if is_chosen and name not in self._kept:
                self._emit(Op.DROP)
            if is_chosen:
                self._emit(Op.BEGIN, column + 1)
            self._any(branch, f"{path}.{name}" if name else path, space)
            jumps.append(self._emit(Op.JUMP))
        for jump in jumps:
            self._code[jump][2] = len(self._code)
        if is_chosen:
            self._emit(Op.END, column + 1)
            self._members = tuple(members)

    def _refuse(self, path: str) -> None:
        raise CorruptLogError(f"the schema's type of {path} cannot become a column")

    def _array(self, items: Any, path: str, space: str) -> None:
        column = self._columns.get(path, -1)
        schema, _ = ({}, "") if isinstance(items, list) else self._resolved(items, space)
        if schema.get("type") in _INTEGERS:
            self._emit(Op.INTEGERS, column, int(schema["type"] != "long"))
        elif schema.get("type") == "fixed":
            self._emit(Op.FIXEDS, column, schema["size"])
        else:
            if column >= 0:
                self._refuse(path)
            self._loop(items, path, space)

    def _loop(self, item: Any, path: str, space: str) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise CorruptLogError(f"the schema nests deeper than {DEPTH_MAX}, or without end")
        loop = self._emit(Op.LOOP)
        first = len(self._code)
        # Nothing in an item has a column.
        self._any(item, f"{path}[]", space)
        if len(self._code) == first:
            self._code[loop] = [Op.FIXEDS, -1, 0, 0]
        else:
            self._code[loop][2] = self._emit(Op.NEXT, -1, first)
        self._depth -= 1


_PRIMITIVE = ("null", "boolean", "string", "bytes", *_INTEGERS, *_SIZES)


def _entry(values: Any) -> list[Any]:
    return [{"name": "key", "type": "string"}, {"name": "value", "type": values}]


def _undefined(name: str) -> str:
    raise CorruptLogError(f"the schema does not define {name!r}")


def _short_name(branch: Any) -> str:
    name = branch if isinstance(branch, str) else branch.get("name", branch["type"])
    return str(name).rpartition(".")[2]
