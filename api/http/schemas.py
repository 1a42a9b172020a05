"""JSON schemas of the types in requests and answers."""

import enum
import typing
from collections.abc import Mapping
from types import UnionType
from typing import Any

import msgspec
from msgspec import UnsetType

from api.requests.json_requests import is_code, is_name_or_id, json_value, typed_fields
from records.base import Uuid

Schema = dict[str, Any]

_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}

_UUID = r"^[A-Za-z0-9_-]{22}$"
_BASE64 = r"^[A-Za-z0-9_+/-]*=*$"


class Schemas:
    """Makes JSON schemas of types; collects the schemas of structs by name, for `$ref`."""

    def __init__(self) -> None:
        self.found: dict[str, Schema] = {}
        self._of: dict[str, Any] = {}

    def of(self, hint: Any) -> Schema:
        """Return the schema of a type's JSON form (`api.requests.json_requests`)."""
        if is_name_or_id(hint):
            optional = type(None) in typing.get_args(hint)
            return {
                "type": ["string", "null"] if optional else "string",
                "description": "A topic's name, or its id as @ID.",
            }
        if typing.get_origin(hint) in (typing.Union, UnionType):
            given = [of for of in typing.get_args(hint) if of is not UnsetType]
            return self.of(given[0]) if len(given) == 1 else {"anyOf": list(map(self.of, given))}
        if is_code(hint):
            number, names = typing.get_args(hint)
            return {"anyOf": [_enum([*names.__members__]), self.of(number)]}
        hint = type(None) if hint is None else hint
        if hint is Uuid:
            return {"type": "string", "pattern": _UUID}
        if hint is bytes:
            return {"type": "string", "pattern": _BASE64}
        if hint in _NAMES:
            return {"type": _NAMES[hint]}
        return self._composed(hint)

    def _composed(self, hint: Any) -> Schema:
        origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
        if not isinstance(origin, type):
            return {}
        if issubclass(origin, msgspec.Struct):
            return self._struct(origin)
        if issubclass(origin, enum.Enum):
            return _enum([json_value(member, origin) for member in origin])
        if issubclass(origin, Mapping):
            return {"type": "object"}
        if origin is tuple and len(arguments) == 2 and arguments[1] is not ...:
            items = list(map(self.of, arguments))
            return {"type": "array", "prefixItems": items, "minItems": 2, "maxItems": 2}
        if hasattr(origin, "__iter__"):
            return {"type": "array", "items": self.of(arguments[0]) if arguments else {}}
        return {}

    def _struct(self, cls: type[msgspec.Struct]) -> Schema:
        name = cls.__name__
        while self._of.setdefault(name, cls) is not cls:
            name += "_"  # structures of two modules
        if name not in self.found:
            self.found[name] = {}
            self.found[name] = self._fields(cls)
        return {"$ref": f"#/components/schemas/{name}"}

    def field(self, field: msgspec.structs.FieldInfo, hint: Any) -> Schema:
        """Return the schema of a field of a struct."""
        is_inner = field.name in ("request", "response") and hint is bytes
        return {} if is_inner else self.of(hint)

    def _fields(self, cls: type[msgspec.Struct]) -> Schema:
        properties, required = {}, []
        for field, hint in typed_fields(cls):
            properties[field.encode_name] = self.field(field, hint)
            if field.required:
                required.append(field.encode_name)
        return {"type": "object", "properties": properties, "required": required}


def _enum(values: list[str]) -> Schema:
    return {"type": "string", "enum": values}
