"""Records as plain JSON values: ids as 22 characters, other bytes as base64.

JSON has only finite numbers. Infinities and NaN are the strings `Infinity`, `-Infinity` and `NaN`,
as in the JSON that Kafka's own tools print.
"""

import functools
import math
import typing
from collections.abc import Callable
from types import UnionType
from typing import Any, TypeVar

import msgspec

from records import registry
from records.base import Record, Uuid
from records.text import bytes_text, parse_bytes, parse_uuid, uuid_text

# Fields that exist only because an Avro record must have one.
_HIDDEN = frozenset({"placeholder"})
_NONE: frozenset[str] = frozenset()

_NOT_FINITE = {text: float(text) for text in ("Infinity", "-Infinity", "NaN")}

R = TypeVar("R", bound=Record)


def to_json(record: Record) -> dict[str, Any]:
    """Return the record's fields, in the order of its schema, as JSON values."""
    return fields_json(record, _HIDDEN)


def fields_json(struct: msgspec.Struct, without: frozenset[str] = _NONE) -> dict[str, Any]:
    """Return the fields of any structure as JSON values, converted by their Python types.

    Args:
        without: Names of fields to leave out.
    """
    return {
        name: getattr(struct, name) if convert is None else convert(getattr(struct, name))
        for name, convert in _converters(type(struct), without)
    }


def field_json(struct: msgspec.Struct, name: str) -> Any:
    """Return one field of any structure as a JSON value, converted by the field's Python type."""
    value, convert = getattr(struct, name), _converters_by_name(type(struct))[name]
    return value if convert is None else convert(value)


@functools.cache
def default_fields(cls: type[Record]) -> dict[str, Any]:
    """Return the fields of a record type that have defaults, with the defaults as JSON values."""
    hints = _hints(cls)
    return {
        field.name: _value(field.default, hints[field.name])
        for field in msgspec.structs.fields(cls)
        if field.default is not msgspec.NODEFAULT
    }


def from_json(type_name: str, fields: dict[str, Any]) -> Record:
    """Build a record from the output of `to_json`; missing fields take the schema's default.

    Raises:
        ValueError: an unknown type or field, a missing field without default, or a value of the
            wrong type.
    """
    cls = registry.BY_NAME.get(type_name)
    if cls is None:
        raise ValueError(f"{type_name!r} is not a record type")
    return struct_from_json(fields, cls)


def struct_from_json(fields: Any, cls: type[R]) -> R:
    """Build a part of a row, such as an Origin, from the output of `fields_json`.

    Raises:
        ValueError: an unknown field, a missing field, or a value of the wrong type.
    """
    if not isinstance(fields, dict):
        raise ValueError(f"{cls.__name__} must be a JSON object, not {fields!r}")
    hints = _hints(cls)
    unknown = sorted(set(fields) - set(hints))
    if unknown:
        raise ValueError(f"{cls.__name__} has no field {unknown[0]!r}")
    values = {
        name: _parsed(item, hints[name], f"{cls.__name__}.{name}") for name, item in fields.items()
    }
    try:
        return cls(**values)
    except TypeError as error:
        raise ValueError(f"{cls.__name__}: {error}") from error


@functools.cache
def _hints(cls: type[msgspec.Struct]) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _inner(hint: Any) -> Any:
    if typing.get_origin(hint) in (UnionType, typing.Union):
        (hint,) = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    return hint


@functools.cache
def _converters(
    cls: type[msgspec.Struct], without: frozenset[str]
) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    """Return each field's name and its converter to JSON; None if the value is JSON already."""
    return tuple(
        (name, _converter(hint)) for name, hint in _hints(cls).items() if name not in without
    )


@functools.cache
def _converters_by_name(cls: type[msgspec.Struct]) -> dict[str, Callable[[Any], Any] | None]:
    return dict(_converters(cls, _NONE))


@functools.cache
def _converter(hint: Any) -> Callable[[Any], Any] | None:
    inner = _inner(hint)
    convert: Callable[[Any], Any]
    if inner is Uuid:
        convert = uuid_text
    elif inner is bytes:
        convert = bytes_text
    elif inner is float:
        convert = _number
    elif typing.get_origin(inner) is tuple:
        item = _converter(typing.get_args(inner)[0])
        if item is uuid_text:
            item = _listed_uuid_text
        convert = list if item is None else lambda value: [item(element) for element in value]
    elif inner is Any or _may_be_record(inner):
        convert = _maybe_record
    else:
        return None
    return convert if inner is hint else lambda value: None if value is None else convert(value)


# Lists of ids are the log directories of replicas: a few of a broker, in each of its partitions.
_listed_uuid_text = functools.lru_cache(1_024)(uuid_text)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"


def _maybe_record(value: Any) -> Any:
    return to_json(value) if isinstance(value, Record) else value


def _may_be_record(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Record)


def _value(value: Any, hint: Any) -> Any:
    convert = _converter(hint)
    return value if convert is None else convert(value)


def _parsed(value: Any, hint: Any, where: str) -> Any:
    if value is None and hint is not _inner(hint):
        return None
    hint = _inner(hint)
    try:
        if hint is Uuid:
            return parse_uuid(value)
        if hint is bytes:
            return parse_bytes(value)
        if hint is float and isinstance(value, str) and value in _NOT_FINITE:
            return _NOT_FINITE[value]
        if typing.get_origin(hint) is tuple:
            item = typing.get_args(hint)[0]
            return tuple(_parsed(element, item, where) for element in value)
        if isinstance(hint, type) and issubclass(hint, Record):
            return struct_from_json(value, hint)
        return msgspec.convert(value, hint)
    except (TypeError, ValueError) as error:  # msgspec.ValidationError is a ValueError
        raise ValueError(f"{where}: {error}") from error
