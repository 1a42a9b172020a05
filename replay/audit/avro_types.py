"""Spark types of Avro schemas, as Spark's own Avro reader maps them."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import types as T

UNION_MEMBER_PREFIX = "member_"

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
