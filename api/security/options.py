"""Creates the security settings of a process's listeners from its options."""

import logging
import ssl
import time
from collections.abc import Callable
from functools import partial

import msgspec

from api.security.listeners import (
    ListenerAddress,
    ListenerSecurity,
    SecurityProtocol,
)
from api.security.principals import PrincipalMapping
from api.security.sasl import MECHANISMS, PLAIN, Authenticator
from api.security.tls import ClientAuth, TlsFiles, server_context
from api.security.users import Users, decoy_key
from api.transport.addresses import require_loopback
from records.errors import RequestError
from replay.image.metadata import MetadataImage

log = logging.getLogger(__name__)


class SecurityOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that all listeners of a process share.

    Attributes:
        tls: Files for the listeners with TLS.
        client_auth: Whether clients of SSL listeners present certificates; clients of SASL_SSL
            listeners log in instead.
        principal_rules: `ssl.principal.mapping.rules`.
        mechanisms: The SASL mechanisms offered; None: all, but PLAIN only with TLS or on loopback.
        session_ms_max: `connections.max.reauth.ms`: time until clients must log in again; 0: never.
    """

    tls: TlsFiles = TlsFiles()
    client_auth: ClientAuth = ClientAuth.NONE
    principal_rules: str = ""
    mechanisms: tuple[str, ...] | None = None
    session_ms_max: int = 0


def check_reachable(address: ListenerAddress, options: SecurityOptions) -> None:
    """Refuse a listener that other machines can reach without authentication.

    Raises:
        RequestError: INVALID_REQUEST.
    """
    if not is_authenticated(address, options):
        require_loopback(address.host)


def is_authenticated(address: ListenerAddress, options: SecurityOptions) -> bool:
    """True if a listener requires authentication of all clients."""
    has_certificates = (
        address.protocol is SecurityProtocol.SSL and options.client_auth is ClientAuth.REQUIRED
    )
    return address.protocol.has_sasl or has_certificates


def check_mechanisms(mechanisms: tuple[str, ...]) -> None:
    """Check that these SASL mechanisms are supported.

    Raises:
        RequestError: UNSUPPORTED_SASL_MECHANISM.
    """
    for mechanism in mechanisms:
        if mechanism not in MECHANISMS:
            raise RequestError(
                "UNSUPPORTED_SASL_MECHANISM",
                f"{mechanism!r} is none of {', '.join(MECHANISMS)}",
            )


class ListenerSecurities:
    """Creates the security settings (TLS, SASL) of each listener; `of` reads the files.

    Attributes:
        authenticators: The authenticators created so far; they count logins.
    """

    def __init__(self, options: SecurityOptions, users: Users) -> None:
        """Check the options; no file is read yet.

        Raises:
            RequestError: an option is malformed.
        """
        self._options = options
        self._users = users
        self._mapping = PrincipalMapping.parse(options.principal_rules)
        check_mechanisms(options.mechanisms or ())
        self.authenticators: list[Authenticator] = []

    def of(self, address: ListenerAddress) -> ListenerSecurity:
        """Return the security settings of a listener.

        Raises:
            RequestError: INVALID_CONFIG, a file cannot be used.
        """
        authenticator = None
        if address.protocol.has_sasl:
            authenticator = Authenticator(
                self._users,
                self._mechanisms(address),
                address.name,
                self._options.session_ms_max,
            )
            self.authenticators.append(authenticator)
        return ListenerSecurity(
            name=address.name,
            tls=self.tls_of(address),
            mapping=self._mapping,
            authenticator=authenticator,
        )

    def tls_of(self, address: ListenerAddress) -> ssl.SSLContext | None:
        """Return a listener's TLS context, read from the files now, or None; raises as `of`."""
        protocol, options = address.protocol, self._options
        if not protocol.has_tls:
            return None
        return server_context(
            options.tls, ClientAuth.NONE if protocol.has_sasl else options.client_auth
        )

    def read_again(
        self, address: ListenerAddress, renew: Callable[[ssl.SSLContext | None], None]
    ) -> Callable[[], None]:
        """Read a listener's TLS files again; return a function that applies them.

        The function passes the new TLS context to `renew`.

        Raises:
            RequestError: as `of`.
        """
        return partial(renew, self.tls_of(address))

    def _mechanisms(self, address: ListenerAddress) -> tuple[str, ...]:
        is_secret = address.protocol.has_tls or address.is_local
        chosen = self._options.mechanisms
        if chosen is None:
            return MECHANISMS if is_secret else tuple([m for m in MECHANISMS if m != PLAIN])
        if PLAIN in chosen and not is_secret:
            log.warning(
                "listener %s takes passwords in clear text over the network (PLAIN without TLS); "
                "use sasl_ssl:// or SCRAM",
                address.name,
            )
        return chosen


def users_of(image: Callable[[], MetadataImage], cluster_id: str, token_key: str | None) -> Users:
    """Return the users of a cluster, looked up in the image that is current at each call."""
    return Users(
        image=image,
        now_ms=lambda: time.time_ns() // 1_000_000,
        decoy_key=decoy_key(cluster_id, token_key),
        token_key=token_key,
    )
