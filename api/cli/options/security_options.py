"""The options of `serve`, `broker` and `view` for TLS and for client logins."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from api.cli.options.option_groups import SECURITY
from api.cli.options.parameters import Option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.security.client import ClientSecurity
    from api.security.options import SecurityOptions
    from api.security.tls import TlsFiles


class ClientCertificate(enum.Enum):
    """The values of `api.security.tls.ClientAuth`, repeated here because that import is slow."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


class TlsOptions(NamedTuple):
    """Options of a process that listens, for TLS."""

    certificate_file: Annotated[
        Path | None,
        Option(
            "--certificate-file",
            metavar="FILE",
            help="File with the certificate for TLS and its chain, in PEM.",
            rich_help_panel=SECURITY,
        ),
    ] = None
    key_file: Annotated[
        Path | None,
        Option(
            "--key-file",
            metavar="FILE",
            help="Private key of the certificate; default: the key in the certificate's file.",
            rich_help_panel=SECURITY,
        ),
    ] = None
    ca_file: Annotated[
        Path | None,
        Option(
            "--ca-file",
            metavar="FILE",
            help="File of the CA certificates to trust.",
            rich_help_panel=SECURITY,
        ),
    ] = None
    client_auth: Annotated[
        ClientCertificate,
        Option(
            "--client-auth",
            help="Whether clients of ssl:// need a certificate.",
            rich_help_panel=SECURITY,
        ),
    ] = ClientCertificate.NONE
    principal_rules: Annotated[
        str,
        Option(
            "--principal-rules",
            metavar="RULES",
            help="Rules that make a user from a certificate's name, as in Kafka's "
            "ssl.principal.mapping.rules.",
            rich_help_panel=SECURITY,
            show_default=False,
        ),
    ] = ""

    def files(self) -> "TlsFiles":
        """Return the TLS files."""
        from api.security.tls import TlsFiles

        return TlsFiles(certificate=self.certificate_file, key=self.key_file, ca=self.ca_file)

    def security(self, mechanisms: list[str] | None = None) -> "SecurityOptions":
        """Return the security options that all listeners share.

        Args:
            mechanisms: Names of the SASL mechanisms that are accepted; None: all.
        """
        from api.security.options import SecurityOptions
        from api.security.tls import ClientAuth

        return SecurityOptions(
            tls=self.files(),
            client_auth=ClientAuth(self.client_auth.value),
            principal_rules=self.principal_rules,
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
