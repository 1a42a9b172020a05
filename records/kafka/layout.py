"""The layout of one version of a record type in Kafka's encoding, derived from its schema.

For each field, the schema gives the versions in which the field exists, is nullable, and is tagged.
A `Layout` resolves this for one version.

Source: KIP-482 (tagged fields), KIP-631 (the metadata records).
"""

import functools
import typing
from collections.abc import Iterator
from types import UnionType
from typing import Any, TypeAlias

import msgspec

from records import registry
from records.base import Record


class ArrayOf(msgspec.Struct, frozen=True):
    """The type of an array, given by the type of its items."""

    item: "FieldType"


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a structure in one version.

    `tag` is None for a field that is always written. A tagged field is omitted if its value equals
    `default`.
    """

    name: str
    type: "FieldType"
    nullable: bool
    tag: int | None = None
    default: Any = None


class AbsentField(msgspec.Struct, frozen=True, kw_only=True):
    """A field that this version does not have. It decodes as `default`; no other value can be
    encoded.
    """

    name: str
    default: Any


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a structure: its untagged fields in order, and its tagged fields by ascending
    tag.

    A structure that is not `flexible` has Kafka's older encoding: lengths of fixed size and no
    tagged fields. Only requests and responses had it; metadata records were always flexible.
    """

    cls: type[Record]
    version: int
    fields: tuple[Field, ...]
    tagged: tuple[Field, ...]
    absent: tuple[AbsentField, ...]
    flexible: bool = True


FieldType: TypeAlias = str | ArrayOf | Layout
"""A scalar by Kafka's name (int32, string, uuid, ...), an array, or a structure."""


@functools.cache
def layout(cls: type[Record], version: int) -> Layout:
    """Return the layout of one version of a record type; Kafka must have both the type and the
    version.
    """
    assert has_version(cls, version), (cls, version)
    return _Builder(version).layout(registry.schema(cls.__name__), cls)


def has_version(cls: type[Record], version: int) -> bool:
    """True if a record type has this version; types that Kafka lacks have none."""
    versions = registry.schema(cls.__name__).get("kafka", {}).get("versions")
    return versions is not None and contains(versions, version)


@functools.cache
def metadata_types() -> dict[int, type[Record]]:
    """Return the metadata record types by their API key."""
    return dict(_keyed("api_key"))


@functools.cache
def control_types() -> dict[int, type[Record]]:
    """Return the control record types by their type number."""
    return dict(_keyed("control_type"))


def _keyed(key: str) -> Iterator[tuple[int, type[Record]]]:
    for cls in registry.RECORD_TYPES:
        kafka = registry.schema(cls.__name__).get("kafka", {})
        if key in kafka:
            yield kafka[key], cls


def default_of(field: Field | AbsentField, names: dict[str, Any]) -> str:
    """Return the Python expression for the default of a field; add the type it needs to `names`."""
    if isinstance(field.default, Record):
        names[type(field.default).__name__] = type(field.default)
    return repr(field.default)


def contains(versions: str | None, version: int) -> bool:
    """True if a range such as `2`, `1-3` or `1+` includes a version; False if it is None."""
    if versions is None:
        return False
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    first, _, last = versions.partition("-")
    return int(first) <= version <= int(last or first)


class _Builder:
    """Builds the layout of one version and of the structures nested in it."""

    def __init__(self, version: int) -> None:
        self._version = version
        # A schema defines a nested structure once and refers to it by name afterwards.
        self._defined: dict[str, dict[str, Any]] = {}

    def layout(self, schema: dict[str, Any], cls: type[Record]) -> Layout:
        hints = typing.get_type_hints(cls)
        defaults = {field.name: field.default for field in msgspec.structs.fields(cls)}
        present: list[Field] = []
        absent: list[AbsentField] = []
        for field in schema["fields"]:
            name = field["name"]
            kafka = field.get("kafka", {})
            if contains(kafka.get("versions"), self._version):
                present.append(self._field(field, hints[name], defaults[name]))
            else:
                assert defaults[name] is not msgspec.NODEFAULT, (cls, name)
                absent.append(AbsentField(name=name, default=defaults[name]))
        return Layout(
            cls=cls,
            version=self._version,
            fields=tuple(field for field in present if field.tag is None),
            tagged=tuple(sorted((f for f in present if f.tag is not None), key=_tag)),
            absent=tuple(absent),
        )

    def _field(self, field: dict[str, Any], hint: Any, default: Any) -> Field:
        kafka = field["kafka"]
        is_tagged = contains(kafka.get("tagged_versions"), self._version)
        assert not is_tagged or default is not msgspec.NODEFAULT, field
        return Field(
            name=field["name"],
            type=self._type(kafka["type"], field["type"], hint),
            nullable=contains(kafka.get("nullable_versions"), self._version),
            tag=kafka["tag"] if is_tagged else None,
            default=default if is_tagged else None,
        )

    def _type(self, kafka_type: str, schema: Any, hint: Any) -> FieldType:
        if isinstance(schema, list):
            (schema,) = [branch for branch in schema if branch != "null"]
            hint = _without_none(hint)
        if kafka_type.startswith("[]"):
            item = self._type(kafka_type[2:], schema["items"], typing.get_args(hint)[0])
            return ArrayOf(item)
        if isinstance(schema, dict) and schema["type"] == "record":
            self._defined[f"{schema['namespace']}.{schema['name']}"] = schema
            return self.layout(schema, hint)
        if schema in self._defined:
            return self.layout(self._defined[schema], hint)
        return kafka_type


def _tag(field: Field) -> int:
    assert field.tag is not None
    return field.tag


def _without_none(hint: Any) -> Any:
    assert typing.get_origin(hint) in (UnionType, typing.Union), hint
    (inner,) = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    return inner
