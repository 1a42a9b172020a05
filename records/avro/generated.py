"""Encoders and decoders of the record types, generated from their schemas.

Each record type gets one function to encode and one to decode, without loops or branches where
possible. They are checked against fastavro byte for byte and value for value
(tests/records/test_avro_codec.py).
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from records import registry, varint
from records.avro import arrays, strict
from records.avro.fields import Fields, Type, fields_of
from records.avro.layout import Layout, record_schema
from records.base import Record

Encoder = Callable[[Any], bytes]
Decoder = Callable[[bytes, int], tuple[Any, int]]


def encoder(schema: dict[str, Any], cls: type[Record], prefix: bytes = b"") -> Encoder:
    """Return a function that encodes one record of `cls` and puts `prefix` before it."""
    encode: Encoder = _Generator().function(_EncoderSource(prefix), fields_of(schema, cls))
    return encode


def decoder(schema: dict[str, Any], cls: type[Record], *, is_strict: bool = False) -> Decoder:
    """Return a function that decodes one record of `cls` and returns it with the position after it.

    Args:
        is_strict: Accept only the encoding that the encoder writes (`records.avro.strict`).
    """
    generator = _Generator(strict.DECODERS if is_strict else {})
    decode: Decoder = generator.function(_DecoderSource(), fields_of(schema, cls))
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

    def function(self, source: "_Source", fields: Fields) -> Any:
        cls = fields.cls
        name = f"{source.verb}_{cls.__name__}"
        if name not in self.names:
            self.names[cls.__name__] = cls
            exec("\n".join(source.function(self, name, fields)), self.names)
        return self.names[name]


class _EncoderSource:
    verb = "encode"

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix

    def function(self, gen: _Generator, name: str, fields: Fields) -> list[str]:
        parts = [repr(self.prefix)] if self.prefix else []
        self.prefix = b""  # only before the outermost record
        parts += [
            self.expression(gen, type_, f"r.{field}")
            for field, type_ in zip(fields.names, fields.types, strict=True)
        ]
        return [
            f"def {name}(r):",
            "    return b''.join((",
            *[f"        {p}," for p in parts],
            "    ))",
        ]

    def expression(self, gen: _Generator, type_: Type, value: str) -> str:
        if type_.null_branch is not None:
            null, branch = _branches(type_.null_branch)
            inner = self.expression(gen, replace(type_, null_branch=None), value)
            return f"{null!r} if {value} is None else {branch!r} + {inner}"
        match type_:
            case Type("int"):
                return f"INTS[{value}]"
            case Type("long"):
                return f"LONGS[{value}]"
            case Type("boolean"):
                return f"(b'\\1' if {value} else b'\\0')"
            case Type("double"):
                return f"pack_double({value})"
            case Type("bytes"):
                return f"LONGS[len({value})] + {value}"
            case Type("string"):
                return f"LONGS[len(s := {value}.encode())] + s"
            case Type("uuid"):
                return f"({value} if len({value}) == 16 else wrong_uuid({value}))"
            case Type("ints"):
                return f"INT_ARRAYS[{value}]"
            case Type("array", items=Type() as items):
                item = self.expression(gen, items, "i")
                return (
                    f"(LONGS[len({value})] + b''.join([{item} for i in {value}]) + b'\\0'"
                    f" if {value} else b'\\0')"
                )
            case Type("record", fields=Fields() as fields):
                gen.function(self, fields)
                return f"{self.verb}_{fields.cls.__name__}({value})"
        raise AssertionError(f"no encoder for {type_}")


class _DecoderSource:
    verb = "decode"

    def function(self, gen: _Generator, name: str, fields: Fields) -> list[str]:
        lines = [f"def {name}(b, p):"]
        for field, type_ in zip(fields.names, fields.types, strict=True):
            lines += [f"    {line}" for line in self.statements(gen, type_, f"v_{field}")]
        arguments = ", ".join(f"{field}=v_{field}" for field in fields.names)
        return [*lines, f"    return {fields.cls.__name__}({arguments}), p"]

    def statements(self, gen: _Generator, type_: Type, value: str) -> list[str]:
        if type_.null_branch is not None:
            null, branch = _branches(type_.null_branch)
            inner = self.statements(gen, replace(type_, null_branch=None), value)
            return [
                "n = b[p]; p += 1",
                f"if n == {null[0]}: {value} = None",
                f"elif n == {branch[0]}:",
                *[f"    {line}" for line in inner],
                "else: union_branch_error(n, p)",
            ]
        match type_:
            case Type("int" | "long" as kind):
                return [
                    "n = b[p]",
                    f"if n < 128: {value} = (n >> 1) ^ -(n & 1); p += 1",
                    f"else: {value}, p = decode_{kind}(b, p)",
                ]
            case Type("boolean"):
                return ["if b[p] > 1: union_branch_error(b[p], p)", f"{value} = b[p] == 1; p += 1"]
            case Type("double"):
                return [f"({value},) = unpack_double(b, p); p += 8"]
            case Type("bytes"):
                return [f"{value}, p = decode_bytes(b, p)"]
            case Type("string"):
                # Short strings are read here: a call costs more than the rest.
                return [
                    "n = b[p]",
                    "if n & 129 or (q := p + 1 + (n >> 1)) > len(b): s, p = decode_bytes(b, p)",
                    "else: s = b[p + 1:q]; p = q",
                    f"{value} = s.decode()",
                ]
            case Type("uuid"):
                return [f"{value} = b[p:p + 16]; p += 16", "b[p - 1]"]
            case Type("ints"):
                return [f"{value}, p = decode_ints(b, p)"]
            case Type("array", items=Type() as items):
                return [
                    f"l_{value} = []",
                    f"c_{value}, p = decode_count(b, p)",
                    f"while c_{value}:",
                    f"    for _ in range(c_{value}):",
                    *[f"        {line}" for line in self.statements(gen, items, f"i_{value}")],
                    f"        l_{value}.append(i_{value})",
                    f"    c_{value}, p = decode_next_count(b, p)",
                    f"{value} = tuple(l_{value})",
                ]
            case Type("record", fields=Fields() as fields):
                gen.function(self, fields)
                return [f"{value}, p = {self.verb}_{fields.cls.__name__}(b, p)"]
        raise AssertionError(f"no decoder for {type_}")


_Source = _EncoderSource | _DecoderSource


def _branches(null_branch: int) -> tuple[bytes, bytes]:
    """Return the encoded branches of null and of the other type."""
    return varint.LONGS[null_branch], varint.LONGS[1 - null_branch]


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
