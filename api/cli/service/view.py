"""The `view` command: shows a log in a browser."""

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

from api.cli.options.authorizer_options import AccessOptions
from api.cli.options.listener_options import HttpListenerOptions
from api.cli.options.log_format import use_log_format
from api.cli.options.option_groups import LISTENERS
from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.options.security_options import TlsOptions
from api.cli.parser.quick import command
from api.cli.source.arguments import Json
from api.cli.source.source import Source, log_place
from api.cli.terminal import event_loop
from api.cli.terminal.output import note, print_json_line, print_line
from api.cli.terminal.progress_bar import progress

if TYPE_CHECKING:
    from api.viewer.options import ShownRange, ViewOptions, ViewReady
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
_From = Annotated[
    str | None,
    Option(
        "--from",
        metavar="POINT",
        help="First point that the page shows, inclusive; default: that of the newest 20,000 "
        "records, or with --to the start.",
    ),
]
_To = Annotated[
    str | None,
    Option(
        "--to",
        metavar="POINT",
        help="Last point that the page shows, inclusive; default: the end, which it follows.",
    ),
]
_Browser = Annotated[bool, Option("--browser", help="Open the page in a browser.")]


@command()
def view(
    logs: Logs,
    http: _Http = "127.0.0.1:0",
    browser: _Browser = False,
    from_: _From = None,
    to: _To = None,
    *,
    web: HttpListenerOptions,
    tls: TlsOptions,
    access: AccessOptions,
    json: Json = False,
) -> None:
    """Show logs of any kind in a browser, and answer questions over HTTP; writes nothing."""
    from msgspec.structs import replace

    from api.viewer.start import view_until_stopped
    from metadata_log.reader.log_reader import LogReader

    use_log_format(access.log_format)
    range_ = None if from_ is None and to is None else _range(logs, from_ or "start", to)
    options = replace(view_options(logs, http, web, tls, access.settings()), range=range_)
    loading = ExitStack()

    def ready(viewing: "ViewReady") -> None:
        if json:
            print_json_line(viewing)
        else:
            _print(viewing)
        sys.stdout.flush()
        if browser:
            path = viewing.logs[0].path if len(viewing.logs) == 1 else ""
            _open_browser(url_of(viewing.http) + path)

    with loading:
        bounds = 0, 0  # of several logs, which are loaded at once, no progress is shown
        if len(logs) == 1:
            with LogReader.open(logs[0]) as reader:
                bounds = reader.history_start, reader.end_offset
        advance = loading.enter_context(progress("loading", *bounds))
        event_loop.run_long(view_until_stopped(options, ready, advance, loading.close))


def _range(logs: list[str], from_: str, to: str | None) -> "ShownRange":
    """Return the range with which the page opens.

    Raises:
        typer.BadParameter: there are several logs, or no records in the range.
        RequestError: a point is malformed, or not in the log.
    """
    from api.questions.parts import located, stretches
    from api.viewer.options import ShownRange

    if len(logs) > 1:
        raise bad_parameter(
            "--from and --to are points of one log; name one LOG, or select a time on the page of "
            "all, #together"
        )
    with Source(log=logs[0]).past() as past:
        part, last = located(past, to or "end")
        first = stretches(part, from_, last)[0].first
    if first > last:
        raise bad_parameter(
            f"there are no records from {from_} to {to or 'the end'}; let the range begin earlier"
        )
    return ShownRange(first, None if to in (None, "end") else last)


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
