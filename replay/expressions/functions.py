"""Constants, functions and methods of expressions."""

import json
import re
from collections.abc import Callable
from typing import Any

from replay.expressions.values import INTEGER_MAX, Env, to_int, type_name
from replay.expressions.vocabulary import Objects, PartitionsOf

_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t", "`": "`", "?": "?"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


def _integer(text: str) -> int:
    value = int(text, 0 if text[:2].lower() == "0x" else 10) if len(text) < 25 else INTEGER_MAX + 1
    if value > INTEGER_MAX:
        raise ValueError("the integer is too large: integers have 64 bits")
    return value


def _string(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) == 5:
        return str(json.loads(f'"\\{escape}"'))
    if escape not in _ESCAPES:
        raise ValueError(f"there is no escape \\{escape}")
    return _ESCAPES[escape]


CONSTANTS: dict[str, Callable[..., Any]] = {
    "integer": _integer,
    "double": float,
    "string": _string,
    "true": lambda: True,
    "false": lambda: False,
    "null": lambda: None,
}
"""By grammar rule: the function that converts a literal's text to its value."""


def size_of(env: Env, value: Any) -> int:
    """Return the number of objects, elements or characters.

    Raises:
        TypeError: the value has no size.
    """
    if isinstance(value, (Objects, PartitionsOf)):
        return value.size(env)
    if isinstance(value, str | list | dict):
        return len(value)
    raise TypeError(f"a {type_name(value)} has no size")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise TypeError(f"a {type_name(value)} cannot become a string")
    return str(value)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {"int": to_int, "string": _text}
"""Functions of one argument except `size` and `has`; they raise TypeError."""


def _of_texts(method: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def checked(text: Any, argument: Any) -> bool:
        if not isinstance(text, str) or not isinstance(argument, str):
            raise TypeError(
                f"the function needs two strings, not {type_name(text)} and {type_name(argument)}"
            )
        return method(text, argument)

    return checked


METHODS: dict[str, Callable[[Any, Any], bool]] = {
    "startsWith": _of_texts(str.startswith),
    "endsWith": _of_texts(str.endswith),
    "contains": _of_texts(str.__contains__),
}
"""Methods of strings with one argument; they raise TypeError.

There is no `matches`: the time of a regular expression has no bound.
"""
