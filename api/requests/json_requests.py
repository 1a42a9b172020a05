"""Converts requests and responses of commands and questions to and from JSON values, by type.

In JSON, a topic is given by its name, or by its id as `@ID`. Other ids are text, and other bytes
are base64. A code, of a type `Annotated[int, SomeEnum]`, is given by its name, in any case, or as a
number, and comes back as the name. A struct may contain the name and the encoded request of a
command: that request is then JSON, too.
"""

import base64
import enum
import typing
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any

import msgspec

from api.questions.table import QUESTIONS, STEPS, find_question
from api.requests.commands import any_command, find_command
from controller.wire import check_size, from_wire, to_wire
from records.base import Uuid
from records.errors import RequestError
from records.text import parse_bytes, parse_uuid, uuid_text


def request_class(name: str) -> Any:
    """Return the request struct of a command or question.

    If the request is a bare value, such as a string, this is a struct that contains the value.

    Raises:
        RequestError: INVALID_REQUEST, there is no command or question of that name.
    """
    if name in QUESTIONS and name not in STEPS:
        return find_question(name).request
    return find_command(name).request_struct


def request_from_json(plain: Any, as_type: Any) -> Any:
    """Return the request given by a JSON value.

    Raises:
        RequestError: INVALID_REQUEST, the value is not a request of that type; the message gives
            the place of the error.
    """
    check_size(plain)
    try:
        wire = to_wire(_plain(plain, as_type))
    except (OverflowError, ValueError) as error:
        raise RequestError("INVALID_REQUEST", str(error)) from error
    except RecursionError as error:
        raise RequestError("INVALID_REQUEST", "the request is nested too deeply") from error
    return from_wire(wire, as_type)


def json_value(value: Any, as_type: Any) -> Any:
    """Return a request or response as a JSON value, which `request_from_json` can parse."""
    as_type = _branch(value, as_type)
    if is_code(as_type) and isinstance(value, int):
        return _code_name(value, as_type)
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return _bytes_json(value, as_type)
        case enum.Enum():
            return value.value if isinstance(value.value, str) else value.name
        case tuple() | list():
            hints = _item_types(as_type, len(value))
            return [json_value(item, of) for item, of in zip(value, hints, strict=True)]
        case msgspec.Struct():
            return _fields_json(value)
        case Mapping():
            of = (typing.get_args(as_type) or (Any, Any))[1]
            return {str(key): json_value(item, of) for key, item in value.items()}
    return msgspec.to_builtins(value)


def _code_name(value: int, as_type: Any) -> str | int:
    """Return the name of a code; the number if it has none, as in an imported log."""
    names = enum_of(as_type)
    assert names is not None, "a code has an enum"
    found: str | int = next((each.name for each in names if each.value == value), value)
    return found


def _bytes_json(value: bytes, as_type: Any) -> str:
    if as_type == _NAME_OR_ID:
        return f"@{uuid_text(value)}"
    # A token's HMAC is a password in this form, so not the URL-safe one of ids.
    return uuid_text(value) if as_type is Uuid else base64.b64encode(value).decode()


def _fields_json(value: msgspec.Struct) -> dict[str, Any]:
    found = {}
    for field, hint in typed_fields(type(value)):
        item = getattr(value, field.name)
        command = getattr(value, "command", None)
        if isinstance(item, bytes) and field.name in _ENCODED and command:
            inner = getattr(any_command(command), field.name)
            found[field.encode_name] = json_value(from_wire(item, inner, lenient=True), inner)
        elif item is not msgspec.UNSET:
            found[field.encode_name] = json_value(item, hint)
    return found


_ENCODED = ("request", "response")
"""Fields with the encoded request or response of the command that the structure names."""

_NAME_OR_ID = frozenset({str, Uuid})
"""The types that a reference to a topic may have."""


@cache
def typed_fields(cls: type[msgspec.Struct]) -> tuple[tuple[msgspec.structs.FieldInfo, Any], ...]:
    """Return the fields of a struct with their resolved types."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return tuple((field, hints[field.name]) for field in msgspec.structs.fields(cls))


def branches(as_type: Any) -> tuple[Any, ...]:
    """Return the types of a union without None; for another type, only that type."""
    if typing.get_origin(as_type) in (typing.Union, UnionType):
        return tuple(of for of in typing.get_args(as_type) if of is not type(None))
    return (as_type,)


def is_name_or_id(as_type: Any) -> bool:
    """True if the type is a reference to a topic by name or id, optional or not."""
    return frozenset(branches(as_type)) == _NAME_OR_ID


def enum_of(as_type: Any) -> type[enum.Enum] | None:
    """Return the enum of a type that is an enum or an enum's code; None for other types."""
    found = typing.get_args(as_type)[1] if is_code(as_type) else as_type
    return found if isinstance(found, type) and issubclass(found, enum.Enum) else None


def member_named(names: type[enum.Enum], text: str) -> enum.Enum | None:
    """Return the enum member with a name, ignoring case; hyphens stand for underscores."""
    return names.__members__.get(text.upper().replace("-", "_"))


def is_code(as_type: Any) -> bool:
    """True if the type is a number that an enum names."""
    return typing.get_origin(as_type) is Annotated


def _branch(value: Any, as_type: Any) -> Any:
    """Return T for the type `T | None`, Any for a union of several types, else the type itself.

    A reference to a topic by name or id stays that type, although it is a union.
    """
    if is_name_or_id(as_type):
        return _NAME_OR_ID
    found = branches(as_type)
    return found[0] if len(found) == 1 else Any


def _item_types(as_type: Any, count: int) -> tuple[Any, ...]:
    found = typing.get_args(as_type)
    if len(found) == 2 and found[1] is ...:
        return found[:1] * count
    return found if len(found) == count else (Any,) * count


def _plain(value: Any, as_type: Any) -> Any:
    """Return a JSON value with its ids and bytes decoded.

    Values of a wrong type are unchanged; the decoder reports them later.

    Raises:
        ValueError: an id or bytes cannot be parsed, or a code has no such name.
    """
    if isinstance(value, str):
        return _text(value, as_type)
    for of in branches(as_type):
        if isinstance(value, list) and typing.get_origin(of) is tuple:
            hints = _item_types(of, len(value))
            return [_plain(item, hint) for item, hint in zip(value, hints, strict=True)]
        if isinstance(value, dict) and isinstance(of, type) and issubclass(of, msgspec.Struct):
            return _fields(value, of)
    return value


def _text(value: str, as_type: Any) -> Any:
    if is_name_or_id(as_type):
        return parse_uuid(value[1:]) if value.startswith("@") else value
    (of, *more) = branches(as_type)
    if more:
        return value
    if of is Uuid:
        return parse_uuid(value)
    if of is bytes:
        return parse_bytes(value)
    names = enum_of(of)
    member = None if names is None else member_named(names, value)
    if member is not None:
        return member.value
    if names is not None and is_code(of):
        raise ValueError(f"{value!r} is neither a number nor one of {', '.join(names.__members__)}")
    return value


def _fields(value: dict[str, Any], cls: type[msgspec.Struct]) -> dict[str, Any]:
    hints = {field.encode_name: hint for field, hint in typed_fields(cls)}
    command = value.get("command")
    return {
        name: _encoded(command, name, item)
        if name in _ENCODED and command is not None and hints.get(name) is bytes
        else _plain(item, hints.get(name, Any))
        for name, item in value.items()
    }


def _encoded(command: Any, name: str, plain: Any) -> bytes:
    try:
        found = any_command(command)
    except (KeyError, TypeError):
        raise RequestError("INVALID_REQUEST", f"there is no command {command!r}") from None
    return to_wire(request_from_json(plain, getattr(found, name)))
