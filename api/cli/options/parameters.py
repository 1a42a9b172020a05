"""Arguments and options of commands, declared without typer.

Importing typer takes twice as long as starting Python. Commands that should be fast declare their
parameters here, so that a plain command line can be parsed without typer (see `quick`). For
anything else, including help and error messages, `typer_app` converts them to typer's parameters.

Options that several commands share are one parameter of each: a `NamedTuple` with an option as each
field. They stand in the help where that parameter stands.
"""

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


def bad_parameter(message: str, **settings: Any) -> "BadParameter":
    """Return the error for a value that a command does not accept."""
    from typer import BadParameter

    return BadParameter(message, **settings)
