"""Generates the manual page from the commands' help: `python -m api.cli.man > metalog.1`.

`man ./metalog.1` shows the page.
"""

import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import typer
from typer.main import get_command

from api.cli.app import complete_app
from api.cli.commands import SECTIONS
from api.cli.main import load_commands
from api.cli.terminal.output import print_line

_STATUSES = {
    "0": "done",
    "1": "the check found something: damage, a violation, a difference under --exit-code",
    "2": "wrong usage",
    "3": "the request was refused",
    "4": "unavailable or fenced: try again",
    "5": "corrupt input",
}
_VARIABLES = {
    "METALOG_LOG": "The log directory, where LOG or --log is left out.",
    "METALOG_SERVER": "The URL of a service, where --server is left out.",
    "METALOG_CLIENT": "A TOML file that says who asks a service: user, password_file, ca_file.",
}


def man_page() -> str:
    """Return the page in roff, as man(7) describes it."""
    load_commands()
    group: Any = get_command(complete_app())
    context = typer.Context(group, info_name="metalog")
    return "\n".join([*_lines(group, context), ""])


def _lines(group: Any, context: Any) -> Iterator[str]:
    yield f'.TH METALOG 1 "" "metalog {version("metadata-log")}" "User Commands"'
    yield from (
        ".SH NAME",
        rf"metalog \- {_text('keep, replay and debug the metadata of a cluster')}",
    )
    yield from (".SH SYNOPSIS", r".B metalog", r"[\-\-debug] COMMAND [ARGUMENT...]")
    yield from (".SH DESCRIPTION", _text(group.help or ""))
    yield from (".SH OPTIONS", *_parameters(group, context))
    for title, names in SECTIONS.items():
        yield f'.SH "{title.upper()}"'
        for name in names:
            yield from _command(group.get_command(context, name), f"metalog {name}", context)
    yield ".SH EXIT STATUS"
    for status, meaning in _STATUSES.items():
        yield from _item(status, meaning)
    yield ".SH ENVIRONMENT"
    for variable, meaning in _VARIABLES.items():
        yield from _item(variable, meaning)


def _command(command: Any, path: str, parent: Any) -> Iterator[str]:
    """Yield the roff lines of a command and its options; for a group, also of its commands."""
    context = typer.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f'.SS "{_text(path)} {_text(usage)}"', *_paragraphs(command.help or ""))
    yield from _parameters(command, context)
    for name in verbs_of(command, context):
        yield from _command(command.get_command(context, name), f"{path} {name}", context)


def verbs_of(command: Any, context: Any) -> list[str]:
    """Return the names of a group's commands, imported only now; none if it is not a group."""
    return list(command.list_commands(context)) if hasattr(command, "commands") else []


def _parameters(command: Any, context: Any) -> Iterator[str]:
    for param in command.get_params(context):
        row = None if param.name == "help" else param.get_help_record(context)
        if row is not None:
            yield from _item(*row)


def _item(tag: str, text: str) -> Iterator[str]:
    yield from (".TP", rf"\fB{_text(tag)}\fR", _text(text) or r"\&")


def _paragraphs(help_: str) -> Iterator[str]:
    for number, paragraph in enumerate(re.split(r"\n\s*\n", help_.replace("\b", "").strip())):
        if number:
            yield ".PP"
        yield _text(paragraph)


def _text(text: str) -> str:
    """Return a text with the characters escaped that roff would interpret."""
    words = " ".join(text.split())
    escaped = words.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    for line in man_page().splitlines():
        print_line(line)
