"""The HTML page of all operations, made from the OpenAPI document.

The page loads nothing from other hosts.
"""

from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any
from urllib.parse import urlencode

import msgspec

from api.http.openapi import openapi

PATH = "/v1"

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>metalog: operations</title>
<meta name="viewport" content="width=device-width"><style>
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 50rem; padding: 0 1rem;
  color-scheme: light dark; }
summary { cursor: pointer; } code, pre { font-size: .9rem; } pre { overflow-x: auto; }
td { padding: 0 1rem 0 0; vertical-align: top; }
</style></head><body><h1>Operations</h1>
<p>The same as a document for programs: <a href="/openapi.json">openapi.json</a>.</p>
"""


@cache
def page(*, is_read_only: bool = False) -> str:
    """Return the page's HTML; without the commands if the server is read-only."""
    paths = msgspec.json.decode(openapi(is_read_only=is_read_only))["paths"]
    operations = [
        _operation(path, method, of)
        for path, methods in sorted(paths.items())
        for method, of in methods.items()
        if method != "head"
    ]
    return _HEAD + "\n".join(operations) + "\n</body></html>\n"


def _operation(path: str, method: str, of: dict[str, Any]) -> str:
    parameters = of.get("parameters", [])
    rows = "".join([_row(parameter) for parameter in parameters])
    table = f"<table>{rows}</table>" if rows else ""
    example = " \\\n  ".join(_curl(path, of))
    return (
        f"<details><summary><code>{method.upper()} {escape(path)}</code> "
        f"{escape(of['summary'])}</summary>{table}<pre>{escape(example)}</pre></details>"
    )


def _row(parameter: dict[str, Any]) -> str:
    kind = parameter["schema"].get("type", "")
    text = parameter.get("description", "")
    needed = "required" if parameter.get("required") else ""
    cells = (f"<code>{escape(parameter['name'])}</code>", parameter["in"], kind, needed, text)
    return f"<tr>{''.join([f'<td>{cell}</td>' for cell in cells])}</tr>"


def _curl(path: str, of: dict[str, Any]) -> Iterator[str]:
    given = [(p["name"], p["example"]) for p in of.get("parameters", []) if "example" in p]
    query = f"?{urlencode(given, doseq=True)}" if given else ""
    yield f"curl 'localhost:8080{path}{query}'"
    for form, body in of.get("requestBody", {}).get("content", {}).items():
        example = body["example"]
        text = example if isinstance(example, str) else msgspec.json.encode(example).decode()
        yield f"-H 'Content-Type: {form}'"
        yield f"-d '{text.strip()}'"
