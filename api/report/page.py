"""Puts the page, its modules and the columns of a report into one HTML file."""

import base64
from functools import cache

import msgspec

from api.report import assets

MODULE_PREFIX = "report/"
"""Modules import each other as `report/data.js`, so that a file can hold them as data: URLs."""


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
        "style": assets.text("report.css"),
        "imports": assets.json_text({"imports": _modules()}),
        "command": assets.json_text(command),
        "columns": base64.b64encode(packed).decode(),
    }
    return assets.filled("page.html", parts)


@cache
def _modules() -> dict[str, str]:
    return {name: _data_url(module) for name, module in assets.modules(MODULE_PREFIX).items()}


def _data_url(module: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(module.encode()).decode()


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
