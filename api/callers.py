"""Callers that come in with a connection, or with a process."""

import asyncio

from controller.authorization.caller import Authentication, Caller


def connected_caller(transport: asyncio.BaseTransport) -> Caller:
    """Return the caller at the other end of a connection, which has not authenticated."""
    name = transport.get_extra_info("peername")
    return Caller(host=name[0], port=name[1]) if name else Caller()


CLIENT = "metalog"
"""The name that the command line gives itself."""


def process_caller(principal: str) -> Caller:
    """Return the caller of a process that opens the log itself."""
    return Caller(principal=principal, authentication=Authentication.PROCESS, client_id=CLIENT)
