"""Arguments and options of commands, declared without typer.

Importing typer takes twice as long as starting Python. Commands that should answer at once declare
their parameters here, so that a plain command line can be parsed without it (see `quick`);
`typer_app` turns them into typer's for everything else, help and error messages included.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typer import BadParameter


class Parameter:
    """A parameter of a command: the names of its option, and what else typer is to know."""

    def __init__(self, *names: str, **settings: Any) -> None:
        """Declare a parameter; the settings are those of typer's functions of the same name."""
        self.names = names
        self.settings = settings


class Argument(Parameter):
    """A positional argument."""


class Option(Parameter):
    """An option."""


def bad_parameter(message: str, **settings: Any) -> "BadParameter":
    """Return the error for a value that a command cannot take."""
    from typer import BadParameter

    return BadParameter(message, **settings)
