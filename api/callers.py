"""Callers of connections and processes."""

import asyncio

from controller.authorization.caller import Authentication, Caller


def connected_caller(transport: asyncio.BaseTransport) -> Caller:
    """Return the caller of a connection that has not authenticated."""
    name = transport.get_extra_info("peername")
    return Caller(host=name[0], port=name[1]) if name else Caller()


CLIENT = "metalog"
"""Client id of the command line."""


def process_caller(principal: str) -> Caller:
    """Return the caller of a process that opens the log itself."""
    return Caller(principal=principal, authentication=Authentication.PROCESS, client_id=CLIENT)
