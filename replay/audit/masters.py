"""Checks that a Spark master or Spark Connect server is reachable, before Spark waits for it."""

import re
import socket
from urllib.parse import urlsplit

from records.errors import RequestError, UnavailableError

_ANSWER_TIME_S = 10.0
_CONNECT_PORT = 15002
_KNOWN = re.compile(r"(local|yarn)\b|[a-z0-9.-]+://")


def check_answers(url: str, setting: str) -> None:
    """Check within 10 s that the host in a URL accepts connections.

    A URL that only Spark can resolve is not checked.

    Args:
        url: `spark://HOST:PORT` (or several, separated by commas: one reachable host is enough),
            `k8s://https://HOST:PORT`, `sc://HOST:PORT/...`, or a name such as `yarn`; empty if
            there is none.
        setting: The environment variable that contains the URL.

    Raises:
        RequestError: INVALID_REQUEST: Spark knows no such URL.
        UnavailableError: no host accepts a connection; names the variable.
    """
    if url and not _KNOWN.match(url):
        raise RequestError(
            "INVALID_REQUEST",
            f"{url} ({setting}) is no address of Spark; expected spark://HOST:PORT, local[*], "
            "yarn, k8s://https://HOST:PORT, or for SPARK_REMOTE sc://HOST:PORT",
        )
    places = _places(url)
    problems = []
    for host, port in places:
        try:
            socket.create_connection((host, port), _ANSWER_TIME_S / len(places)).close()
        except OSError as error:
            problems.append(f"{host}:{port} ({error.strerror or error})")
        else:
            return
    if problems:
        raise UnavailableError(
            f"{url} ({setting}) does not answer: {', '.join(problems)}; check that Spark runs "
            f"there, or unset {setting} to run on this machine"
        )


def _places(url: str) -> list[tuple[str, int]]:
    """Return host and port of each master in a URL; empty if only Spark can resolve the URL."""
    scheme, _, rest = url.partition("://")
    if scheme not in ("spark", "k8s", "sc"):
        return []
    default = {"sc": _CONNECT_PORT, "k8s": 443, "spark": 7077}[scheme]
    found = []
    for place in rest.split(","):
        parts = urlsplit(place if "://" in place else f"//{place}")
        try:
            port = parts.port or (80 if parts.scheme == "http" else default)
        except ValueError:
            return []
        if parts.hostname is None:
            return []
        found.append((parts.hostname, port))
    return found
