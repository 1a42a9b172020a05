"""Every command of `metalog`, for tests that must not leave one out."""

from collections.abc import Iterator
from typing import Any

import typer

from api.cli.app import complete_app
from api.cli.main import load_commands


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the words of each command, and its parser."""
    load_commands()

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        if not hasattr(command, "list_commands"):
            yield path, command
            return
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*path, name))

    yield from walk(typer.main.get_command(complete_app()), ())


def taking(option: str) -> list[str]:
    """Return the commands that have an option, each as its words with spaces between."""
    return [" ".join(words) for words, each in commands() if option in _options(each)]


def _options(command: Any) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts}
