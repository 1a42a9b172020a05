"""Listeners: security protocol, address, and the required authentication.

Source: SecurityProtocol of Kafka 4.0 (names and ids).
"""

import asyncio
import enum
import ssl

import msgspec
from msgspec.structs import replace

from api.security.callers import connected_caller
from api.security.principals import PrincipalMapping
from api.security.sasl import Authenticator, Login
from api.security.tls import peer_principal
from api.transport.addresses import LOOPBACK, is_loopback, parse_address
from controller.authorization.caller import Authentication, Caller
from records.errors import RequestError


class SecurityProtocol(enum.Enum):
    """Kafka's security protocols, with their ids."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def has_tls(self) -> bool:
        """True if connections are encrypted."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        """True if clients authenticate with SASL."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class ListenerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Address of a listener; port 0 lets the system choose.

    A client that connects to a listener is given the other nodes' listeners of the same `name`.
    """

    name: str
    protocol: SecurityProtocol
    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """True if only this machine can connect."""
        return is_loopback(self.host)

    def url(self, port: int) -> str:
        """Return the address with the actual port, prefixed by the protocol unless PLAINTEXT."""
        address = f"{self.host}:{port}"
        if self.protocol is SecurityProtocol.PLAINTEXT:
            return address
        return f"{self.protocol.name.lower()}://{address}"


LOCAL = ListenerAddress(
    name=SecurityProtocol.PLAINTEXT.name,
    protocol=SecurityProtocol.PLAINTEXT,
    host=LOOPBACK,
    port=0,
)
"""A listener for this machine alone, on any port."""


def parse_listener(text: str) -> ListenerAddress:
    """Parse `[NAME=][PROTOCOL://]HOST:PORT`.

    The default protocol is PLAINTEXT; the default name is the protocol's.

    Raises:
        RequestError: INVALID_REQUEST, the text is malformed.
    """
    scheme, separator, address = text.rpartition("://")
    name, equals, scheme = scheme.rpartition("=")
    if not separator:
        scheme = "plaintext"
        name, equals, address = text.rpartition("=")
    try:
        protocol = SecurityProtocol[scheme.upper()]
    except KeyError:
        known = ", ".join(f"{p.name.lower()}://" for p in SecurityProtocol)
        raise RequestError(
            "INVALID_REQUEST", f"{scheme}:// in {text!r} is none of {known}"
        ) from None
    if equals and not name:
        raise RequestError("INVALID_REQUEST", f"{text!r} names no listener before the =")
    host, port = parse_address(address)
    return ListenerAddress(
        name=(name or protocol.name).upper(), protocol=protocol, host=host, port=port
    )


class ListenerSecurity(msgspec.Struct, frozen=True, kw_only=True):
    """Encryption and authentication of the connections of a listener.

    Attributes:
        name: The listener's name.
        tls: The TLS context; None: no encryption.
        mapping: Determines the principal of a client certificate.
        authenticator: Authenticates clients with SASL; None: no SASL.
    """

    name: str = SecurityProtocol.PLAINTEXT.name
    tls: ssl.SSLContext | None = None
    mapping: PrincipalMapping = PrincipalMapping()
    authenticator: Authenticator | None = None

    def connected(self, transport: asyncio.BaseTransport) -> Caller:
        """Return the caller of a new connection: the principal of its certificate, else anonymous.

        Raises:
            RequestError: no rule gives the certificate a principal.
        """
        caller = connected_caller(transport)
        if self.authenticator is not None:
            return caller
        principal = peer_principal(transport, self.mapping)
        if principal is None:
            return caller
        return replace(caller, principal=principal, authentication=Authentication.CERTIFICATE)


def logged_in(caller: Caller, login: Login) -> Caller:
    """Return the caller of a connection, with the principal that SASL authenticated."""
    how = Authentication.TOKEN if login.by_token else Authentication.SASL
    return replace(caller, principal=login.principal, authentication=how)


OPEN = ListenerSecurity()
"""A listener without encryption and without authentication."""
