"""Finds out whether a port can be reached, and whether it speaks TLS."""

import asyncio
import enum
import socket
import ssl

_HANDSHAKE, _ALERT = b"\x16", b"\x15"
"""First byte of a server's answer in TLS: a part of the handshake, or the refusal of one."""


class Reach(enum.Enum):
    """How far a connection to a port gets."""

    UNKNOWN_NAME = "the name is unknown here"
    REFUSED = "the connection is refused"
    SILENT = "no answer in time"
    OPEN = "it accepts connections"
    PLAIN = "it accepts connections, and does not speak TLS"
    TLS = "it speaks TLS"


async def reach(host: str, port: int, timeout_s: float, *, offer_tls: bool = False) -> Reach:
    """Connect; return OPEN or why it failed.

    Args:
        offer_tls: Also send the first message of a TLS handshake, and return TLS or PLAIN by the
            answer. A server without TLS takes it for a malformed request.
    """
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                return await _protocol(reader, writer) if offer_tls else Reach.OPEN
            finally:
                writer.transport.abort()
    except TimeoutError:
        return Reach.SILENT
    except socket.gaierror:
        return Reach.UNKNOWN_NAME
    except OSError:
        return Reach.REFUSED


async def _protocol(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Reach:
    writer.write(_client_hello())
    try:
        answer = await reader.read(1)
    except ConnectionError:
        return Reach.PLAIN
    return Reach.TLS if answer in (_HANDSHAKE, _ALERT) else Reach.PLAIN


def _client_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    handshake = context.wrap_bio(ssl.MemoryBIO(), outgoing)
    try:
        handshake.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("a handshake ended without an answer")
