"""Parses addresses to listen on (loopback by default), and creates errors about connections."""

import ipaddress
import os
import socket

from records.errors import RequestError, UnavailableError

LOOPBACK = "127.0.0.1"


def parse_address(text: str) -> tuple[str, int]:
    """Parse `HOST:PORT`, `[IPv6]:PORT` or `:PORT` (loopback).

    Raises:
        RequestError: INVALID_REQUEST, the address is malformed.
    """
    host, colon, port = text.rpartition(":")
    host = host.strip("[]") or LOOPBACK
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise RequestError("INVALID_REQUEST", f"{text!r} is not HOST:PORT")
    return host, int(port)


def require_loopback(host: str, instead: str = "add --allow-remote") -> None:
    """Refuse hosts that other machines can reach.

    Args:
        instead: Advice for the error message: how to allow other machines.

    Raises:
        RequestError: INVALID_REQUEST, other machines can reach the host.
    """
    if not is_loopback(host):
        raise RequestError(
            "INVALID_REQUEST",
            f"{host} can be reached from other machines, and there is no authentication; "
            f"listen on 127.0.0.1, or {instead}",
        )


def unreachable(address: str, error: OSError) -> UnavailableError:
    """Return the error for a failure to connect to a service."""
    if isinstance(error, socket.gaierror):
        why = error.strerror
    else:
        why = os.strerror(error.errno) if error.errno else "no answer in time"
    return UnavailableError(f"{address} does not answer ({why}); is the service running?")


def disconnected(address: str) -> UnavailableError:
    """Return the error for a lost connection; the outcome of requests in flight is unknown."""
    return UnavailableError(f"the connection to {address} was lost")


def unanswered(address: str, *schemes: str) -> UnavailableError:
    """Return the error for a service that disconnected before its first answer.

    Args:
        schemes: URL schemes that the message suggests, since another kind of listener may be at the
            address.
    """
    urls = " or ".join(f"{scheme}://{address}" for scheme in schemes)
    return UnavailableError(
        f"{address} disconnected before its first answer; if that is another listener of the "
        f"service, write {urls}"
    )


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
