"""The columns of data that the web page draws."""

import hashlib
from typing import Any
from urllib.parse import quote

from litestar import Request, Response
from msgspec.structs import replace

from api.http.limits import PAGE_RECORDS, PAGE_RECORDS_MAX
from api.http.parameters import read_request
from api.http.questions import COMMON, ROUTES, Answers, packed_report, path_of
from api.http.request import Call, call_of, shared_state
from api.http.shared_state import SharedState
from api.questions.report import REPORT, ShowReport
from api.questions.table import guard_of
from api.requests.commands import find_command
from controller.authorization.authorizer import CLUSTER, Access, Operation, topic_resource
from controller.authorization.caller import Caller
from controller.wire import to_wire
from records.errors import RequestError

COLUMNS_PATH = "/v1/report/columns"
BYTES = "application/octet-stream"

PARAMETERS = ROUTES[path_of(REPORT.name)].parameters

_SERVER = "Metalog-Server"
"""Header with the service's address, as it is given on the command line."""

_LOG = "Metalog-Log"
"""Header with the name of a log that is only shown, as on the command line, percent-encoded."""

_COLUMNS = "Metalog-Columns"
"""Header with the name of the columns, with which a client requests their continuation."""

_NOTES = "Metalog-Notes"
"""Header that is `allowed` if the caller may add notes to the log."""

_ADD_NOTE = find_command("notes add").guard


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
