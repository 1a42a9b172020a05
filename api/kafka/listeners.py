"""The Kafka listeners of a process: started together, with the same connection limits."""

from collections.abc import Callable, Iterable
from functools import partial

from api.kafka.answering import Answering
from api.kafka.listener import Listener
from api.security.listeners import ListenerAddress
from api.security.options import ListenerSecurities
from api.transport.connections import Connections
from api.transport.renewal import Renewal


async def start_listeners(
    addresses: Iterable[ListenerAddress],
    answering: Callable[[ListenerAddress], Answering],
    connections: Connections,
    securities: ListenerSecurities,
    renewal: Renewal,
) -> list[Listener]:
    """Return a listener for each address; `renewal` gets the functions that reload their files.

    Args:
        answering: Returns the request handlers of a listener.

    Raises:
        UnavailableError: an address is in use or does not belong to this machine; no listener is
            left open.
        RequestError: a TLS file cannot be used.
    """
    listeners: list[Listener] = []
    try:
        for address in addresses:
            listener = await Listener.start(
                answering(address),
                address.host,
                address.port,
                connections,
                securities.of(address),
            )
            listeners.append(listener)
            renewal.add(partial(securities.read_again, address, listener.renew))
    except BaseException:
        for listener in listeners:
            await listener.close()
        raise
    return listeners
