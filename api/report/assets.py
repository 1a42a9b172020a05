"""The files of the report page: templates, style sheet and JavaScript modules."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_STATIC = re.compile(r'^(?:import|export) [^;]*?\bfrom "([^"]+)";', re.MULTILINE)
_LAZY = re.compile(r'\bimport\("([^"]+)"\)(?!\.)')

FOLDERS = {"report/": "", "asked/": "asked/", "play/": "play/", "served/": "served/"}
"""Folder of a module, by the first part of the name by which other modules import it."""


def text(name: str) -> str:
    """Return the text of a file in this package."""
    return files("api.report").joinpath(name).read_text(encoding="utf-8")


def modules(prefix: str) -> dict[str, str]:
    """Return the text of each JavaScript module in a folder, by the module's name.

    Args:
        prefix: The folder, as a key of `FOLDERS`; it is also put before each file name in the
            result.
    """
    folder = files("api.report").joinpath(FOLDERS[prefix])
    found = sorted(file.name for file in folder.iterdir() if file.name.endswith(".js"))
    return {prefix + name: text(FOLDERS[prefix] + name) for name in found}


def filled(name: str, parts: Mapping[str, str]) -> str:
    """Return a template with each `{{name}}` replaced by the part of that name."""
    # In one pass: what is put in may look like a place for something else.
    return _PLACE.sub(lambda found: parts[found[1]], text(name))


def json_text(value: Any) -> str:
    """Return JSON that is safe inside an HTML script element: `<` is escaped."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def imported(module: str) -> tuple[dict[str, None], dict[str, None]]:
    """Return the names of the modules that a module imports: at its start, and later.

    Args:
        module: The module's text. Types in its comments are written `import("NAME").Type`.
    """
    return dict.fromkeys(_STATIC.findall(module)), dict.fromkeys(_LAZY.findall(module))
