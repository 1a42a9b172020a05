"""The options of `serve` and `broker` for TLS and SASL."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.option_groups import SECURITY
from api.cli.options.parameters import Option
from records.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.security.client import ClientSecurity
    from api.security.listeners import ListenerAddress
    from api.security.options import SecurityOptions
    from api.security.tls import TlsFiles


class ClientCertificate(enum.Enum):
    """The values of `api.security.tls.ClientAuth`, repeated here because that import is slow."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


CertificateFile = Annotated[
    Path | None,
    Option(
        "--certificate-file",
        metavar="FILE",
        help="Certificate for TLS, with its chain, in PEM.",
        rich_help_panel=SECURITY,
    ),
]
KeyFile = Annotated[
    Path | None,
    Option(
        "--key-file",
        metavar="FILE",
        help="Its private key; else in the certificate's file.",
        rich_help_panel=SECURITY,
    ),
]
CaFile = Annotated[
    Path | None,
    Option(
        "--ca-file",
        metavar="FILE",
        help="Authorities whose certificates are trusted.",
        rich_help_panel=SECURITY,
    ),
]
ClientCertificates = Annotated[
    ClientCertificate,
    Option(
        "--client-auth",
        help="Whether clients of ssl:// need a certificate.",
        rich_help_panel=SECURITY,
    ),
]
PrincipalRules = Annotated[
    str,
    Option(
        "--principal-rules",
        metavar="RULES",
        help="How a certificate's name becomes a user: ssl.principal.mapping.rules.",
        rich_help_panel=SECURITY,
        show_default=False,
    ),
]
Mechanisms = Annotated[
    list[str] | None,
    Option(
        "--mechanism",
        metavar="NAME",
        help="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; repeatable; default: all, but "
        "PLAIN only with TLS or on loopback.",
        rich_help_panel=SECURITY,
        show_default=False,
    ),
]
SecretKeyFile = Annotated[
    str | None,
    Option(
        "--secret-key-file",
        metavar="FILE",
        help="File with delegation.token.secret.key; - is standard input.",
        rich_help_panel=SECURITY,
    ),
]


def tls_files(certificate: Path | None, key: Path | None, ca: Path | None) -> "TlsFiles":
    """Return the TLS files given by the options."""
    from api.security.tls import TlsFiles

    return TlsFiles(certificate=certificate, key=key, ca=ca)


def security_options(
    tls: "TlsFiles", client_auth: ClientCertificate, rules: str, mechanisms: list[str] | None
) -> "SecurityOptions":
    """Return the security options that all listeners share."""
    from api.security.options import SecurityOptions
    from api.security.tls import ClientAuth

    return SecurityOptions(
        tls=tls,
        client_auth=ClientAuth(client_auth.value),
        principal_rules=rules,
        mechanisms=None if mechanisms is None else tuple(mechanisms),
    )


def with_session_limit(
    security: "SecurityOptions", configs: "Mapping[str, str]"
) -> "SecurityOptions":
    """Return the options with `connections.max.reauth.ms` taken from the server-level configs."""
    from msgspec.structs import replace

    from controller.decisions.config_definitions.brokers import SESSION_MS_MAX

    return replace(security, session_ms_max=int(configs.get(SESSION_MS_MAX, 0)))


def client_security(
    tls: "TlsFiles", user: str | None, password_file: Path | None
) -> "ClientSecurity":
    """Return the TLS files and login with which this process connects to other services.

    Raises:
        RequestError: INVALID_CONFIG, the password cannot be read.
    """
    from api.security.client import DEFAULT_MECHANISM, ClientSecurity, client_login

    if user is None:
        return ClientSecurity(tls=tls)
    login = client_login(user, password_file, mechanism=DEFAULT_MECHANISM)
    return ClientSecurity(tls=tls, login=login)


def listener_addresses(
    texts: list[str], security: "SecurityOptions", *, allow_remote: bool
) -> "tuple[ListenerAddress, ...]":
    """Parse the addresses of listeners.

    Raises:
        RequestError: an address is malformed or may not be listened on, or two listeners have the
            same name.
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
    if not allow_remote:
        for address in addresses:
            check_reachable(address, security)
    return addresses
