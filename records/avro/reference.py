"""Encoding of rows by fastavro: the reference for our own codec, and the reader of old schemas."""

import functools
import io
import typing
from collections.abc import Sequence
from types import UnionType
from typing import Any

import fastavro
import msgspec
from fastavro.validation import ValidationError, validate

from records import registry
from records.avro.branches import check_branches
from records.avro.schema import envelope_schema
from records.avro.unknown_fields import fields_in_use, unknown_fields
from records.base import Record
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError
from records.varint import LONGS

# A block's body is the items of an array without its count and its end, so one call of fastavro
# does a whole block.


def encode_rows(rows: Sequence[Envelope]) -> bytes:
    """Return the body of a block, encoded by fastavro with the newest schema."""
    if not rows:
        return b""
    out = io.BytesIO()
    schema = {"type": "array", "items": envelope_schema()}
    fastavro.schemaless_writer(out, schema, [_to_fastavro(row) for row in rows])
    return out.getvalue()[len(LONGS[len(rows)]) : -1]


def decode_rows(data: bytes, count: int, writer_schema: dict[str, Any]) -> list[Envelope]:
    """Decode rows written with any released schema.

    Raises:
        CorruptLogError: the bytes are not exactly `count` rows of that schema.
        RequestError: UNSUPPORTED_VERSION, the rows have record types or field values of a newer
            release.
    """
    source = io.BytesIO(LONGS[count] + data + b"\0")
    try:
        rows: Any = fastavro.schemaless_reader(
            source,
            {"type": "array", "items": writer_schema},
            {"type": "array", "items": envelope_schema()},
            return_record_name=True,
            return_record_name_override=True,
        )
        check_branches(data, count, writer_schema)
        in_use = _unknown_in_use(data, count, writer_schema)
    except Exception as error:  # fastavro raises anything that its C code does
        newer = _newer_types(writer_schema)
        if newer:
            raise _of_newer_release(newer) from error
        raise CorruptLogError(f"rows of a batch cannot be read: {error!r}") from error
    end = len(LONGS[count]) + len(data) + 1
    if source.tell() != end or len(rows) != count:
        raise CorruptLogError(
            f"{count} rows end at byte {source.tell()}, but there are {end} bytes"
        )
    if in_use:
        raise _of_newer_release(in_use)
    return [_from_fastavro(row) for row in rows]


def _of_newer_release(names: list[str]) -> RequestError:
    return RequestError(
        "UNSUPPORTED_VERSION",
        f"the rows have {', '.join(names)}, known only to newer releases; use a newer release",
    )


def _unknown_in_use(data: bytes, count: int, writer_schema: dict[str, Any]) -> list[str]:
    """Return the fields of a newer release whose values in the rows would be dropped."""
    unknown = unknown_fields(writer_schema, envelope_schema())
    if not unknown:
        return []
    schema = {"type": "array", "items": writer_schema}
    rows = fastavro.schemaless_reader(
        io.BytesIO(LONGS[count] + data + b"\0"),
        schema,
        None,
        return_record_name=True,
        return_record_name_override=True,
    )
    return sorted({found.text for found in fields_in_use(rows, schema, unknown)})


def check_record(record: Record) -> None:
    """Check that the schema can hold every value of a record, integer widths included.

    Raises:
        ValueError: names a field whose value does not fit.
    """
    row = Envelope(
        offset=0, leader_epoch=0, timestamp=0, batch_offset=0, record_version=0, payload=record
    )
    try:
        validate(_to_fastavro(row), _parsed_schema(), raise_errors=True)
    except ValidationError as error:
        # The last error: for a nullable field the first only says that the value is not null.
        last = error.errors[-1]
        where = last.field.removeprefix("Envelope.payload.")
        raise ValueError(
            f"{where} is {last.datum!r}, which is not of type {last.schema}"
        ) from error


@functools.cache
def _parsed_schema() -> Any:
    return fastavro.parse_schema(envelope_schema())


def _newer_types(writer_schema: dict[str, Any]) -> list[str]:
    (payload,) = [f["type"] for f in writer_schema["fields"] if f["name"] == "payload"]
    return [branch["name"] for branch in payload if branch["name"] not in registry.BY_NAME]


def _to_fastavro(row: Envelope) -> dict[str, Any]:
    value: dict[str, Any] = _plain(row)
    # Tuples for union members save fastavro a search of the union.
    value["payload"] = (type(row.payload).__name__, value["payload"])
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _from_fastavro(row: dict[str, Any]) -> Envelope:
    name, payload = row["payload"]
    typed = _typed(payload, registry.BY_NAME[name])
    envelope: Envelope = _typed({**row, "payload": typed}, Envelope)
    return envelope


def _typed(value: Any, hint: Any) -> Any:
    """Convert fastavro's dicts and lists to records and tuples, as the type `hint` requires."""
    if value is None or isinstance(value, Record):
        return value
    if typing.get_origin(hint) in (UnionType, typing.Union):
        (hint,) = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    if typing.get_origin(hint) is tuple:
        return tuple(_typed(item, typing.get_args(hint)[0]) for item in value)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = typing.get_type_hints(hint)
        return hint(**{name: _typed(item, hints[name]) for name, item in value.items()})
    return value
