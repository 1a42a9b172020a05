"""The web page: its files, and the columns of data that it draws.

The files contain nothing about a cluster, so they need no authentication; the page requests all
data with its reader's credentials. Nothing is loaded from other hosts, and only these files'
scripts are run.
"""

import base64
import hashlib
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response
from msgspec.structs import replace

from api.http.admission import WEB_PAGE
from api.http.limits import PAGE_RECORDS, PAGE_RECORDS_MAX
from api.http.parameters import read_request
from api.http.questions import COMMON, HTML, ROUTES, Answers, packed_report, path_of
from api.http.request import Call, call_of, shared_state
from api.http.shared_state import SharedState
from api.questions.report import REPORT, ShowReport
from api.questions.table import guard_of
from api.report import assets
from api.requests.commands import find_command
from controller.authorization.authorizer import CLUSTER, Access, Operation, topic_resource
from controller.authorization.caller import Caller
from controller.wire import to_wire
from records.errors import RequestError

COLUMNS_PATH = "/v1/report/columns"
BYTES = "application/octet-stream"

PARAMETERS = ROUTES[path_of(REPORT.name)].parameters

_FOLDER = "/page/"
_LIST = "/page/list.html"
_MAIN_OF_LIST = "served/logs.js"
_OF_LIST = (
    _MAIN_OF_LIST,
    *[f"served/{name}.js" for name in ("checks", "drift", "drift_panel", "shared_time")],
    *[f"served/{name}.js" for name in ("shown_log", "together")],
)
_SERVER = "Metalog-Server"
"""Header with the service's address, as it is given on the command line."""

_LOG = "Metalog-Log"
"""Header with the name of a log that is only shown, as on the command line, percent-encoded."""

_COLUMNS = "Metalog-Columns"
"""Header with the name of the columns, with which a client requests their continuation."""

_NOTES = "Metalog-Notes"
"""Header that is `allowed` if the caller may add notes to the log."""

_ADD_NOTE = find_command("notes add").guard


class _File(msgspec.Struct, frozen=True):
    content: bytes
    headers: dict[str, str]


def _file(content: str, media_type: str, **headers: str) -> _File:
    encoded = content.encode()
    found = {
        "Content-Type": f"{media_type}; charset=utf-8",
        "ETag": f'"{hashlib.sha256(encoded).hexdigest()[:32]}"',
        "Cache-Control": "no-cache",
    }
    return _File(encoded, found | headers)


def _files() -> dict[str, _File]:
    modules = {name: text for prefix in assets.FOLDERS for name, text in _modules(prefix)}
    imports = assets.json_text({"imports": {name: _FOLDER + name for name in modules}})
    preloads = "\n".join(
        [
            f'<link rel="modulepreload" href="{_FOLDER}{name}">'
            for name in modules
            if name not in _OF_LIST
        ]
    )
    policy = {"Content-Security-Policy": _policy(imports)}
    parts = {"imports": imports, "preloads": preloads, "main": "served/main.js"}
    of_list = {"imports": imports, "preloads": "", "main": _MAIN_OF_LIST}
    return {
        WEB_PAGE: _file(assets.filled("served/page.html", parts), HTML, **policy),
        _LIST: _file(assets.filled("served/page.html", of_list), HTML, **policy),
        f"{_FOLDER}report.css": _file(assets.text("report.css"), "text/css"),
        **{_FOLDER + name: _file(text, "text/javascript") for name, text in modules.items()},
    }


def _modules(prefix: str) -> list[tuple[str, str]]:
    return list(assets.modules(prefix).items())


def _policy(imports: str) -> str:
    """Return the Content-Security-Policy: only the service's own scripts, and requests to it."""
    digest = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    )


_FILES = _files()
FILES = {path: file for path, file in _FILES.items() if path != _LIST}
"""The files of the page by path."""

LIST_FILES = {**FILES, WEB_PAGE: _FILES[_LIST]}
"""The files of the page that lists the logs, by path; pages of logs have paths of their own."""


async def serve_file(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return a file of the page."""
    found = FILES[request.scope["path"]]
    return _unless_known(request, found.headers, found.content)


async def serve_list_file(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return a file of the page that lists the logs."""
    found = LIST_FILES[request.scope["path"]]
    return _unless_known(request, found.headers, found.content)


def _unless_known(
    request: Request[Any, Any, Any], headers: dict[str, str], content: bytes
) -> Response[bytes]:
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(b"", status_code=304, headers=headers)
    return Response(content, headers=headers)


async def columns(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the columns of a range of records; without a first point, of the newest records.

    A reader who may not describe the cluster gets only the columns of topics that this reader may
    describe at the time of the response.

    The question workers compute the columns; `api/http/growth.py` continues them.

    Raises:
        RequestError: a parameter is malformed; or as the question `report`.
        UnavailableError: the service cannot answer now.
    """
    call, shared = call_of(request.scope), shared_state(request.scope)
    wanted, to = read_request(PARAMETERS, ShowReport, call.values, COMMON)
    while True:
        caller = call.acting_caller()
        found = shown_report(call, wanted, caller)
        headers = _headers(call, shared, found)
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(b"", status_code=304, headers=headers)
        answers = Answers(call.documents, call.service, REPORT, to_wire(found), to, caller)
        packed = await packed_report(answers)
        # Rights may have changed meanwhile.
        if shown_report(call, wanted, call.acting_caller()).topics == found.topics:
            return Response(packed, headers=headers)


def shown_report(call: Call, wanted: ShowReport, caller: Caller) -> ShowReport:
    """Return the report request, limited to what the caller may see now.

    Raises:
        RequestError: the caller may not see the report.
    """
    access = call.service.access(caller)
    found = replace(wanted, records_max=_records_max(wanted), topics=_topics(access, wanted))
    guard_of(REPORT).check_request(access, found)
    return found


def _headers(call: Call, shared: SharedState, found: ShowReport) -> dict[str, str]:
    name, query = columns_name(call, shared, found), sorted(call.values.items())
    headers = {
        "Content-Type": BYTES,
        "ETag": f'"{_digest(name, shared.feed.end_offset, query)}"',
        _COLUMNS: name,
        "Cache-Control": "private, no-cache",
    }
    if _may_note(call, shared):
        headers[_NOTES] = "allowed"
    # Where the log is, is shown only to a reader who may describe the cluster.
    if shared.log is not None:
        headers[_LOG] = quote(shared.log if found.topics is None else "LOG")
    elif found.topics is None:
        headers[_SERVER] = shared.kafka_url(call.headers)
    return headers


def _may_note(call: Call, shared: SharedState) -> bool:
    """True if this process writes the log and the caller may add notes to it."""
    if shared.log is not None or not call.service.is_active:
        return False
    try:
        _ADD_NOTE.check_caller(call.service.access(call.acting_caller()))
    except RequestError:
        return False
    return True


def columns_name(call: Call, shared: SharedState, found: ShowReport) -> str:
    """Return the name of a report's columns, which stays the same as long as they can be continued.

    Columns whose ranges begin at different offsets may have the same name.
    """
    return _digest(call.service.settings.cluster_id, shared.reading, found.topics)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _topics(access: Access, wanted: ShowReport) -> tuple[str, ...] | None:
    """Return the names of the topics to include in the columns; None: all.

    If the request names no topics and the reader may not describe the cluster, these are the topics
    that the reader may describe.
    """
    if wanted.topics is not None or access.allows(Operation.DESCRIBE, CLUSTER):
        return wanted.topics
    names = map(access.image.full_name, access.image.topics())
    return tuple([n for n in names if access.allows(Operation.DESCRIBE, topic_resource(n))])


def _records_max(wanted: ShowReport) -> int:
    if wanted.records_max is not None:
        return min(wanted.records_max, PAGE_RECORDS_MAX)
    return PAGE_RECORDS if wanted.first == ShowReport().first else PAGE_RECORDS_MAX
