"""The Kafka listeners of a process: started together, with the same connection limits."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from api.kafka.answering import Answering
from api.kafka.listener import Listener
from api.security.listeners import ListenerAddress
from api.security.options import ListenerSecurities
from api.transport.acceptor import Bound, bind, bind_at
from api.transport.connections import Connections
from api.transport.renewal import Renewal


async def bind_all(addresses: Iterable[ListenerAddress | Path]) -> list[Bound]:
    """Bind all addresses, before a client can connect to one of them.

    Raises:
        UnavailableError: an address is in use or does not belong to this machine; none stays bound.
    """
    with contextlib.ExitStack() as closing:
        bound = []
        for address in addresses:
            if isinstance(address, Path):
                bound.append(bind_at(address))
            else:
                bound.append(await bind(address.host, address.port))
            closing.callback(bound[-1].close)
        closing.pop_all()
    return bound


async def start_listeners(
    addresses: Sequence[ListenerAddress],
    answering: Callable[[ListenerAddress], Answering],
    connections: Connections,
    securities: ListenerSecurities,
    renewal: Renewal,
    bound: Sequence[Bound] | None = None,
) -> list[Listener]:
    """Return a listener for each address; `renewal` gets the functions that reload their files.

    Args:
        answering: Returns the request handlers of a listener.
        bound: The addresses if they are bound already; None: they are bound first.

    Raises:
        UnavailableError: an address is in use or does not belong to this machine; no listener is
            left open.
        RequestError: a TLS file cannot be used.
    """
    bound = await bind_all(addresses) if bound is None else bound
    listeners: list[Listener] = []
    try:
        for address, at in zip(addresses, bound, strict=True):
            security = securities.of(address)
            listener = Listener.start_at(answering(address), at, connections, security)
            listeners.append(listener)
            renewal.add(partial(securities.read_again, address, listener.renew))
    except BaseException:
        for listener in listeners:
            await listener.close()
        for at in bound:
            at.close()
        raise
    return listeners
