"""Arguments and options of commands, declared without typer.

Importing typer takes twice as long as starting Python. Commands that should be fast declare their
parameters here, so that a plain command line can be parsed without typer (see `quick`). For
anything else, including help and error messages, `typer_app` converts them to typer's parameters.

Options that several commands share are one parameter of each: a `NamedTuple` with an option as each
field. They stand in the help where that parameter stands.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typer import BadParameter


class Parameter:
    """A parameter of a command: the names of its option, and its other settings for typer."""

    def __init__(self, *names: str, **settings: Any) -> None:
        """Declare a parameter.

        Args:
            names: Names of the option.
            settings: Arguments for typer's function with the same name as this class.
        """
        self.names = names
        self.settings = settings


class Argument(Parameter):
    """A positional argument."""


class Option(Parameter):
    """An option."""


def is_shared(annotation: Any) -> bool:
    """True if a parameter with this annotation stands for options that several commands share."""
    return isinstance(annotation, type) and hasattr(annotation, "_fields")


def with_shared(command: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a command for the values of all its options by name."""
    given = dict(values)
    for name, options in command.__annotations__.items():
        if is_shared(options):
            own = [field for field in options._fields if field in given]
            given[name] = options(**{field: given.pop(field) for field in own})
    return given


def bad_parameter(message: str, **settings: Any) -> "BadParameter":
    """Return the error for a value that a command does not accept."""
    from typer import BadParameter

    return BadParameter(message, **settings)
