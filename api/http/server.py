"""The HTTP listener of a service.

It starts before the log is loaded and answers health checks; all other requests are answered once
the service has started.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace
from uvicorn import Config
from uvicorn.server import ServerState

from api.http.admission import Admission
from api.http.connection import Connection
from api.http.limits import CLOSE_TIMEOUT_S, WATCHING_RESERVE
from api.http.metrics import Sources
from api.http.options import HTTPS, HttpOptions
from api.http.request import GUARDS
from api.http.routes import PATHS, make_app
from api.http.shared_state import Listener, SharedState
from api.http.site import site_of
from api.http.tokens import read_tokens
from api.security.options import SecurityOptions
from api.security.principals import PrincipalMapping
from api.security.tls import server_context
from api.service.service import Service
from api.transport.acceptor import Acceptor, bind
from api.transport.connections import Connections, Quota
from api.transport.limits import IDLE_TIMEOUT_S, RECEIVE_BUFFER_BYTES
from api.transport.renewal import Use
from api.transport.shutdown import cancel_all
from api.transport.unix_sockets import UNIX

if TYPE_CHECKING:
    from litestar.types import ASGIApp

    from api.http.tracing import Tracer

_NO_SECURITY = SecurityOptions()

SERVICE = "service"
"""Key of the service's state in the states of a server."""

Around = Callable[["ASGIApp", Listener, dict[str, SharedState]], "ASGIApp"]
"""Wraps an application in another one, which adds its own state to those of the server."""


class HttpServer:
    """The HTTP server. Created by `listen`.

    Attributes:
        address: `HOST:PORT`, `https://HOST:PORT`, or `unix:PATH`.
        states: State that the handlers share: that of the service, or of each shown log by name.
    """

    def __init__(
        self,
        states: Mapping[str, SharedState],
        state: ServerState,
        acceptor: Acceptor,
        address: str,
        options: HttpOptions,
        security: SecurityOptions,
    ) -> None:
        self.states = states
        self._options, self._security = options, security
        self._state = state
        self._acceptor = acceptor
        self.address = address

    @classmethod
    async def listen(
        cls,
        options: HttpOptions,
        connections: Connections,
        security: SecurityOptions = _NO_SECURITY,
        logs: Mapping[str, str] | None = None,
        around: "Around | None" = None,
    ) -> Self:
        """Start to listen; only health checks are answered until `serve` is called.

        Args:
            logs: By name, the logs that are only shown, as given on the command line; None for the
                service of a log.
            around: Wraps the application in one that answers further paths.

        Raises:
            UnavailableError: the server cannot listen on the address.
            RequestError: INVALID_CONFIG, the certificates cannot be used.
        """
        listener = Listener(
            host=options.host,
            has_tls=options.has_tls,
            tokens=options.tokens,
            tracer=_tracer(options),
        )
        app, states = app_of(listener, logs)
        if around is not None:
            app = around(app, listener, states)
        mapping = PrincipalMapping.parse(security.principal_rules)
        state = ServerState()
        state.default_headers = GUARDS
        config = Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="none",
            http="httptools",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            # uvicorn's own is 5 s; idle connections are closed by `Connections`.
            timeout_keep_alive=int(IDLE_TIMEOUT_S),
        )
        config.load()
        quota = _quota(options, connections)
        # Shared by all connections: each would otherwise receive up to 256 KiB at once.
        buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        protocol = partial(Connection, config, state, connections, quota, mapping, buffer)
        if options.path is not None:
            acceptor = Acceptor.listen_at(protocol, options.path)
            return cls(states, state, acceptor, f"{UNIX}{options.path}", options, security)
        assert options.host is not None, "a host or a path is given"
        tls = _tls(options, security)
        acceptor = Acceptor.listen(protocol, await bind(options.host, options.port), tls)
        address = f"{_bracketed(options.host)}:{acceptor.port}"
        if options.has_tls:
            address = HTTPS + address
        return cls(states, state, acceptor, address, options, security)

    def serve(self, service: Service, kafka: str, sources: Sources) -> None:
        """Answer all requests from now on.

        Args:
            kafka: URL of the service's Kafka listener; empty if it has none.
            sources: State of the process from which metrics are computed.
        """
        (state,) = self.states.values()
        state.serve(service, kafka, sources)

    def read_again(self) -> Use:
        """Read certificates and tokens again; return a function that applies them.

        Raises:
            RequestError: INVALID_CONFIG, a file cannot be used.
        """
        path = self._options.tokens_file
        tokens = self._options.tokens if path is None else read_tokens(path)
        tls = _tls(self._options, self._security)

        def use() -> None:
            for state in self.states.values():
                state.listener = replace(state.listener, tokens=tokens)
            self._acceptor.tls = tls

        return use

    async def close(self) -> None:
        """Stop accepting connections, answer requests in flight, and disconnect.

        May be called again.
        """
        await self._acceptor.close()
        for state in self.states.values():
            state.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                while self._state.tasks:
                    await asyncio.wait(self._state.tasks)
        for connection in list(self._state.connections):
            assert isinstance(connection, Connection), "the acceptor makes no others"
            connection.end()
        await cancel_all(*self._state.tasks)
        for tracer in {state.listener.tracer for state in self.states.values()}:
            if tracer is not None:
                await asyncio.to_thread(tracer.close)


def app_of(
    listener: Listener, logs: Mapping[str, str] | None
) -> "tuple[ASGIApp, dict[str, SharedState]]":
    """Return the application, and the states that its handlers share."""
    if logs is not None and len(logs) > 1:
        return site_of(listener, logs)
    name, log = (SERVICE, None) if logs is None else next(iter(logs.items()))
    state = SharedState(listener, PATHS.all, log)
    return Admission(make_app(), PATHS, state), {name: state}


def _quota(options: HttpOptions, connections: Connections) -> Quota:
    """Return the connection quota of HTTP: at most half of all connections, plus a reserve.

    The reserve is for monitoring. The other half is left to Kafka clients.
    """
    places = min(options.connections_max, connections.places_max // 2)
    return Quota(name="HTTP", places_max=places + WATCHING_RESERVE, reserve=WATCHING_RESERVE)


def _tls(options: HttpOptions, security: SecurityOptions) -> ssl.SSLContext | None:
    return server_context(security.tls, security.client_auth) if options.has_tls else None


def _tracer(options: HttpOptions) -> "Tracer | None":
    if options.traces is None:
        return None
    from api.http.tracing import Tracer

    return Tracer(options.traces)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
