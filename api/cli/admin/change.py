"""Registers verbs that change the cluster, with the options they share."""

from typing import TYPE_CHECKING

from api.cli.admin.admin_client import AdminClient
from api.cli.admin.options import (
    LogOption,
    Principal,
    Reason,
    RequestId,
    ServerOption,
    TraceParent,
)
from api.cli.admin.verb_options import check_text, verb_with
from api.cli.options.identity import checked_trace_parent, process_user
from api.cli.options.parameters import bad_parameter
from api.cli.source.arguments import Json

if TYPE_CHECKING:
    from api.cli.admin.admin_client import AdminClient


def _ask(
    *,
    log: LogOption = None,
    server: ServerOption = None,
    as_: Principal = None,
    reason: Reason = None,
    request_id: RequestId = None,
    trace_parent: TraceParent = None,
    json: Json = False,
) -> "AdminClient":

    if (log is None) == (server is None):
        raise bad_parameter("name one of --log LOG and --server URL")
    for text in (as_, reason, request_id, trace_parent):
        check_text(text)
    return AdminClient(
        log=log,
        server=server,
        principal=as_ or (process_user() if server is None else None),
        reason=reason,
        request_id=request_id,
        trace_parent=checked_trace_parent(trace_parent),
        json=json,
    )


changing = verb_with(_ask)
"""Registers a verb that changes the cluster; its first parameter is an `AdminClient`."""
