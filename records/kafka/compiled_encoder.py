"""Encoders compiled from layouts to straight-line Python, for records without unknown tags.

If a record cannot be encoded, a compiled encoder raises one of `NOT_ENCODED` without a reason;
`reference.encode` then finds the reason.
"""

import struct
from collections.abc import Callable
from typing import Any

from records.base import Record
from records.kafka.layout import ArrayOf, Field, FieldType, Layout, default_of
from records.kafka.reference import LENGTHS, MARKER, NULL_STRUCTURE, SCALARS, STRUCTURE
from records.varint import UNSIGNED

Encoder = Callable[[Record], bytes]

_CACHE_SIZE_MAX = 65_536


class _NotEncodedError(Exception):
    """Raised if the record has a value that this version cannot encode."""


NOT_ENCODED = (
    _NotEncodedError,
    AttributeError,
    OverflowError,
    TypeError,
    UnicodeEncodeError,
    struct.error,
)


def encoder(layout: Layout, prefix: bytes = b"") -> Encoder:
    """Compile a function that encodes a structure and puts `prefix` before it."""
    compiler = _Compiler()
    name = compiler.function(layout)
    exec(f"def encode(r): return {prefix!r} + {name}(r)", compiler.names)
    encode: Encoder = compiler.names["encode"]
    return encode


class _IntArrays(dict[tuple[int, ...], bytes]):
    """Table of encoded int32 arrays, cached because replica lists repeat."""

    def __missing__(self, items: tuple[int, ...]) -> bytes:
        encoded = UNSIGNED[len(items) + 1] + struct.pack(f">{len(items)}i", *items)
        if len(self) >= _CACHE_SIZE_MAX:
            self.clear()
        self[items] = encoded
        return encoded


def _uuid(value: bytes) -> bytes:
    if len(value) != 16:
        raise _NotEncodedError
    return value


class _Compiler:
    """Generates Python code that encodes structures, one function per structure.

    In the generated code, `r` is the record.
    """

    def __init__(self) -> None:
        self.names: dict[str, Any] = {
            "NotEncoded": _NotEncodedError,
            "UNSIGNED": UNSIGNED,
            "INTS": _IntArrays(),
            "uuid": _uuid,
        }

    def function(self, layout: Layout) -> str:
        """Generate the function `encode_X(r)`, which encodes a structure."""
        name = f"encode_{layout.cls.__name__}"
        if name not in self.names:
            self.names[layout.cls.__name__] = layout.cls
            parts = "".join(f"{part}, " for part in [*self._fields(layout), *self._tags(layout)])
            lines = [
                f"def {name}(r):",
                f"    if type(r) is not {layout.cls.__name__}: raise NotEncoded",
                *[f"    {line}" for line in self._absent(layout)],
                *[f"    {line}" for line in self._tagged_section(layout)],
                f"    return b''.join(({parts}))",
            ]
            exec("\n".join(lines), self.names)
        return name

    def _absent(self, layout: Layout) -> list[str]:
        wrong = " or ".join(f"r.{f.name} != {default_of(f, self.names)}" for f in layout.absent)
        return [f"if {wrong}: raise NotEncoded"] if wrong else []

    def _fields(self, layout: Layout) -> list[str]:
        """Return one expression per field, except that adjacent numbers share one `pack`."""
        parts: list[str] = []
        run: list[Field] = []
        for field in layout.fields:
            if field.type in SCALARS and field.type != "uuid":
                run.append(field)
                continue
            parts += self._run(run)
            run = []
            value = self._value if layout.flexible else self._older_value
            parts.append(value(f"r.{field.name}", field.type, field.nullable))
        return parts + self._run(run)

    def _run(self, run: list[Field]) -> list[str]:
        if not run:
            return []
        formats = "".join(SCALARS[str(field.type)].format[1:] for field in run)
        arguments = ", ".join(f"r.{field.name}" for field in run)
        return [f"{self._pack(formats)}({arguments})"]

    def _pack(self, formats: str) -> str:
        name = "pack_" + formats
        self.names[name] = struct.Struct(">" + formats).pack
        return name

    def _tagged_section(self, layout: Layout) -> list[str]:
        if not layout.tagged:
            return []
        lines = ["tags = []"]
        for field in layout.tagged:
            value = f"r.{field.name}"
            lines += [
                f"if {value} != {default_of(field, self.names)}:",
                f"    v = {self._value(value, field.type, field.nullable)}",
                f"    tags.append(UNSIGNED[{field.tag}] + UNSIGNED[len(v)] + v)",
            ]
        return lines

    def _tags(self, layout: Layout) -> list[str]:
        if not layout.flexible:
            return []
        return ["UNSIGNED[len(tags)]", "*tags"] if layout.tagged else ["UNSIGNED[0]"]

    def _value(self, value: str, field_type: FieldType, nullable: bool) -> str:
        expression = self._not_null(value, field_type)
        if nullable and isinstance(field_type, Layout):
            return self._nullable_structure(value, expression)
        return f"(UNSIGNED[0] if {value} is None else {expression})" if nullable else expression

    def _nullable_structure(self, value: str, expression: str) -> str:
        pack = self._pack(SCALARS[MARKER].format[1:])
        return (
            f"({pack}({NULL_STRUCTURE}) if {value} is None else {pack}({STRUCTURE}) + {expression})"
        )

    def _not_null(self, value: str, field_type: FieldType) -> str:
        match field_type:
            case Layout():
                return f"{self.function(field_type)}({value})"
            case ArrayOf("int32"):
                return f"INTS[{value}]"
            case ArrayOf(item):
                each = self._value("i", item, nullable=False)
                return f"UNSIGNED[len({value}) + 1] + b''.join([{each} for i in {value}])"
            case "string":
                return f"UNSIGNED[len(s := {value}.encode()) + 1] + s"
            case "bytes":
                return f"UNSIGNED[len({value}) + 1] + {value}"
            case "uuid":
                return f"uuid({value})"
        return f"{self._pack(SCALARS[field_type].format[1:])}({value})"

    def _older_value(self, value: str, field_type: FieldType, nullable: bool) -> str:
        """Return an expression that encodes a value in the older, not flexible encoding."""
        length = "array"
        match field_type:
            case Layout():
                expression = f"{self.function(field_type)}({value})"
                return self._nullable_structure(value, expression) if nullable else expression
            case ArrayOf(item):
                each = self._older_value("i", item, nullable=False)
                content, count = f"b''.join([{each} for i in {value}])", f"len({value})"
            case "string":
                content, count, length = "s", f"len(s := {value}.encode())", field_type
            case "bytes":
                content, count, length = value, f"len({value})", field_type
            case "uuid":
                return f"uuid({value})"
            case _:
                return f"{self._pack(SCALARS[field_type].format[1:])}({value})"
        pack = self._pack(SCALARS[LENGTHS[length]].format[1:])
        expression = f"{pack}({count}) + {content}"
        return f"({pack}(-1) if {value} is None else {expression})" if nullable else expression
