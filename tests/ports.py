"""Ports for servers that cannot be told to choose one, or that must come back on the same one."""

import contextlib
import random
import socket

_HOST = "127.0.0.1"
_PORTS = range(10_000, 32_768)
"""Below those that Linux gives to connections, so that none takes one before its server listens."""


def free_ports(count: int) -> list[int]:
    """Return different ports on which nobody listens now."""
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        while len(ports) < count:
            port = random.SystemRandom().choice(_PORTS)
            each = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                each.bind((_HOST, port))
                ports.append(port)
    return ports


def free_port() -> int:
    """Return a port on which nobody listens now."""
    (port,) = free_ports(1)
    return port


def held_port() -> tuple[socket.socket, int]:
    """Return a port for a server of this process, which may stop and start, and what holds it.

    Until the returned socket is closed no other process gets the port from here. It refuses
    connections, unless a server listens that reuses the address.
    """
    while True:
        port = free_port()  # only a socket that does not reuse the address finds that it is held
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((_HOST, port))
        except OSError:
            held.close()
        else:
            return held, port
