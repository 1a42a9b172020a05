"""Requests of commands, as JSON."""

import typing
from typing import Any

import msgspec

from controller.wire import from_wire, to_wire
from records.base import Uuid
from records.errors import RequestError
from records.text import parse_uuid


def request_from_json(plain: Any, as_type: Any) -> Any:
    """Return the request in a JSON value; a topic is a name, or its id as `@ID`.

    Raises:
        RequestError: INVALID_REQUEST, it is not a request of that type; names the place.
    """
    return _with_ids(from_wire(to_wire(plain), as_type), as_type)


def _with_ids(value: Any, hint: Any) -> Any:
    """Replace `@ID` by the id, where either a name or an id is allowed."""
    arguments = typing.get_args(hint)
    if isinstance(value, str):
        return _id(value) if Uuid in arguments and value.startswith("@") else value
    if isinstance(value, tuple):
        hints = arguments[:1] * len(value) if arguments[1:] == (...,) else arguments
        return tuple([_with_ids(item, of) for item, of in zip(value, hints, strict=True)])
    if isinstance(value, msgspec.Struct):
        of = typing.get_type_hints(type(value))
        fields = value.__struct_fields__
        return type(value)(**{name: _with_ids(getattr(value, name), of[name]) for name in fields})
    return value


def _id(text: str) -> Uuid:
    try:
        return parse_uuid(text[1:])
    except ValueError as error:
        raise RequestError("INVALID_REQUEST", str(error)) from error
