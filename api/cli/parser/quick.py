"""Parses plain command lines without typer, whose import takes longer than most answers.

A command line is plain if the command declares its parameters with `parameters`, every option is
spelled out and given once, and all values are valid. All others are left to typer, which provides
help, environment variables and error messages.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

from api.cli.options.parameters import Argument, Parameter
from api.cli.options.query_options import ASSUMED_ZONE, CONSISTENT, KEEP_GOING, ZONE
from api.cli.options.snapshot_database import DATABASE

F = TypeVar("F", bound=Callable[..., Any])

# typer takes arguments that are left out from these, or answers a shell instead.
_TYPER_VARIABLES = ("METALOG_LOG", "METALOG_SERVER", "_METALOG_COMPLETE")


class Declared(NamedTuple):
    """A declared command; `settings` are for typer."""

    function: Callable[..., Any]
    settings: dict[str, Any]


DECLARED: dict[str, Declared] = {}
"""The declared commands of all imported modules, by name."""


class _NotPlain(Exception):
    """Raised when typer must parse the command line."""


class _Parameter(NamedTuple):
    name: str
    type: Any
    parameter: Parameter
    is_required: bool


def command(**settings: Any) -> Callable[[F], F]:
    """Register a function as a command; the command's name is the function's, with dashes."""

    def register(function: F) -> F:
        DECLARED[function.__name__.replace("_", "-")] = Declared(function, settings)
        return function

    return register


def quick_call(arguments: Sequence[str]) -> partial[Any] | None:
    """Return the call for a command line, or None if typer must parse it.

    The module of the command must have been imported.
    """
    found = DECLARED.get(arguments[0]) if arguments else None
    if found is None or any(name in os.environ for name in _TYPER_VARIABLES):
        return None
    reset_common_options()
    try:
        values = _values(found.function, arguments[1:])
    except _NotPlain:
        return None
    return bound(found.function, values)


def is_shared(annotation: Any) -> bool:
    """True if a parameter's annotation is a `NamedTuple` of options that commands share."""
    return isinstance(annotation, type) and hasattr(annotation, "_fields")


def bound(command: Callable[..., Any], values: Mapping[str, Any]) -> partial[Any]:
    """Return the call of a command with the values of all its options by name."""
    given = dict(values)
    for name, options in command.__annotations__.items():
        if is_shared(options):
            own = [field for field in options._fields if field in given]
            given[name] = options(**{field: given.pop(field) for field in own})
    return partial(command, **given)


def reset_common_options() -> None:
    """Reset the values of the options in `common_options` to their defaults."""
    ZONE.set("UTC")
    ASSUMED_ZONE.set(None)
    DATABASE.set(None)
    KEEP_GOING.set(False)
    CONSISTENT.set(False)


def _values(function: Callable[..., Any], words: Sequence[str]) -> dict[str, Any]:
    declared = list(_declared(function))
    options = {name: each for each in declared for name in _option_names(each)}
    values: dict[str, Any] = {}
    given: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            given.append(word)
            continue
        name, has_value, text = word.partition("=")
        option = options.get(name)
        if option is None or option.name in values:
            raise _NotPlain
        if option.type is bool:
            if has_value:
                raise _NotPlain
            values[option.name] = True
        else:
            values[option.name] = _converted(option, text if has_value else next(rest, "-"))
    positional = [each for each in declared if isinstance(each.parameter, Argument)]
    if len(given) != len(positional):
        raise _NotPlain
    for each, text in zip(positional, given, strict=True):
        values[each.name] = _converted(each, text)
    if any(each.is_required and each.name not in values for each in declared):
        raise _NotPlain
    return values


def _declared(function: Callable[..., Any]) -> Iterator[_Parameter]:
    """Yield the parameters of a command, with the options that it shares with others.

    Does not use `inspect`, because importing it takes as long as parsing.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    required = code.co_argcount - len(function.__defaults__ or ())
    defaults = {*names[required : code.co_argcount], *(function.__kwdefaults__ or ())}
    for name in names:
        annotation = function.__annotations__[name]
        if is_shared(annotation):
            for field, option in annotation.__annotations__.items():
                yield _parameter(field, option, is_required=field not in annotation._field_defaults)
        else:
            yield _parameter(name, annotation, is_required=name not in defaults)


def _parameter(name: str, annotation: Any, *, is_required: bool) -> _Parameter:
    type_, parameter = get_args(annotation)
    return _Parameter(name, type_, parameter, is_required)


def _option_names(declared: _Parameter) -> Sequence[str]:
    if isinstance(declared.parameter, Argument):
        return ()
    # typer gives a nameless flag two names; none has been needed yet.
    nameless = () if declared.type is bool else (f"--{declared.name.replace('_', '-')}",)
    return declared.parameter.names or nameless


def _converted(declared: _Parameter, text: str) -> Any:
    settings = declared.parameter.settings
    is_list = any(get_origin(each) is list for each in (declared.type, *get_args(declared.type)))
    if is_list or text.startswith("-"):
        raise _NotPlain
    try:
        if "parser" in settings:
            return settings["parser"](text)
        if declared.type in (str, str | None):
            return text_of(text)
        if declared.type in (int, int | None):
            return number_of(text, settings.get("min"), settings.get("max"))
    except Exception as error:
        raise _NotPlain from error
    raise _NotPlain


def text_of(value: object) -> str:
    """Return the value if it is valid text.

    Raises:
        ValueError: the value is not valid text.
    """
    if not isinstance(value, str):
        raise ValueError("not a string")
    value.encode()  # the shell may pass bytes that are not UTF-8
    return value


def number_of(value: object, least: float | None, most: float | None) -> int:
    """Parse a decimal number between two inclusive bounds, each of which may be None.

    Raises:
        ValueError: the value is not such a number.
    """
    digits = str(value).removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError("not a number in decimal digits")
    number = int(str(value))
    if (least is not None and number < least) or (most is not None and number > most):
        raise ValueError("out of range")
    return number
