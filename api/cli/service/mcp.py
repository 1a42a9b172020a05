"""The `mcp` command: questions about logs as tools for assistants."""

import importlib.util
import sys
from typing import TYPE_CHECKING, Annotated

from api.cli.options.authorizer_options import AccessOptions
from api.cli.options.identity import process_user
from api.cli.options.listener_options import HttpListenerOptions
from api.cli.options.log_format import use_log_format
from api.cli.options.option_groups import LISTENERS, SECURITY
from api.cli.options.parameters import Option
from api.cli.options.security_options import TlsOptions
from api.cli.parser.quick import command
from api.cli.service.view import Logs, url_of, view_options
from api.cli.source.arguments import Json
from api.cli.terminal import event_loop
from api.cli.terminal.output import print_json_line, print_line
from records.errors import RequestError

if TYPE_CHECKING:
    from api.viewer.options import ViewReady

_Http = Annotated[
    str | None,
    Option(
        "--http",
        metavar="ADDRESS",
        help="Answer over HTTP, not stdin and stdout, at /mcp of HOST:PORT, https://HOST:PORT or "
        "unix:PATH.",
        show_default=False,
        rich_help_panel=LISTENERS,
    ),
]
_As = Annotated[
    str | None,
    Option(
        "--as",
        metavar="PRINCIPAL",
        help="Over standard input and output: ask as this principal, whose rights --authorizer "
        "acl checks. Default: this process's user.",
        show_default=False,
        rich_help_panel=SECURITY,
    ),
]


@command()
def mcp(
    logs: Logs,
    http: _Http = None,
    as_: _As = None,
    *,
    web: HttpListenerOptions,
    tls: TlsOptions,
    access: AccessOptions,
    json: Json = False,
) -> None:
    """Answer assistants' questions about logs (Model Context Protocol); writes nothing."""
    use_log_format(access.log_format)
    settings = access.settings()
    if importlib.util.find_spec("mcp") is None:
        raise RequestError(
            "INVALID_REQUEST", "this command needs mcp: pip install 'metadata-log[mcp]'"
        )
    from api.assistants.running import answer_until_closed, serve_until_stopped

    if http is None:
        event_loop.run_long(answer_until_closed(logs, settings, as_ or process_user()))
        return
    options = view_options(logs, http, web, tls, settings)

    def ready(serving: "ViewReady") -> None:
        if json:
            print_json_line(serving)
        else:
            print_line(f"answering assistants at {url_of(serving.http)}/mcp")
        sys.stdout.flush()

    event_loop.run_long(serve_until_stopped(options, ready))
