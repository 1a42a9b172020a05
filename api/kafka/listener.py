"""The Kafka listeners of a process: started together, with the same connection limits."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from api.kafka.conversation import address_of, answer
from api.kafka.dispatch import DispatchTable
from api.kafka.streams import BufferedStream
from api.security.listeners import OPEN, ListenerAddress, ListenerSecurity
from api.security.options import ListenerSecurities
from api.transport import limits
from api.transport.acceptor import Acceptor, Bound, bind, bind_at
from api.transport.connections import Connections, Quota
from api.transport.log_limit import limited_logger
from api.transport.renewal import Renewal
from api.transport.shutdown import cancel_all
from records.errors import UnavailableError

log = limited_logger(__name__)


class Listener:
    """Accepts Kafka connections on one address."""

    def __init__(
        self, dispatch: DispatchTable, connections: Connections, security: ListenerSecurity = OPEN
    ) -> None:
        """Create a listener that does not accept connections yet; see also `start_at`."""
        self._dispatch = dispatch
        self._security = security
        self._connections = connections
        has_brokers = dispatch.is_from_broker is not None
        self._quota = Quota(
            name="Kafka",
            places_max=limits.KAFKA_CONNECTIONS_MAX,
            reserve=limits.BROKER_RESERVE if has_brokers else 0,
        )
        self._buffer = memoryview(bytearray(limits.RECEIVE_BUFFER_BYTES))
        self._tasks: set[asyncio.Task[None]] = set()
        self._acceptor: Acceptor | None = None

    @classmethod
    def start_at(
        cls,
        dispatch: DispatchTable,
        bound: Bound,
        connections: Connections,
        security: ListenerSecurity,
    ) -> Self:
        """Start accepting connections at a bound address; arguments and errors as for `start`."""
        listener = cls(dispatch, connections, security)
        listener._acceptor = Acceptor.listen(listener._protocol, bound, security.tls)
        return listener

    @property
    def port(self) -> int:
        """The port on which the listener accepts connections."""
        assert self._acceptor is not None
        return self._acceptor.port

    def renew(self, tls: ssl.SSLContext | None) -> None:
        """Use another TLS context, with new certificates, for connections accepted from now on."""
        assert self._acceptor is not None
        self._acceptor.tls = tls

    async def close(self) -> None:
        """Stop accepting connections, and close the open ones."""
        assert self._acceptor is not None
        await self._acceptor.close()
        await cancel_all(*self._tasks)

    def _protocol(self) -> asyncio.BaseProtocol:
        return BufferedStream(self._buffer, self._connected)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def close(reason: str) -> None:
            log.info("%s: the connection is closed: %s", address_of(writer), reason)
            writer.transport.abort()
            task.cancel()

        try:
            place = self._connections.enter(self._quota, close)
        except UnavailableError as error:
            log.warning("%s: %s", address_of(writer), error)
            writer.transport.abort()
            return
        task = asyncio.create_task(
            answer(reader, writer, self._dispatch, place, self._security), name="kafka connection"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task cancelled before its first step would not close the connection itself.
        task.add_done_callback(lambda _: place.leave())
        task.add_done_callback(lambda _: writer.transport.abort())


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
    dispatch: Callable[[ListenerAddress], DispatchTable],
    connections: Connections,
    securities: ListenerSecurities,
    renewal: Renewal,
    bound: Sequence[Bound] | None = None,
) -> list[Listener]:
    """Return a listener for each address; `renewal` gets the functions that reload their files.

    Args:
        dispatch: Returns the request handlers of a listener; gets the address with its actual port.
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
            found = dispatch(replace(address, port=at.port))
            listener = Listener.start_at(found, at, connections, security)
            listeners.append(listener)
            renewal.add(partial(securities.read_again, address, listener.renew))
    except BaseException:
        for listener in listeners:
            await listener.close()
        for at in bound:
            at.close()
        raise
    return listeners
