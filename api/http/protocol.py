"""A connection: uvicorn's HTTP/1.1, within the limits of all connections of the process."""

import asyncio
from collections.abc import Callable
from typing import Any

import h11
import msgspec
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from api.connections import Connections, Place, Quota
from api.http.callers import IS_RESERVED, PRINCIPAL
from api.http.limits import (
    CONNECTIONS_MAX,
    UNSENT_BYTES_MAX,
    WATCHING_RESERVE,
    WRITE_STALL_S,
)
from api.http.problems import MEDIA_TYPE, problem
from api.log_limit import limited_logger
from api.security.principals import PrincipalMapping
from api.security.tls import peer_principal
from records.errors import RequestError, UnavailableError

QUOTA = Quota(name="HTTP", places_max=CONNECTIONS_MAX + WATCHING_RESERVE, reserve=WATCHING_RESERVE)

# Clients can cause any number of its lines about invalid requests.
limited_logger("uvicorn.error")


class Connection(H11Protocol):
    """Answers the requests of one connection, one after the other."""

    def __init__(
        self,
        config: Config,
        state: ServerState,
        connections: Connections,
        mapping: PrincipalMapping,
    ) -> None:
        super().__init__(config=config, server_state=state, app_state={})
        self._mapping = mapping
        self._all = connections
        self._place: Place | None = None
        self._is_answering = False
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=UNSENT_BYTES_MAX)
        try:
            self.app_state[PRINCIPAL] = peer_principal(transport, self._mapping)
            self._place = self._all.enter(QUOTA, lambda _: self._abort())
            self.app_state[IS_RESERVED] = self._place.is_reserved
        except (RequestError, UnavailableError):
            self._abort()

    def data_received(self, data: bytes) -> None:
        if self._place is None:
            return
        if not self._is_answering:
            self._place.frame_begun()
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if self._place is None:
            return
        # A request that waits for its body is still being received.
        if self.conn.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED):
            self._place.frame_ended()
            if not self._is_answering and self.cycle and not self.cycle.response_complete:
                self._is_answering = True
                self._place.request_begun()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; where an answer has begun, only the connection can end."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self._abort()
            return
        found = msgspec.json.encode(problem(400, "INVALID_REQUEST", "this is not HTTP/1.1"))
        headers = [("Content-Type", MEDIA_TYPE), ("Connection", "close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=found),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def on_response_complete(self) -> None:
        if self._is_answering and self._place is not None:
            self._is_answering = False
            self._place.request_ended()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self.loop.call_later(WRITE_STALL_S, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._end_stall()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_stall()
        if self._place is not None:
            self._place.leave()
            self._place = None
        super().connection_lost(exc)

    def _end_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _abort(self) -> None:
        if self._place is not None:
            self._place.leave()
            self._place = None
        self.transport.abort()


def connections_of(
    config: Config, state: ServerState, connections: Connections, mapping: PrincipalMapping
) -> Callable[[], Connection]:
    """Return what makes the protocol of each connection."""
    return lambda: Connection(config, state, connections, mapping)
