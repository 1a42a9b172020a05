"""Puts the page, its modules and the columns of a report into one HTML file."""

import base64
import re
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

MODULE_PREFIX = "report/"
"""Modules import each other as `report/data.js`, so that a file can hold them as data: URLs."""

_PLACE = re.compile(r"\{\{(\w+)\}\}")


class PageCommand(msgspec.Struct, frozen=True, kw_only=True):
    """What a page says of the command that made it.

    `where` is the log or service as the command line names it, `name` a short form to be shown.
    """

    name: str
    where: str
    masked: bool


def report_page(packed: bytes, command: PageCommand) -> str:
    """Return the file, given what `replay.report` packed."""
    parts = {
        "title": _escaped(command.name),
        "style": _text("report.css"),
        "imports": _json({"imports": _modules()}),
        "command": _json(command),
        "columns": base64.b64encode(packed).decode(),
    }
    # In one pass: what is put in may look like a place for something else.
    return _PLACE.sub(lambda found: parts[found[1]], _text("page.html"))


@cache
def _modules() -> dict[str, str]:
    found = sorted(f.name for f in files("api.report").iterdir() if f.name.endswith(".js"))
    return {MODULE_PREFIX + name: _data_url(_text(name)) for name in found}


def _data_url(module: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(module.encode()).decode()


def _text(name: str) -> str:
    return files("api.report").joinpath(name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """Return JSON that cannot end the script that holds it."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
