"""Parses query parameters into the request of a question and its point or points.

A request about a range has its points in `from` and `to`, every other request has its point in
`at`. A topic is given by name, or by id as `@ID`; a list is given by repeating its parameter; a
struct is given as JSON.
"""

import typing
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from api.http.request import Values, truth, whole_number, wrong_parameter
from api.questions.question import Question
from api.requests.json_errors import json_error
from api.requests.json_requests import (
    branches,
    enum_of,
    is_name_or_id,
    member_named,
    request_from_json,
    typed_fields,
)
from records.base import Uuid

_POINTS = {"first": "from", "before": "from"}
"""Fields that hold the first point of a range."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One query parameter.

    Attributes:
        field: The request's field; None for the question's point, and for parameters parsed
            elsewhere.
        type: The field's Python type; the item's type if `is_repeated`.
        is_json: True if the value is JSON, not plain text.
        default: NODEFAULT if the parameter is required.
    """

    name: str
    field: str | None
    type: Any
    is_repeated: bool = False
    is_json: bool = False
    default: Any = None


def parameters_of(question: Question, request: Any) -> tuple[Parameter, ...]:
    """Return the parameters of a question.

    Args:
        request: The struct whose fields become parameters: the question's request type, or a struct
            around it if that type is a bare value such as a string.
    """
    found = fields_of(request)
    has_range = any(parameter.name == "from" for parameter in found)
    return *found, Parameter(name="to" if has_range else "at", field=None, type=str, default="end")


def fields_of(request: Any) -> tuple[Parameter, ...]:
    """Return the parameters that fill the fields of a request."""
    return tuple([_parameter(field, hint) for field, hint in typed_fields(request)])


def _parameter(field: msgspec.structs.FieldInfo, hint: Any) -> Parameter:
    (of, *more) = branches(hint)
    is_repeated = is_json = False
    if more:
        of = hint
    elif typing.get_origin(of) is tuple:
        (of, *_), is_repeated = typing.get_args(of), True
    inner = branches(of)[0]
    is_text = is_name_or_id(of) or enum_of(inner) is not None
    is_json = not is_text and (
        typing.get_origin(inner) is not None or issubclass(inner, msgspec.Struct)
    )
    return Parameter(
        name=_POINTS.get(field.name, field.name) if inner is str else field.name,
        field=field.name,
        type=of,
        is_repeated=is_repeated,
        is_json=is_json,
        default=field.default,
    )


def read_request(
    parameters: Iterable[Parameter], request: Any, values: Values, others: Iterable[str] = ()
) -> tuple[Any, str]:
    """Return the request given by query parameters, and the point of the question.

    Args:
        others: Names of parameters that are parsed elsewhere.

    Raises:
        RequestError: INVALID_REQUEST, a parameter is unknown, missing, repeated or malformed.
    """
    known = {parameter.name: parameter for parameter in parameters}
    unknown = sorted(values.keys() - known.keys() - set(others))
    if unknown:
        raise wrong_parameter(
            unknown[0], f"there is no such parameter; there are {', '.join(known)}"
        )
    fields, point = {}, "end"
    for name, parameter in known.items():
        if name not in values:
            continue
        found = _value(parameter, values[name])
        if parameter.field is None:
            point = found
        else:
            fields[parameter.field] = found
    return request_from_json(fields, request), point


def _value(parameter: Parameter, texts: Sequence[str]) -> Any:
    if parameter.is_repeated:
        return [_item(parameter, text) for text in texts]
    if len(texts) != 1:
        raise wrong_parameter(parameter.name, "must be given only once")
    return _item(parameter, texts[0])


def _item(parameter: Parameter, text: str) -> Any:
    if not parameter.is_json:
        return _scalar(parameter.name, text, branches(parameter.type)[0])
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise wrong_parameter(parameter.name, f"not JSON: {json_error(text, error)}") from error


def _scalar(name: str, text: str, of: Any) -> Any:
    if of is bool:
        return truth(name, text)
    if of is int:
        return whole_number(name, text)
    names = enum_of(of)
    if names is not None and not isinstance(next(iter(names)).value, str):
        return text if member_named(names, text) is not None else whole_number(name, text)
    assert of in (str, Uuid, bytes) or names is not None, of
    return text
