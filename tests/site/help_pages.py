"""Pages of the site that are made from the commands' help."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

from api.cli.app import complete_app
from api.cli.commands import COMMANDS, SECTIONS, Noun
from api.cli.main import load_commands
from api.cli.man import verbs_of


def help_pages() -> dict[str, str]:
    """Return the text of each page by the name of its file: a list, and one for each command."""
    load_commands()
    group: Any = get_command(complete_app())
    context = typer.Context(group, info_name="metalog")
    found = {name: group.get_command(context, name) for name in COMMANDS}
    pages = {"README.md": "\n".join([*_listed(found), ""])}
    for name, command in found.items():
        pages[f"{name}.md"] = "\n".join([f"# metalog {name}", *_page(command, name, context), ""])
    return pages


def _listed(found: dict[str, Any]) -> Iterator[str]:
    yield from ("# Commands by name", "", "What `--help` of each says.")
    yield "[Commands with examples](../commands.md) runs each of them."
    for title, names in SECTIONS.items():
        yield from ("", f"## {title}", "", "| command | |", "|---|---|")
        for name, row in names.items():
            text = row.help if isinstance(row, Noun) else found[name].get_short_help_str(200)
            yield f"| [{name}]({name}.md) | {_cell(text)} |"


def _page(command: Any, path: str, parent: Any) -> Iterator[str]:
    """Yield the lines about a command; for a group, about each of its commands."""
    context = typer.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    yield from ("", command.help.replace("\b", "").strip() if command.help else "")
    commands = verbs_of(command, context)
    if not commands:
        usage = " ".join(command.collect_usage_pieces(context))
        yield from ("", f"    metalog {path} {usage}", "")
        yield f"[Examples](../commands.md#{path.replace(' ', '-')})"
    yield from _parameters(command, context)
    for name in commands:
        yield from ("", f"## {path} {name}")
        yield from _page(command.get_command(context, name), f"{path} {name}", context)


def _parameters(command: Any, context: Any) -> Iterator[str]:
    found = [
        param.get_help_record(context)
        for param in command.get_params(context)
        if param.name != "help"
    ]
    if rows := [row for row in found if row is not None]:
        yield from ("", "| option | |", "|---|---|")
        for option, text in rows:
            yield f"| `{' '.join(option.split())}` | {_cell(text)} |"


def _cell(text: str) -> str:
    """Return a text in one line in which nothing is read as Markdown's table or HTML."""
    words = " ".join(text.split())
    for character in "|<*_":
        words = words.replace(character, f"\\{character}")
    return words
