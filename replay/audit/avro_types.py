"""Spark types of Avro schemas, as Spark's own Avro reader maps them."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pyspark.sql import types as T

UNION_MEMBER_PREFIX = "member_"

OTHER = "OtherRecord"
"""Union member that stands for all unread record types in a schema made by `narrow`."""

_PRIMITIVES = {
    "boolean": T.BooleanType(),
    "int": T.IntegerType(),
    "long": T.LongType(),
    "double": T.DoubleType(),
    "string": T.StringType(),
    "bytes": T.BinaryType(),
}


def struct_type(schema: Mapping[str, Any]) -> T.StructType:
    """Return the Spark type of an Avro record; a union of records is a struct of its members."""
    struct = _spark_type(dict(schema), {})
    assert isinstance(struct, T.StructType)
    return struct


def narrow(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return an envelope's schema with one member, `OTHER`, for all record types without fields.

    A reader allocates every member in each row, so fewer members make it faster. If no member has
    the name of a record's type, Avro decodes the record as the first member whose fields all exist
    in the record. This is `OTHER`, because it comes first and has no fields.
    """
    other = {"type": "record", "name": OTHER, "fields": []}
    return _with_members(
        schema, lambda members: [other, *(member for member in members if member["fields"])]
    )


def with_aliases(schema: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a narrow schema in which `OTHER` lists as aliases the record types it replaces.

    Needed for fastavro, which matches members by name only. Java's Avro rejects these aliases.

    Args:
        schema: Result of `narrow`.
        names: The names of all record types.
    """
    return _with_members(
        schema,
        lambda members: [
            {**member, "aliases": sorted({*names} - {other["name"] for other in members})}
            if member["name"] == OTHER
            else member
            for member in members
        ],
    )


def _with_members(
    schema: Mapping[str, Any], change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> dict[str, Any]:
    """Return an envelope's schema with its payload members replaced by `change(members)`."""
    fields = [
        {**field, "type": change(field["type"])} if field["name"] == "payload" else field
        for field in schema["fields"]
    ]
    return {**schema, "fields": fields}


def _spark_type(schema: Any, named: dict[str, T.DataType]) -> T.DataType:
    if isinstance(schema, list):
        return _union_type(schema, named)
    if isinstance(schema, str):
        return _PRIMITIVES.get(schema) or named[schema]
    kind = schema["type"]
    if kind == "array":
        return T.ArrayType(_spark_type(schema["items"], named))
    if kind == "fixed":
        named[schema["name"]] = T.BinaryType()
        return T.BinaryType()
    assert kind == "record", f"no record type uses {kind}"
    struct = T.StructType(
        [_field(field["name"], field["type"], named) for field in schema["fields"]]
    )
    named[
        f"{schema['namespace']}.{schema['name']}" if "namespace" in schema else schema["name"]
    ] = struct
    return struct


def _field(name: str, schema: Any, named: dict[str, T.DataType]) -> T.StructField:
    # Always nullable: Spark's file sources make every column nullable.
    return T.StructField(name, _spark_type(schema, named))


def _union_type(members: list[Any], named: dict[str, T.DataType]) -> T.DataType:
    if len(members) == 2 and members[0] == "null":
        return _spark_type(members[1], named)
    return T.StructType(
        [_field(UNION_MEMBER_PREFIX + member["name"], member, named) for member in members]
    )
