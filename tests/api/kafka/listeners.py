"""A Kafka listener of its own, for tests without a service."""

from api.kafka.dispatch import DispatchTable
from api.kafka.listener import Listener
from api.security.listeners import OPEN, ListenerSecurity
from api.transport.acceptor import bind
from api.transport.connections import Connections


async def start_listener(
    dispatch: DispatchTable,
    connections: Connections | None = None,
    security: ListenerSecurity = OPEN,
) -> Listener:
    """Start a listener on a free port of this machine."""
    connections = connections or Connections.of_process()
    return Listener.start_at(dispatch, await bind("127.0.0.1", 0), connections, security)
