"""Creates the caller of a connection or process."""

import asyncio

from api.transport.unix_sockets import peer_user
from controller.authorization.caller import Authentication, Caller


def connected_caller(transport: asyncio.BaseTransport) -> Caller:
    """Return the caller of a connection, as identified by the operating system.

    At a unix socket the caller is the connected user; at other sockets only the address is known.
    """
    connection = transport.get_extra_info("socket")
    user = None if connection is None else peer_user(connection)
    if user is not None:
        return Caller(principal=f"User:{user}", authentication=Authentication.PEER, host="unix")
    name = transport.get_extra_info("peername")
    return Caller(host=name[0], port=name[1]) if name else Caller()


CLIENT = "metalog"
"""Client id of the command line."""


def process_caller(principal: str) -> Caller:
    """Return the caller for a process that opens the log itself, with this principal."""
    return Caller(principal=principal, authentication=Authentication.PROCESS, client_id=CLIENT)
