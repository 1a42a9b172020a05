"""Embeds the page, its modules and the columns of a report in one HTML file."""

import base64
from functools import cache

import msgspec

from api.report import assets

MODULE_PREFIXES = ("report/", "asked/", "play/")
"""Prefixes of module names, such as `report/data.js`; a file holds the modules as data: URLs."""


class PageNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note that a page shows at an offset, although the log does not have it."""

    offset: int
    text: str


class PageCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The command that made a page, as the page shows it.

    `where` is the log or service as given on the command line, `name` its short form for display.
    """

    name: str
    where: str
    masked: bool
    notes: tuple[PageNote, ...] = ()


def report_page(packed: bytes, command: PageCommand) -> str:
    """Return the HTML of a report, given the columns packed by `replay.report`."""
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
    return {
        name: _data_url(module)
        for prefix in MODULE_PREFIXES
        for name, module in assets.modules(prefix).items()
    }


def _data_url(module: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(module.encode()).decode()


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
