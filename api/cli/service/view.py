"""The `view` command: shows a log in a browser."""

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

from api.cli.options.authorizer_options import AccessOptions
from api.cli.options.listener_options import HttpListenerOptions
from api.cli.options.log_format import use_log_format
from api.cli.options.option_groups import LISTENERS
from api.cli.options.parameters import Argument, Option
from api.cli.options.security_options import TlsOptions
from api.cli.parser.quick import command
from api.cli.source.arguments import Json
from api.cli.source.source import log_place
from api.cli.terminal import event_loop
from api.cli.terminal.output import note, print_json_line, print_line
from api.cli.terminal.progress_bar import progress

if TYPE_CHECKING:
    from api.viewer.options import ViewOptions, ViewReady
    from controller.decisions.context.context import Settings

_Http = Annotated[
    str,
    Option(
        "--http",
        metavar="ADDRESS",
        help="Where to listen: HOST:PORT, https://HOST:PORT or unix:PATH; port 0 means any free "
        "port.",
        rich_help_panel=LISTENERS,
    ),
]
Logs = Annotated[
    list[str],
    Argument(
        metavar="LOG...",
        help="Log directories, or s3://bucket/prefix of archives and backups.",
        show_default=False,
        parser=log_place,
    ),
]
_Browser = Annotated[bool, Option("--browser", help="Open the page in a browser.")]


@command()
def view(
    logs: Logs,
    http: _Http = "127.0.0.1:0",
    browser: _Browser = False,
    *,
    web: HttpListenerOptions,
    tls: TlsOptions,
    access: AccessOptions,
    json: Json = False,
) -> None:
    """Show logs of any kind in a browser, and answer questions over HTTP; writes nothing."""
    from api.viewer.start import view_until_stopped
    from metadata_log.reader.log_reader import LogReader

    use_log_format(access.log_format)
    options = view_options(logs, http, web, tls, access.settings())
    loading = ExitStack()

    def ready(viewing: "ViewReady") -> None:
        if json:
            print_json_line(viewing)
        else:
            _print(viewing)
        sys.stdout.flush()
        if browser:
            _open_browser(url_of(viewing.http))

    with loading:
        bounds = 0, 0  # of several logs, which are loaded at once, no progress is shown
        if len(logs) == 1:
            with LogReader.open(logs[0]) as reader:
                bounds = reader.history_start, reader.end_offset
        advance = loading.enter_context(progress("loading", *bounds))
        event_loop.run(view_until_stopped(options, ready, advance, loading.close))


def view_options(
    logs: list[str], http: str, web: HttpListenerOptions, tls: TlsOptions, settings: "Settings"
) -> "ViewOptions":
    """Return the options of a viewer; raises the errors of `tls` and of `web`."""
    from api.viewer.options import ViewOptions

    security = tls.security()
    return ViewOptions(
        logs=tuple(logs),
        http=web.listener(http, security),
        security=security,
        settings=settings,
    )


def _print(viewing: "ViewReady") -> None:
    if len(viewing.logs) > 1:
        print_line(f"viewing {len(viewing.logs)} logs: {url_of(viewing.http)}")
    for each in viewing.logs:
        state = f"log end {each.log_end}" if each.error is None else each.error
        print_line(f"viewing {each.log}: {url_of(viewing.http)}{each.path}, {state}")


def url_of(address: str) -> str:
    """Return the URL of a listener's address."""
    return address if "://" in address or address.startswith("unix:") else f"http://{address}"


def _open_browser(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        note(f"no browser was found; open {url}")
