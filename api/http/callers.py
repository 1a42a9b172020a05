"""Authenticates HTTP requests, and refuses requests that a foreign web page makes a browser send.

Any page shown in a browser can make the browser send requests to loopback. So a request must have a
Host that only this machine or its owner can give (DNS rebinding), and must not come from another
page's origin (cross-site requests).
"""

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from api.http.problems import Problem, problem
from api.http.tokens import Tokens, principal_of
from controller.authorization.caller import Authentication, Caller

PRINCIPAL = "principal"
"""Where a connection's state holds the principal of its certificate."""

WEB_PAGE = "/"
"""Path of the web page."""

IS_RESERVED = "is_reserved"
"""Where a connection's state says that its place is only for those that watch the service."""

_HEADERS = "headers"
"""Where a request's state holds its headers, once they were needed."""

_CLIENT_ID_CHARACTERS_MAX = 100


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the listener, and the authentication of its clients.

    Attributes:
        host: The name or address of the listener; None: a unix socket.
        tokens: If not empty, every request needs a token or a certificate.
    """

    host: str | None
    has_tls: bool = False
    tokens: Tokens = {}

    @property
    def may_be_renamed(self) -> bool:
        """True if DNS rebinding (a foreign host name that resolves to this host) is possible.

        With TLS it is impossible, because the certificate does not match the foreign name; with
        tokens, because a foreign page does not know any token.
        """
        return self.host is not None and not self.has_tls and not self.tokens


def refused_by_origin(listener: Listener, scope: Mapping[str, Any]) -> Problem | None:
    """Return a problem if the request may come from another site's page, else None."""
    headers = headers_of(scope)
    if not _names_one_host(scope):
        return problem(400, "INVALID_REQUEST", "a request names one Host")
    host = headers.get("host", "")
    listening = listener.host or ""
    if listener.may_be_renamed and not _is_own_host(host, listening):
        return problem(421, "MISDIRECTED_REQUEST", f"Host {host!r} is no address of this service")
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        return problem(403, "CROSS_ORIGIN", f"a page of {origin!r} may not ask this service")
    is_own = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    if not is_own and not _follows_link(scope, headers):
        return problem(403, "CROSS_ORIGIN", "a page of another site may not ask this service")
    return None


def _names_one_host(scope: Mapping[str, Any]) -> bool:
    """True if a request has one Host header; HTTP/1.0 may omit it. Source: RFC 9112, 3.2."""
    names: list[bytes] = [name for name, _ in scope["headers"]]
    count, version = names.count(b"host"), str(scope["http_version"])
    return count == 1 or (count == 0 and version == "1.0")


def _follows_link(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """True if the request opens the web page from a link on another page.

    That is harmless: the web page itself contains no data of a cluster.

    Source: Fetch Metadata Request Headers, 2.
    """
    return (
        scope["path"] == WEB_PAGE
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


@lru_cache(maxsize=32)
def _is_own_host(given: str, listening: str) -> bool:
    """True for an IP address, localhost, or the listener's own name.

    A foreign page cannot have any of these as its host.
    """
    try:
        name = urlsplit(f"//{given}").hostname or ""
    except ValueError:
        return False
    if name in ("localhost", listening.lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def authenticated(listener: Listener, scope: Mapping[str, Any]) -> Caller | None:
    """Return the caller of a request; None if authentication is required and has failed.

    A certificate takes precedence over a token. An unknown token always fails.
    """
    caller = _anonymous(listener, scope)
    principal = scope["state"].get(PRINCIPAL)
    if principal is not None:
        return replace(caller, principal=principal, authentication=Authentication.CERTIFICATE)
    given = headers_of(scope).get("authorization")
    if given is None:
        return None if listener.tokens else caller
    principal = principal_of(listener.tokens, given)
    if principal is None:
        return None
    return replace(caller, principal=principal, authentication=Authentication.BEARER)


def _anonymous(listener: Listener, scope: Mapping[str, Any]) -> Caller:
    client = scope.get("client")
    host, port = client if client and listener.host is not None else ("unix", None)
    agent = headers_of(scope).get("user-agent", "http")
    return Caller(client_id=agent[:_CLIENT_ID_CHARACTERS_MAX], host=host, port=port)


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a request by name, in lower case.

    The values of a repeated header are joined by commas. Source: RFC 9110, 5.2.
    """
    state: dict[str, Any] = scope["state"]
    found: dict[str, str] | None = state.get(_HEADERS)
    if found is None:
        found = state[_HEADERS] = _decoded(scope)
    return found


def _decoded(scope: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
