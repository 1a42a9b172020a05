"""Forwarding over a connection to the controller."""

from api.broker.forwarding import Forward
from api.kafka.connection import Connection
from api.kafka.frames import RequestFrame
from controller.authorization.caller import Caller


def through(connection: Connection) -> Forward:
    """Return a function that forwards a client's request in an envelope."""

    async def forward(frame: RequestFrame, caller: Caller) -> bytes:
        return (await connection.forward(frame, caller)).body

    return forward
