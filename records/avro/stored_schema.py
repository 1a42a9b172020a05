"""The schema that a segment carries, checked before a decoder is built from it.

A schema is input like the rows, and valid Avro can still demand unbounded work: six bytes can
encode an array of 2^33 nulls. Here every field, item and map value must take at least one byte and
nesting is limited, so that decoding is bounded by the input's size. The schemas of all releases
comply; each has our envelope as its outermost type.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from records import registry

# Today's schema has 8 levels.
_DEPTH_MAX = 32

_PRIMITIVE_SIZES = {
    "null": 0,
    "boolean": 1,
    "int": 1,
    "long": 1,
    "float": 4,
    "double": 8,
    "bytes": 1,
    "string": 1,
}


class _Shape(msgspec.Struct, frozen=True):
    """The minimum encoded size of a type's values in bytes, and the type's nesting depth."""

    size_bytes: int
    levels: int


def parse_stored_schema(text: str) -> dict[str, Any]:
    """Return the schema of a segment, ready for fastavro.

    Raises:
        ValueError: the text is not a schema of a metadata log.
    """
    try:
        schema = json.loads(text)
    except RecursionError:
        raise ValueError("the schema is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the schema is not JSON: {error}") from error
    _Check().shape(schema)
    _check_envelope(schema)
    envelope: dict[str, Any] = schema
    return envelope


def _check_envelope(schema: Any) -> None:
    if not isinstance(schema, dict) or (schema["type"], schema.get("name")) != (
        "record",
        "Envelope",
    ):
        raise ValueError("the schema's outermost type is not the record Envelope")
    types = {field["name"]: field["type"] for field in schema["fields"]}
    needed = [f["name"] for f in registry.schema("Envelope")["fields"] if "default" not in f]
    missing = [name for name in needed if name not in types]
    if missing:
        raise ValueError(f"the schema's envelope has no field {', '.join(missing)}")
    payload = types["payload"]
    if not isinstance(payload, list) or not all(
        isinstance(branch, dict) and branch["type"] == "record" for branch in payload
    ):
        raise ValueError("the schema's payload is not a union of records")


class _Check:
    """Checks a schema in one walk. A type may refer only to types that end before it begins."""

    def __init__(self) -> None:
        self._named: dict[str, _Shape] = {}

    def shape(self, node: Any, namespace: str = "", depth: int = 0) -> _Shape:
        """Check a type with everything nested in it, and return its shape.

        Raises:
            ValueError: `node` is not a type, or decoding it is not bounded.
        """
        if isinstance(node, str):
            found = self._of_name(node, namespace)
        elif depth > _DEPTH_MAX:
            raise ValueError(f"the schema is nested more than {_DEPTH_MAX} levels deep")
        elif isinstance(node, list):
            found = self._of_union(node, namespace, depth + 1)
        elif isinstance(node, dict):
            found = self._of_definition(node, namespace, depth + 1)
        else:
            raise ValueError(f"the schema has {_shown(node)} in place of a type")
        if found.levels > _DEPTH_MAX:
            raise ValueError(f"the schema is nested more than {_DEPTH_MAX} levels deep")
        return found

    def _of_name(self, name: str, namespace: str) -> _Shape:
        if name in _PRIMITIVE_SIZES:
            return _Shape(_PRIMITIVE_SIZES[name], 1)
        found = self._named.get(_full_name(name, namespace)) or self._named.get(name)
        if found is None:
            raise ValueError(f"the schema names the type {_shown(name)} before defining it")
        return found

    def _of_union(self, branches: list[Any], namespace: str, depth: int) -> _Shape:
        if not branches:
            raise ValueError("the schema has an empty union")
        shapes = [self.shape(branch, namespace, depth) for branch in branches]
        return _Shape(
            1 + min(shape.size_bytes for shape in shapes),
            1 + max(shape.levels for shape in shapes),
        )

    def _of_definition(self, node: Mapping[str, Any], namespace: str, depth: int) -> _Shape:
        if "logicalType" in node:
            logical = _shown(node["logicalType"])
            raise ValueError(f"the schema has the logical type {logical}, which no release uses")
        match node.get("type"):
            case "record":
                return self._of_record(node, namespace, depth)
            case "enum":
                if not node.get("symbols") or not _are_names(node["symbols"]):
                    raise ValueError("the schema has an enum without symbols")
                return self._define(node, namespace, _Shape(1, 1))
            case "fixed":
                size = node.get("size")
                if not isinstance(size, int) or size < 1:
                    raise ValueError(
                        f"the schema has a fixed of {_shown(size)} bytes; it needs at least 1"
                    )
                return self._define(node, namespace, _Shape(size, 1))
            case "array":
                items = self._taking_bytes(node.get("items"), namespace, depth, "array items")
                return _Shape(1, 1 + items.levels)
            case "map":
                values = self._taking_bytes(node.get("values"), namespace, depth, "map values")
                return _Shape(1, 1 + values.levels)
            case str(primitive) if primitive in _PRIMITIVE_SIZES:
                return _Shape(_PRIMITIVE_SIZES[primitive], 1)
        raise ValueError(f"the schema has the unknown type {_shown(node.get('type'))}")

    def _of_record(self, node: Mapping[str, Any], namespace: str, depth: int) -> _Shape:
        fields = node.get("fields")
        if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
            raise ValueError("the schema has a record without fields")
        names = [field.get("name") for field in fields]
        if not _are_names(names) or len(set(names)) != len(names):
            raise ValueError("the schema has a record with unnamed or equally named fields")
        inner = _namespace(node, namespace)
        shapes = [self._taking_bytes(f.get("type"), inner, depth, "a field") for f in fields]
        shape = _Shape(
            sum(shape.size_bytes for shape in shapes),
            1 + max((shape.levels for shape in shapes), default=0),
        )
        return self._define(node, namespace, shape)

    def _taking_bytes(self, node: Any, namespace: str, depth: int, what: str) -> _Shape:
        found = self.shape(node, namespace, depth)
        if not found.size_bytes:
            raise ValueError(f"the schema has {what} of a type that takes no bytes")
        return found

    def _define(self, node: Mapping[str, Any], namespace: str, shape: _Shape) -> _Shape:
        name = node.get("name")
        if not isinstance(name, str) or not name or name in _PRIMITIVE_SIZES:
            raise ValueError(f"the schema gives a type the invalid name {_shown(name)}")
        full_name = _full_name(name, _namespace(node, namespace))
        if full_name in self._named:
            raise ValueError(f"the schema defines {_shown(full_name)} twice")
        self._named[full_name] = shape
        return shape


def _namespace(node: Mapping[str, Any], outer: str) -> str:
    """Return the namespace that applies to the fields of a named type."""
    name = node.get("name")
    if isinstance(name, str) and "." in name:
        return name.rpartition(".")[0]
    namespace = node.get("namespace", outer)
    return namespace if isinstance(namespace, str) else outer


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _are_names(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) and value for value in values)


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:60]}..."
