"""Options shared by all verbs of a kind, declared once.

The first parameter of a verb is built from those options: an `AdminClient` for a verb that changes
the cluster, a `Look` for one that reads it.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from api.cli.options.parameters import bad_parameter
from api.cli.parser.typer_app import App
from api.cli.terminal.errors import reads_only

Verb = TypeVar("Verb", bound=Callable[..., Any])


def verb_with(
    options: Callable[..., Any], *, reads: bool = False
) -> Callable[..., Callable[[Verb], Verb]]:
    """Return a decorator for verbs; `options` builds the verb's first parameter.

    Args:
        reads: True if the verbs change nothing.
    """

    def register(app: App, name: str | None = None) -> Callable[[Verb], Verb]:
        def decorate(function: Verb) -> Verb:
            command = _with_options(function, options)
            app.command(name)(reads_only(command) if reads else command)
            return function

        return decorate

    return register


def check_text(value: Any) -> None:
    """Refuse arguments that are not UTF-8, because a log cannot store them.

    Raises:
        typer.BadParameter: an argument is not UTF-8.
    """
    if isinstance(value, list | tuple):
        for each in value:
            check_text(each)
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise bad_parameter(f"{value!r} is not UTF-8") from None


def _with_options(function: Callable[..., Any], options: Callable[..., Any]) -> Callable[..., Any]:
    own = list(inspect.signature(function).parameters.values())[1:]
    common = list(inspect.signature(options).parameters.values())

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        for value in given.values():
            check_text(value)
        first = options(**{parameter.name: given.pop(parameter.name) for parameter in common})
        return function(first, **given)

    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in (*own, *common)]
    made: Any = command
    # The options of the command are read from these.
    made.__signature__ = inspect.Signature(parameters)
    made.__annotations__ = {p.name: p.annotation for p in parameters}
    return command
