"""Callers: the senders of requests, as identified by their connection or process."""

import enum
import functools
import re
from urllib.parse import quote, unquote

import msgspec
from msgspec.structs import replace

from records.envelope import Origin

ANONYMOUS = "User:ANONYMOUS"
"""Kafka's name for a client that has not authenticated."""


class Authentication(enum.Enum):
    """How a caller's principal was authenticated.

    NONE: not at all. CERTIFICATE: by its TLS certificate. SASL: by a password. TOKEN: by a
    delegation token, through SASL. BEARER: by a token, over HTTP. PEER: by the operating system,
    over a unix socket. FORWARDED: given by a broker that is authorized to forward requests.
    PROCESS: a process that opened the log itself. INTERNAL: the controller, which needs no rights.
    """

    NONE = "none"
    CERTIFICATE = "certificate"
    SASL = "sasl"
    TOKEN = "token"
    BEARER = "bearer"
    PEER = "peer"
    FORWARDED = "forwarded"
    PROCESS = "process"
    INTERNAL = "internal"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """A principal, such as `User:ann`, and the client and host that it sends requests from.

    Attributes:
        client_id: The client id that the client chose.
        host: Address of the client, without the port; None in process.
        real_principal: The authenticated principal, if the caller acts as another one.
        forwarded_by: The broker that forwarded the request; None if the client is connected
            directly.
    """

    principal: str = ANONYMOUS
    authentication: Authentication = Authentication.NONE
    client_id: str | None = None
    host: str | None = None
    port: int | None = None
    real_principal: str | None = None
    forwarded_by: "Caller | None" = None

    @property
    def address(self) -> str | None:
        """Host and port as text; None in process."""
        return self.host if self.port is None else f"{self.host}:{self.port}"

    @property
    def is_internal(self) -> bool:
        """True for the controller itself."""
        return self.authentication is Authentication.INTERNAL

    def named(self, client_id: str | None) -> "Caller":
        """Return the same caller with the given client id."""
        return self if client_id == self.client_id else replace(self, client_id=client_id)

    def acting_as(self, principal: str) -> "Caller":
        """Return the caller acting as another principal; the right to do so is not checked."""
        return replace(self, principal=principal, real_principal=self.principal)

    def origin(
        self, command: str, *, reason: str | None = None, trace_parent: str | None = None
    ) -> Origin:
        """Return the origin that the log stores for a request of this caller."""
        return Origin(
            principal=self.principal,
            command=command,
            reason=reason,
            trace_parent=trace_parent,
            client=self._client(),
        )

    def completed(self, origin: Origin | None, command: str) -> Origin:
        """Return a request's origin, with principal and client address as the server knows them.

        An `origin` of None is replaced by a new one.
        """
        if origin is None:
            return _plain_origin(self, command)
        client = self._client()
        if self.host is not None and (origin.principal, origin.client) == (self.principal, client):
            return origin if origin.command else replace(origin, command=command)
        # Another caller's `origin` may have made it, with the address in it already.
        client_id = client_id_of(origin.client) if origin.client else self.client_id
        return replace(
            origin,
            principal=self.principal,
            command=origin.command or command,
            client=self.named(client_id)._client(),
        )

    def _client(self) -> str | None:
        if self.host is None:
            return self.client_id
        client = f"{_word(self.client_id or 'unnamed')} at {self.address}"
        if self.real_principal:
            client = f"{_word(self.real_principal)} by {client}"
        if self.forwarded_by is None:
            return client
        broker = self.forwarded_by
        return f"{client} through {_word(broker.principal)} by {broker._client()}"


@functools.lru_cache(1_000)
def _plain_origin(caller: Caller, command: str) -> Origin:
    """Return the origin of a request that came without one, like most appends; cached."""
    return caller.origin(command)


def _word(name: str) -> str:
    """Return a name with white space escaped, because " by " and " at " are used as separators."""
    return _SEPARATING.sub(lambda found: quote(found[0]), name)


_SEPARATING = re.compile(r"[\s%]")


# As `Caller._client` writes it, and as it wrote names with white space before it escaped that.
_CLIENT = re.compile(r"(?:\S+ by )?(?P<client_id>\S+) at \S+(?: through .*)?")
_UNESCAPED = re.compile(r"(?:\w+:.*? by )?(?P<client_id>.*?) at \S+(?: through .*)?", re.DOTALL)


def client_id_of(client: str) -> str:
    """Return the client id from an origin's `client` text, which also contains the address."""
    found = _CLIENT.fullmatch(client)
    if found is not None:
        return unquote(found["client_id"])
    found = _UNESCAPED.fullmatch(client)
    return client if found is None else found["client_id"]


CONTROLLER = Caller(principal="controller", authentication=Authentication.INTERNAL)
"""The caller of the controller's own decisions: its timers and its activation."""
