"""A service and its listener in this process, on a log of its own."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from api.clients.client import MetadataClient
from api.http.connection import Connection
from api.http.shared_state import SharedState
from api.kafka.messages.brokers import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from api.security.listeners import SecurityProtocol
from api.server import ServeOptions, Serving, serving
from api.socket.client import SocketClient
from controller.decisions.context.context import Settings
from controller.decisions.levels import SUPPORTED_LEVELS
from metadata_log.writer.creation import create_log
from records.base import Uuid
from records.text import uuid_text
from tests.api.services import http_url

CLUSTER_ID = uuid_text(bytes(range(16)))

# Registered brokers send no heartbeats here: their sessions outlast a test on a busy machine.
_SESSION_TIMEOUT_MS = 3_600_000


class Server:
    """A running service, a client of it, and a client of its socket if the socket is served."""

    def __init__(
        self, running: Serving, client: MetadataClient, socket_client: SocketClient | None
    ) -> None:
        self.service = running.service
        self.port = running.kafka.port
        self.client = client
        self.socket_url = (
            "" if running.socket is None else f"socket://127.0.0.1:{running.socket.port}"
        )
        self.http_url = "" if running.http is None else http_url(running.http.address)
        self._http = running.http
        self._socket_client = socket_client

    @property
    def http_state(self) -> SharedState:
        """The state shared by the HTTP handlers."""
        assert self._http is not None
        (state,) = self._http.states.values()
        return state

    def cut_connections(self, path: str) -> None:
        """Break the HTTP connections whose last request was for a path."""
        assert self._http is not None
        for connection in list(self._http._state.connections):
            assert isinstance(connection, Connection), "the acceptor makes no others"
            if connection.scope is not None and connection.scope["path"] == path:
                connection.transport.abort()

    @property
    def socket_client(self) -> SocketClient:
        """The client of the socket."""
        assert self._socket_client is not None
        return self._socket_client

    async def register(
        self,
        broker_id: int,
        incarnation: int = 1,
        *,
        address: tuple[str, int] | None = None,
        protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT,
    ) -> int:
        """Register a broker and wait until it is unfenced; return its epoch."""
        host, port = address or ("h", 9000 + broker_id)
        response = await self.client.connection.request(
            BrokerRegistrationRequest(
                broker_id=broker_id,
                cluster_id=CLUSTER_ID,
                incarnation_id=Uuid(bytes([incarnation]) * 16),
                listeners=(
                    Listener(
                        name=protocol.name,
                        host=host,
                        port=port,
                        security_protocol=protocol.value,
                    ),
                ),
                features=tuple(
                    [
                        Feature(name=name, min_supported_version=low, max_supported_version=high)
                        for name, (low, high) in SUPPORTED_LEVELS.items()
                    ]
                ),
                log_dirs=(Uuid(bytes([100 + broker_id]) * 16),),
            ),
            BrokerRegistrationResponse,
        )
        assert response.error_code == 0
        await self.beat(broker_id, response.broker_epoch)
        return response.broker_epoch

    async def beat(
        self, broker_id: int, broker_epoch: int, **fields: Any
    ) -> BrokerHeartbeatResponse:
        """Send a heartbeat of a broker that has applied the whole log."""
        fields.setdefault("current_metadata_offset", self.service.image.provenance.next_offset)
        return await self.client.connection.request(
            BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=broker_epoch, **fields),
            BrokerHeartbeatResponse,
        )


@contextlib.asynccontextmanager
async def server(
    directory: Path, *, session_timeout_ms: int = _SESSION_TIMEOUT_MS, **options: Any
) -> AsyncIterator[Server]:
    """Run a service on a new log, or on the log that is already in the directory."""
    log = directory / "log"
    if not log.exists():
        create_log(log, CLUSTER_ID)
    settings = msgspec.structs.replace(
        options.pop("settings", Settings()), session_timeout_ms=session_timeout_ms
    )
    serve = ServeOptions(log=log, settings=settings, **options)
    async with serving(serve) as running:
        url = f"kafka://127.0.0.1:{running.kafka.port}"
        async with await MetadataClient.connect(url) as client:
            if running.socket is None:
                yield Server(running, client, None)
                return
            async with await SocketClient.connect("127.0.0.1", running.socket.port) as other:
                yield Server(running, client, other)
