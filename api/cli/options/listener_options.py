"""The options of `serve` and `view` for their HTTP listener."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from api.cli.options.option_groups import LISTENERS, SECURITY
from api.cli.options.parameters import Option

if TYPE_CHECKING:
    from api.http.options import HttpOptions
    from api.security.options import SecurityOptions


class HttpListenerOptions(NamedTuple):
    """Options of a process that answers over HTTP, except the address."""

    http_tokens: Annotated[
        Path | None,
        Option(
            "--http-tokens",
            metavar="FILE",
            help="File with the bearer tokens for HTTP, as lines NAME:SHA256.",
            rich_help_panel=SECURITY,
        ),
    ] = None
    # The default of `HttpOptions`, which is imported only when it is used.
    http_connections: Annotated[
        int,
        Option(
            "--http-connections",
            metavar="N",
            help="Maximum number of HTTP connections, including event streams.",
            min=1,
            rich_help_panel=LISTENERS,
        ),
    ] = 1_200
    traces: Annotated[
        str | None,
        Option(
            "--traces",
            metavar="URL",
            help="Send traces of HTTP requests with a traceparent to this OpenTelemetry "
            "collector, such as http://localhost:4318/v1/traces; default: none.",
            show_default=False,
            rich_help_panel=LISTENERS,
        ),
    ] = None

    def listener(self, address: str, security: "SecurityOptions") -> "HttpOptions":
        """Return the listener at an address.

        Raises:
            RequestError: as `HttpOptions.parse`.
        """
        from api.http.options import HttpOptions

        return HttpOptions.parse(
            address,
            self.http_tokens,
            security,
            connections_max=self.http_connections,
            traces=self.traces,
        )
