"""Who asks over HTTP, and what a page in a browser must not reach.

A browser sends requests to loopback for any page that it shows. So a request must name a host that
only this machine or its owner can give (DNS rebinding), and must not come from another page's
origin (cross-site requests).
"""

import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from api.http.problems import Problem, problem
from controller.authorization.caller import Caller

_CLIENT_ID_CHARACTERS_MAX = 100


class Entrance(msgspec.Struct, frozen=True, kw_only=True):
    """The address that is listened on, and how its clients are known.

    Attributes:
        host: The name or address that is listened on; None: a unix socket.
    """

    host: str | None


def refused_by_origin(entrance: Entrance, scope: Mapping[str, Any]) -> Problem | None:
    """Return why a request may come from a page of somebody else; None if it may not."""
    headers = headers_of(scope)
    host = headers.get("host", "")
    if entrance.host is not None and not _is_own_host(host, entrance.host):
        return problem(421, "MISDIRECTED_REQUEST", f"Host {host!r} is no address of this service")
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return problem(403, "CROSS_ORIGIN", f"a page of {origin!r} may not ask this service")
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return problem(403, "CROSS_ORIGIN", "a page of another site may not ask this service")
    return None


def _is_own_host(given: str, listening: str) -> bool:
    """True for an address or a name that no page can let point to this machine."""
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


def caller_of(entrance: Entrance, scope: Mapping[str, Any]) -> Caller:
    """Return who sends a request."""
    client = scope.get("client")
    host, port = client if client and entrance.host is not None else ("unix", None)
    agent = headers_of(scope).get("user-agent", "http")
    return Caller(client_id=agent[:_CLIENT_ID_CHARACTERS_MAX], host=host, port=port)


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a request, by their names in lower case."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
