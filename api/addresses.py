"""Listen addresses: loopback by default."""

import ipaddress

from records.errors import RequestError

LOOPBACK = "127.0.0.1"


def parse_address(text: str, *, allow_remote: bool = False) -> tuple[str, int]:
    """Parse `HOST:PORT`, `[IPv6]:PORT` or `:PORT` (loopback).

    Args:
        allow_remote: Accept hosts that other machines can reach; there is no authentication.

    Raises:
        RequestError: INVALID_REQUEST, the address is malformed, or may not be listened on.
    """
    host, colon, port = text.rpartition(":")
    host = host.strip("[]") or LOOPBACK
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise RequestError("INVALID_REQUEST", f"{text!r} is not HOST:PORT")
    if not allow_remote and not _is_loopback(host):
        raise RequestError(
            "INVALID_REQUEST",
            f"{host} can be reached from other machines, and there is no authentication; "
            "listen on 127.0.0.1, or say --allow-remote",
        )
    return host, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
