"""The options of `serve` and `broker`, which answer Kafka's clients."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from api.cli.options.authorizer_options import FILE_METAVAR
from api.cli.options.option_groups import LISTENERS, PROCESS, SECURITY
from api.cli.options.parameters import Option
from api.cli.options.secret_input import read_secret
from records.errors import RequestError

if TYPE_CHECKING:
    from api.security.listeners import ListenerAddress
    from api.security.options import SecurityOptions


class ServerOptions(NamedTuple):
    """Options of a process with listeners for Kafka's clients."""

    allow_remote: Annotated[
        bool,
        Option(
            "--allow-remote",
            help="Accept unauthenticated connections from other machines.",
            rich_help_panel=LISTENERS,
        ),
    ] = False
    strict_modes: Annotated[
        bool,
        Option(
            "--strict-modes",
            help="Show READ_ONLY partitions as leaderless to clients that do not know modes.",
            rich_help_panel=LISTENERS,
        ),
    ] = False
    mechanism: Annotated[
        list[str] | None,
        Option(
            "--mechanism",
            metavar="NAME",
            help="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; repeatable; default: all, but "
            "PLAIN only with TLS or on loopback.",
            rich_help_panel=SECURITY,
            show_default=False,
        ),
    ] = None
    config: Annotated[
        list[str] | None,
        Option(
            "--config",
            metavar=FILE_METAVAR,
            help="A TOML file with options of this command, or a server-level config as in "
            "Kafka's server.properties; repeatable.",
            rich_help_panel=PROCESS,
        ),
    ] = None
    secret_key_file: Annotated[
        str | None,
        Option(
            "--secret-key-file",
            metavar="FILE",
            help="File with the secret key of delegation tokens (delegation.token.secret.key); - "
            "is standard input.",
            rich_help_panel=SECURITY,
        ),
    ] = None

    def listeners(
        self, texts: list[str], security: "SecurityOptions"
    ) -> "tuple[ListenerAddress, ...]":
        """Parse the addresses of listeners.

        Raises:
            RequestError: an address is malformed or may not be listened on, or two listeners have
                the same name.
        """
        from api.security.listeners import parse_listener
        from api.security.options import check_reachable

        addresses = tuple([parse_listener(text) for text in texts])
        names = [address.name for address in addresses]
        for name in names:
            if names.count(name) > 1:
                raise RequestError(
                    "INVALID_REQUEST",
                    f"two listeners are named {name}; write NAME=PROTOCOL://HOST:PORT",
                )
        if not self.allow_remote:
            for address in addresses:
                check_reachable(address, security)
        return addresses

    def token_key(self) -> str | None:
        """Read the secret key of delegation tokens; None: there are no tokens.

        Raises:
            typer.BadParameter: the file cannot be read.
        """
        from controller.decisions.security.tokens import SECRET_KEY

        if self.secret_key_file is None:
            return None
        return read_secret(self.secret_key_file, option="--secret-key-file", prompt=SECRET_KEY)
