"""Encoders and decoders of the record types, generated from their schemas.

Each record type gets one function to encode and one to decode, without loops or branches where
possible. They are checked against fastavro byte for byte and value for value
(tests/records/test_avro_codec.py).
"""

import struct
import typing
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any

from records import registry, varint
from records.avro import arrays, strict
from records.avro.layout import Layout, record_schema
from records.avro.schema import UUID_NAME
from records.base import Record

Encoder = Callable[[Any], bytes]
Decoder = Callable[[bytes, int], tuple[Any, int]]


def encoder(schema: dict[str, Any], cls: type[Record], prefix: bytes = b"") -> Encoder:
    """Return a function that encodes one record of `cls` and puts `prefix` before it."""
    encode: Encoder = _Generator().function(_EncoderSource(prefix), schema, cls)
    return encode


def decoder(schema: dict[str, Any], cls: type[Record], *, is_strict: bool = False) -> Decoder:
    """Return a function that decodes one record of `cls` and returns it with the position after it.

    Args:
        is_strict: Accept only the encoding that the encoder writes (`records.avro.strict`).
    """
    generator = _Generator(strict.DECODERS if is_strict else {})
    decode: Decoder = generator.function(_DecoderSource(), schema, cls)
    return decode


class _Generator:
    """Generates one function per record type; keeps the globals of the generated functions."""

    def __init__(self, instead: Mapping[str, Any] | None = None) -> None:
        """Prepare the globals of the generated functions.

        Args:
            instead: Functions that replace the usual ones in the generated code, by name.
        """
        self.names: dict[str, Any] = {
            "INTS": arrays.INTS,
            "LONGS": varint.LONGS,
            "INT_ARRAYS": arrays.INT_ARRAYS,
            "decode_int": varint.decode_long,
            "decode_long": varint.decode_long,
            "decode_ints": arrays.decode_ints,
            "decode_count": arrays.decode_count,
            "decode_next_count": arrays.decode_count,
            "decode_bytes": arrays.decode_bytes,
            "pack_double": struct.Struct("<d").pack,
            "unpack_double": struct.Struct("<d").unpack_from,
            "union_branch_error": _union_branch_error,
            "wrong_uuid": _wrong_uuid,
            **(instead or {}),
        }
        # A schema defines a nested type once and refers to it by name afterwards.
        self.schemas: dict[str, dict[str, Any]] = {}

    def function(self, source: "_Source", schema: dict[str, Any], cls: type[Record]) -> Any:
        name = f"{source.verb}_{cls.__name__}"
        if name not in self.names:
            self.names[cls.__name__] = cls
            hints = typing.get_type_hints(cls)
            lines = source.function(self, name, schema, cls, hints)
            exec("\n".join(lines), self.names)
        return self.names[name]

    def resolve(self, schema: Any) -> Any:
        if isinstance(schema, dict) and schema.get("type") == "record":
            self.schemas[f"{schema['namespace']}.{schema['name']}"] = schema
        elif isinstance(schema, str) and schema in self.schemas:
            return self.schemas[schema]
        return schema


class _EncoderSource:
    verb = "encode"

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix

    def function(
        self, gen: _Generator, name: str, schema: dict[str, Any], cls: type[Record], hints: Any
    ) -> list[str]:
        parts = [repr(self.prefix)] if self.prefix else []
        self.prefix = b""  # only before the outermost record
        parts += [
            self.expression(gen, field["type"], f"r.{field['name']}", hints[field["name"]])
            for field in schema["fields"]
        ]
        return [
            f"def {name}(r):",
            "    return b''.join((",
            *[f"        {p}," for p in parts],
            "    ))",
        ]

    def expression(self, gen: _Generator, schema: Any, value: str, hint: Any) -> str:
        schema = gen.resolve(schema)
        if isinstance(schema, list):
            null, branch, other, hint = _nullable(schema, hint)
            inner = self.expression(gen, other, value, hint)
            return f"{null!r} if {value} is None else {branch!r} + {inner}"
        match schema:
            case "int":
                return f"INTS[{value}]"
            case "long":
                return f"LONGS[{value}]"
            case "boolean":
                return f"(b'\\1' if {value} else b'\\0')"
            case "double":
                return f"pack_double({value})"
            case "bytes":
                return f"LONGS[len({value})] + {value}"
            case "string":
                return f"LONGS[len(s := {value}.encode())] + s"
            case str() if schema == UUID_NAME:
                return f"({value} if len({value}) == 16 else wrong_uuid({value}))"
            case {"type": "array", "items": "int"}:
                return f"INT_ARRAYS[{value}]"
            case {"type": "array", "items": items}:
                item = self.expression(gen, items, "i", typing.get_args(hint)[0])
                return (
                    f"(LONGS[len({value})] + b''.join([{item} for i in {value}]) + b'\\0'"
                    f" if {value} else b'\\0')"
                )
            case {"type": "record"}:
                gen.function(self, schema, hint)
                return f"{self.verb}_{hint.__name__}({value})"
        raise AssertionError(f"no encoder for {schema}")


class _DecoderSource:
    verb = "decode"

    def function(
        self, gen: _Generator, name: str, schema: dict[str, Any], cls: type[Record], hints: Any
    ) -> list[str]:
        lines = [f"def {name}(b, p):"]
        for field in schema["fields"]:
            code = self.statements(gen, field["type"], f"v_{field['name']}", hints[field["name"]])
            lines += [f"    {line}" for line in code]
        arguments = ", ".join(f"{f['name']}=v_{f['name']}" for f in schema["fields"])
        return [*lines, f"    return {cls.__name__}({arguments}), p"]

    def statements(self, gen: _Generator, schema: Any, value: str, hint: Any) -> list[str]:
        schema = gen.resolve(schema)
        if isinstance(schema, list):
            null, branch, other, hint = _nullable(schema, hint)
            inner = self.statements(gen, other, value, hint)
            return [
                "n = b[p]; p += 1",
                f"if n == {null[0]}: {value} = None",
                f"elif n == {branch[0]}:",
                *[f"    {line}" for line in inner],
                "else: union_branch_error(n, p)",
            ]
        match schema:
            case "int" | "long":
                return [
                    "n = b[p]",
                    f"if n < 128: {value} = (n >> 1) ^ -(n & 1); p += 1",
                    f"else: {value}, p = decode_{schema}(b, p)",
                ]
            case "boolean":
                return ["if b[p] > 1: union_branch_error(b[p], p)", f"{value} = b[p] == 1; p += 1"]
            case "double":
                return [f"({value},) = unpack_double(b, p); p += 8"]
            case "bytes":
                return [f"{value}, p = decode_bytes(b, p)"]
            case "string":
                # Short strings are read here: a call costs more than the rest.
                return [
                    "n = b[p]",
                    "if n & 129 or (q := p + 1 + (n >> 1)) > len(b): s, p = decode_bytes(b, p)",
                    "else: s = b[p + 1:q]; p = q",
                    f"{value} = s.decode()",
                ]
            case str() if schema == UUID_NAME:
                return [f"{value} = b[p:p + 16]; p += 16", "b[p - 1]"]
            case {"type": "array", "items": "int" | "long"}:
                return [f"{value}, p = decode_ints(b, p)"]
            case {"type": "array", "items": items}:
                item_hint = typing.get_args(hint)[0]
                return [
                    f"l_{value} = []",
                    f"c_{value}, p = decode_count(b, p)",
                    f"while c_{value}:",
                    f"    for _ in range(c_{value}):",
                    *[f"        {x}" for x in self.statements(gen, items, f"i_{value}", item_hint)],
                    f"        l_{value}.append(i_{value})",
                    f"    c_{value}, p = decode_next_count(b, p)",
                    f"{value} = tuple(l_{value})",
                ]
            case {"type": "record"}:
                gen.function(self, schema, hint)
                return [f"{value}, p = {self.verb}_{hint.__name__}(b, p)"]
        raise AssertionError(f"no decoder for {schema}")


_Source = _EncoderSource | _DecoderSource


def _nullable(schema: list[Any], hint: Any) -> tuple[bytes, bytes, Any, Any]:
    """Return the parts of a nullable type, which is a union of null and another type.

    Returns:
        The encoded branch of null; the encoded branch, the schema and the Python type of the other
        type.
    """
    assert len(schema) == 2 and "null" in schema, schema
    null = schema.index("null")
    assert typing.get_origin(hint) in (UnionType, typing.Union), hint
    (inner,) = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    return varint.LONGS[null], varint.LONGS[1 - null], schema[1 - null], inner


def _wrong_uuid(value: Any) -> Any:
    raise ValueError(f"{value!r} is not a UUID: it has {len(value)} octets, not 16")


def _union_branch_error(found: int, position: int) -> None:
    raise ValueError(f"byte {position - 1} is 0x{found:02x}, which is not a branch or truth value")


class PayloadEncoders(dict[type[Record], Encoder]):
    """Encoders by record type; each also writes the record's branch of the payload union.

    Each encoder is generated on first use, because a short-lived process uses few types.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self._layout = layout

    def __missing__(self, cls: type[Record]) -> Encoder:
        branch = varint.LONGS[registry.RECORD_TYPES.index(cls)]
        encode = self[cls] = encoder(_schema(cls, self._layout), cls, branch)
        return encode


class PayloadDecoders(dict[int, Decoder]):
    """Decoders by branch of the payload union, each generated on first use."""

    def __init__(self, layout: Layout, *, strict: bool = False) -> None:
        super().__init__()
        self._layout = layout
        self._is_strict = strict

    def __missing__(self, branch: int) -> Decoder:
        cls = registry.RECORD_TYPES[branch]
        schema = _schema(cls, self._layout)
        decode = self[branch] = decoder(schema, cls, is_strict=self._is_strict)
        return decode


def _schema(cls: type[Record], layout: Layout) -> dict[str, Any]:
    return record_schema(registry.schema(cls.__name__), layout)
