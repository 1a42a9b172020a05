"""Functions that read parts of Avro schemas, which are given as decoded JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

Named = dict[str, Any]
_NESTED = ("type", "items", "values", "fields")


def field_type(schema: Mapping[str, Any], name: str) -> Any:
    """Return the type of a field of a record schema."""
    (found,) = (field["type"] for field in schema["fields"] if field["name"] == name)
    return found


def members(schema: Mapping[str, Any], union: str) -> dict[str, Any]:
    """Return, by name, the record schemas in the union that is the type of the field `union`.

    Each returned schema includes the definitions of all types that it uses.
    """
    named = dict(_definitions(schema, ""))
    return {
        member["name"]: _self_contained(member, member.get("namespace", ""), named, set())
        for member in field_type(schema, union)
    }


def _definitions(schema: Any, space: str) -> Iterator[tuple[str, Any]]:
    """Yield the full name and the definition of each named type."""
    if isinstance(schema, list):
        for each in schema:
            yield from _definitions(each, space)
    elif isinstance(schema, dict):
        if "fields" in schema or "size" in schema or "symbols" in schema:
            name = full_name(schema["name"], schema.get("namespace", space))
            yield name, schema
            space = name.rpartition(".")[0]
        for key in _NESTED:
            yield from _definitions(schema.get(key), space)


def full_name(name: str, space: str) -> str:
    """Return a type's name with its namespace."""
    return name if "." in name or not space else f"{space}.{name}"


def _self_contained(schema: Any, space: str, named: Named, known: set[str]) -> Any:
    """Copy a schema, replacing the first mention of each named type by its definition."""
    if isinstance(schema, list):
        return [_self_contained(each, space, named, known) for each in schema]
    if isinstance(schema, str):
        name = next((each for each in (full_name(schema, space), schema) if each in named), schema)
        if name not in named:
            return schema
        if name in known:
            return name
        space, _, short = name.rpartition(".")
        schema = {**named[name], "name": short, "namespace": space}
    if isinstance(schema, dict):
        if "fields" in schema or "size" in schema or "symbols" in schema:
            name = full_name(schema["name"], schema.get("namespace", space))
            known.add(name)
            space = name.rpartition(".")[0]
        return {
            key: _self_contained(value, space, named, known) if key in _NESTED else value
            for key, value in schema.items()
        }
    return schema
