"""The files of the web page, found by path alone: a page asks for dozens of them at once.

The files contain nothing about a cluster, so they need no authentication; the page requests all
data with its reader's credentials. Nothing is loaded from other hosts, and only these files'
scripts are run.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

import msgspec

from api.http.admission import WEB_PAGE
from api.http.problems import problem
from api.http.request import Reply, headers_of, reply_with, send_reply
from api.report import assets

if TYPE_CHECKING:
    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

_FOLDER = "/page/"
_MAIN, _MAIN_OF_LIST = "served/main.js", "served/logs.js"


class File(msgspec.Struct, frozen=True):
    """A file of the page, with the headers of its answers."""

    content: bytes
    media_type: str
    headers: dict[str, str]


class PageFiles:
    """Answers requests for the page's files; passes other requests on."""

    def __init__(self, files: Mapping[str, File], others: "ASGIApp") -> None:
        self._files, self._others = files, others

    async def __call__(self, given: "Scope", receive: "Receive", send: "Send") -> None:
        """Process a request; see ASGI."""
        scope = cast("HTTPScope", given)
        found = self._files.get(scope["path"])
        if found is None:
            await self._others(given, receive, send)
        else:
            await send_reply(_reply(found, scope), scope)


def _reply(found: File, scope: "HTTPScope") -> Reply:
    if scope["method"] != "GET":
        refused = problem(405, "METHOD_NOT_ALLOWED", "this path takes GET")
        return reply_with(refused, {"Allow": "GET"})
    if headers_of(scope).get("if-none-match") == found.headers["ETag"]:
        return Reply(b"", 304, found.media_type, found.headers)
    return Reply(found.content, 200, found.media_type, found.headers)


def _file(content: str, media_type: str, **headers: str) -> File:
    encoded = content.encode()
    found = {
        "ETag": f'"{hashlib.sha256(encoded).hexdigest()[:32]}"',
        "Cache-Control": "no-cache",
    }
    return File(encoded, f"{media_type}; charset=utf-8", found | headers)


def _files() -> dict[str, File]:
    modules = {
        name: text for prefix in assets.FOLDERS for name, text in assets.modules(prefix).items()
    }
    return {
        f"{_FOLDER}report.css": _file(assets.text("report.css"), "text/css"),
        **{_FOLDER + name: _file(text, "text/javascript") for name, text in modules.items()},
    }


def _page(main: str) -> File:
    """Return the HTML that runs a main module.

    The modules that it needs before it draws anything are loaded first. All others that the page
    can need are loaded behind them, and behind its first requests.
    """
    modules = {path.removeprefix(_FOLDER): file for path, file in _FILES.items()}
    of = {name: assets.imported(file.content.decode()) for name, file in modules.items()}
    imports = assets.json_text({"imports": {name: _FOLDER + name for name in modules}})
    at_once = _reached([main], {name: static for name, (static, _) in of.items()})
    later = _reached(at_once, {name: static | lazy for name, (static, lazy) in of.items()})
    preloads = [
        *[_preload(name) for name in at_once],
        *[_preload(name, ' fetchpriority="low"') for name in later if name not in at_once],
    ]
    parts = {"imports": imports, "preloads": "\n".join(preloads), "main": main}
    html = assets.filled("served/page.html", parts)
    return _file(html, "text/html", **{"Content-Security-Policy": _policy(imports)})


def _reached(begin: Iterable[str], imports: Mapping[str, Iterable[str]]) -> dict[str, None]:
    """Return some modules and all that they import, in the order in which they are found."""
    found = dict.fromkeys(begin)
    left = list(found)
    while left:
        new = [name for name in imports.get(left.pop(0), ()) if name not in found]
        found |= dict.fromkeys(new)
        left += new
    return found


def _preload(name: str, more: str = "") -> str:
    return f'<link rel="modulepreload" href="{_FOLDER}{name}"{more}>'


def _policy(imports: str) -> str:
    """Return the Content-Security-Policy: only the service's own scripts, and requests to it."""
    digest = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    )


_FILES = _files()

FILES = {WEB_PAGE: _page(_MAIN), **_FILES}
"""The files of a log's page by path."""

LIST_FILES = {WEB_PAGE: _page(_MAIN_OF_LIST), **_FILES}
"""The files of the page that lists the logs, by path; pages of logs have paths of their own."""
