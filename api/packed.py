"""Requests and responses of decisions as bytes: MessagePack, read back by the types they have.

MessagePack tells text from bytes, which is how a topic's name differs from its id. The types are
those of annotations: structs, tuples, mappings, unions, enumerations and scalars.
"""

import enum
import typing
from collections.abc import Mapping
from types import UnionType
from typing import Any

import msgspec

from records.base import ZERO_UUID, Uuid
from records.errors import RequestError


def packed(value: Any) -> bytes:
    """Return a value as bytes."""
    return msgspec.msgpack.encode(value)


def unpacked(raw: bytes, as_type: Any) -> Any:
    """Return what bytes say.

    Raises:
        RequestError: INVALID_REQUEST, they say nothing of that type; names the place.
    """
    try:
        plain = msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError("INVALID_REQUEST", f"no MessagePack: {error}") from error
    return _built(plain, as_type, "value")


def _built(plain: Any, as_type: Any, place: str) -> Any:
    if as_type is Uuid:
        return _id(plain, place)
    as_type = getattr(as_type, "__supertype__", as_type)
    origin, arguments = typing.get_origin(as_type), typing.get_args(as_type)
    if origin in (typing.Union, UnionType):
        return _built(plain, _branch(plain, arguments, place), place)
    if origin is tuple:
        return _tuple(plain, arguments, place)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(plain, arguments, place)
    if isinstance(as_type, type) and issubclass(as_type, msgspec.Struct):
        return _struct(plain, as_type, place)
    if isinstance(as_type, type) and issubclass(as_type, enum.Enum):
        try:
            return as_type(plain)
        except ValueError:
            raise _wrong(place, f"{plain!r} is no {as_type.__name__}") from None
    return _checked(plain, type(None) if as_type is None else as_type, place)


def _branch(plain: Any, branches: tuple[Any, ...], place: str) -> Any:
    """Return the branch of a union that a value belongs to; no two have one plain type."""
    for branch in branches:
        if isinstance(plain, _plain_type(branch)):
            return branch
    raise _wrong(place, f"{type(plain).__name__} is none of {branches}")


def _plain_type(as_type: Any) -> type[Any]:
    as_type = getattr(as_type, "__supertype__", as_type)
    origin = typing.get_origin(as_type)
    if origin is tuple:
        return list
    if origin is not None or issubclass(as_type, msgspec.Struct):
        return dict
    plain: type[Any] = as_type
    if issubclass(as_type, enum.Enum):
        (plain,) = {type(member.value) for member in as_type}
    return plain


def _id(plain: Any, place: str) -> Uuid:
    octets = _checked(plain, bytes, place)
    if len(octets) != len(ZERO_UUID):
        raise _wrong(place, f"{len(octets)} octets, not the {len(ZERO_UUID)} of an id")
    return Uuid(octets)


def _tuple(plain: Any, arguments: tuple[Any, ...], place: str) -> tuple[Any, ...]:
    items = _checked(plain, list, place)
    if len(arguments) == 2 and arguments[1] is ...:
        arguments = (arguments[0],) * len(items)
    if len(items) != len(arguments):
        raise _wrong(place, f"{len(items)} items, not {len(arguments)}")
    pairs = zip(items, arguments, strict=True)
    return tuple([_built(item, of, f"{place}[{i}]") for i, (item, of) in enumerate(pairs)])


def _mapping(plain: Any, arguments: tuple[Any, ...], place: str) -> dict[Any, Any]:
    key_type, value_type = arguments
    return {
        _built(key, key_type, place): _built(value, value_type, f"{place}[{key!r}]")
        for key, value in _checked(plain, dict, place).items()
    }


def _struct(plain: Any, cls: type[msgspec.Struct], place: str) -> Any:
    values = dict(_checked(plain, dict, place))
    hints = typing.get_type_hints(cls)
    fields = {}
    for field in msgspec.structs.fields(cls):
        if field.name in values:
            inner = f"{place}.{field.name}"
            fields[field.name] = _built(values.pop(field.name), hints[field.name], inner)
        elif field.required:
            raise _wrong(place, f"there is no {field.name}")
    if values:
        raise _wrong(place, f"{cls.__name__} has no {', '.join(map(str, values))}")
    return cls(**fields)


def _checked(plain: Any, as_type: Any, place: str) -> Any:
    """A bool is no number here, though Python says so."""
    if not isinstance(plain, as_type) or (isinstance(plain, bool) and as_type is not bool):
        raise _wrong(place, f"{type(plain).__name__}, not {as_type.__name__}")
    return plain


def _wrong(place: str, what: str) -> RequestError:
    return RequestError("INVALID_REQUEST", f"{place}: {what}")
