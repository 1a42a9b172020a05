"""Runs a service from start to clean shutdown."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from api.controller_server.broker_feed import RETRY_MS
from api.controller_server.listener import ControllerListener, ListenerSettings
from api.garbage import collect_beside_image
from api.http.options import HttpOptions
from api.kafka.listener import Listener, bind_all, start_listeners
from api.nodes.options import NodeOptions
from api.security.listeners import LOCAL, OPEN, ListenerAddress
from api.security.options import ListenerSecurities, SecurityOptions, users_of
from api.security.sasl import Authenticator
from api.service.service import Service
from api.service.session import Session
from api.socket.server import SocketServer, serve_socket
from api.transport.acceptor import Bound
from api.transport.connections import Connections
from api.transport.descriptors import raise_descriptor_limit
from api.transport.limits import KAFKA_CONNECTIONS_MAX
from api.transport.renewal import Renewal, renewed_by_signal
from api.transport.shutdown import cancel_all, stopped_by_signal, unless_set
from api.transport.unix_sockets import UNIX
from api.upkeep.history_keeper import HistoryKeeper
from api.upkeep.jobs import JobRuns, while_active
from api.upkeep.snapshot_maker import SnapshotMaker
from api.upkeep.upkeep import ARCHIVE, Upkeep, UpkeepOptions
from controller.decisions.context.context import Settings
from controller.decisions.security.tokens import SECRET_KEY
from metadata_log.reader.log_reader import LogReader
from records.errors import FencedError, Outcome, RequestError
from replay.timeline import Timeline

if TYPE_CHECKING:
    from api.http.server import HttpServer

DEFAULT_DATABASE = "default"
"""Stands for the database in the log directory."""


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a service; port 0 lets the system choose.

    Attributes:
        kafka: Addresses of the listeners for Kafka's protocol.
        socket: Address, or path of the unix socket, for appends (docs/socket.md); None: no socket.
        security: The security options that all listeners share.
        controller_listener: Name of the Kafka listener among the voters in the log, for brokers of
            Kafka; None: the log gets no voters.
        http: Options of the HTTP listener (docs/http.md); None: no HTTP.
        snapshot_every: Number of records between two snapshots; 0: no snapshots.
        sql_history: URL of the database for the SQL history; "default": the database in the log
            directory; None: no SQL history.
        upkeep: Options of archive and retention, which run in the background.
        shared: URL of the shared log that `log` is a copy of; None: a log of its own.
        node: How this process takes part in the shared log.
    """

    log: Path | str
    kafka: tuple[ListenerAddress, ...] = (LOCAL,)
    socket: ListenerAddress | Path | str | None = None
    security: SecurityOptions = SecurityOptions()
    http: HttpOptions | None = None
    strict_modes: bool = False
    retry_ms: int = RETRY_MS
    controller_listener: str | None = None
    snapshot_every: int = 0
    snapshot_keep: int = 0
    sql_history: str | None = None
    upkeep: UpkeepOptions = UpkeepOptions()
    settings: Settings = Settings()
    shared: str | None = None
    node: NodeOptions = NodeOptions(node_id=0)

    @property
    def directory(self) -> Path:
        """The directory of the log."""
        return Path(self.log)

    @property
    def at_socket(self) -> ListenerAddress | Path | None:
        """The address of the socket; a text is the path of a unix socket."""
        return Path(self.socket) if isinstance(self.socket, str) else self.socket


@dataclass(frozen=True)
class Serving:
    """A running service and its listeners.

    Attributes:
        authenticators: Authenticators of the listeners with SASL; they count logins.
        jobs: Statistics of the background jobs.
    """

    service: Service
    listeners: tuple[Listener, ...]
    socket: SocketServer | None
    authenticators: tuple[Authenticator, ...] = ()
    http: "HttpServer | None" = None
    jobs: tuple[JobRuns, ...] = ()

    @property
    def kafka(self) -> Listener:
        """The first listener for Kafka's protocol."""
        return self.listeners[0]


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """A running service and its addresses.

    `kafka` is the first Kafka listener's address; `listeners` has all of them if there are several.
    """

    log: str
    cluster_id: str
    leader_epoch: int
    log_end: int
    kafka: str
    listeners: tuple[str, ...] | UnsetType = UNSET
    socket: str | UnsetType = UNSET
    http: str | UnsetType = UNSET


async def serve_until_stopped(
    options: ServeOptions,
    ready: Callable[[Ready], None],
    loaded: Callable[[int], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then commit all decisions in flight and release the log.

    Args:
        ready: Called with the addresses once requests are accepted.
        loaded: Called repeatedly with the offset up to which the log was loaded.

    Raises:
        FencedError: another writer took over the log, or its disk has failed.
        CorruptLogError: as `Service.indexed`.
    """
    with stopped_by_signal() as stop, renewed_by_signal() as renewal:
        async with serving(options, loaded, renewal) as running:
            collect_beside_image()
            renewal.begin()
            ready(_ready(options, running))
            await unless_set(stop, _writable(running.service))
        if not stop.is_set():
            # Each request has had its own answer with its outcome.
            raise FencedError(
                f"{options.log} can no longer be written by this process; start `metalog serve` "
                "again where it is to run",
                outcome=Outcome.NOTHING,
            )


async def _writable(service: Service) -> None:
    """Wait until a service can no longer write its log."""
    with contextlib.suppress(RequestError):  # a failed append, or the stop, has ended it
        await service.indexed()
    collect_beside_image()  # the index, too
    await service.lost()


async def serve_node_until_stopped(
    options: ServeOptions, ready: Callable[[Ready], None], stands_by: Callable[[Ready], None]
) -> None:
    """Take part in a shared log until SIGTERM or SIGINT, then let another node lead.

    Args:
        ready: Called with the addresses whenever this node begins to lead.
        stands_by: Called with the addresses whenever it begins to stand by; questions are answered.

    Raises:
        MetadataLogError: as `Node.run` and `open_store`.
    """
    from api.nodes.node import Node
    from api.nodes.stores import open_store
    from api.nodes.trimming import Trimming

    assert options.shared is not None
    now: list[Serving] = []

    @contextlib.asynccontextmanager
    async def serve(service: Service) -> AsyncIterator[None]:
        collect_beside_image()
        with renewed_by_signal() as renewal:
            async with serving(options, renewal=renewal, service=service) as running:
                renewal.begin()
                now.append(running)
                yield

    def shown(service: Service) -> None:
        collect_beside_image()  # the index, too
        stands_by(_ready(options, now[0]))

    with stopped_by_signal() as stop:
        shared = await open_store(options.shared)
        try:
            node = Node(
                options.directory,
                shared,
                options.node,
                settings=options.settings,
                serve=serve,
                leads=lambda _: ready(_ready(options, now[0])),
                stands_by=shown,
                trimming=Trimming(
                    shared, lambda: _archived_end(now[0]), every_s=options.upkeep.every_s
                ),
            )
            await node.run(stop)
        finally:
            await shared.close()


def _archived_end(running: Serving) -> int | None:
    """Return up to where this process has archived the log; None if it has not."""
    return next((job.end_offset for job in running.jobs if job.name == ARCHIVE), None)


@contextlib.asynccontextmanager
async def serving(
    options: ServeOptions,
    loaded: Callable[[int], None] | None = None,
    renewal: Renewal | None = None,
    service: Service | None = None,
) -> AsyncIterator[Serving]:
    """Run a service and its listeners while the body runs.

    Args:
        loaded: As for `serve_until_stopped`.
        renewal: Gets the functions with which the listeners reload their files.
        service: A service that is running already; closed in the end.
    """
    renewal = renewal or Renewal()
    wanted = KAFKA_CONNECTIONS_MAX + (0 if options.http is None else options.http.connections_max)
    connections = Connections.within(raise_descriptor_limit(), wanted)
    async with contextlib.AsyncExitStack() as closing:
        # Before the log is written to, and before anyone can connect to one of them.
        at_socket = () if options.at_socket is None else (options.at_socket,)
        bound = await bind_all((*options.kafka, *at_socket))
        for at in bound:
            closing.callback(at.close)
        http = None
        if options.http is not None:
            http = await _listen_for_http(options, connections)
            closing.push_async_callback(http.close)
            renewal.add(http.read_again)
        if service is None:
            service = await Service.open(
                options.directory, settings=options.settings, progress=loaded
            )
        closing.push_async_callback(service.close)
        # Imports a third of the program (0.3 s of CPU), for which no request is to wait.
        answers = service.answers
        if options.sql_history is not None and options.sql_history != DEFAULT_DATABASE:
            answers.use_sql_history(options.sql_history)
        kafka = ControllerListener(
            service,
            ListenerSettings(
                strict_modes=options.strict_modes,
                retry_ms=options.retry_ms,
                controller_listener=options.controller_listener,
            ),
        )
        closing.callback(kafka.stop)
        securities = _securities(options, service)
        count = len(options.kafka)
        listeners = await start_listeners(
            options.kafka, kafka.dispatch_table, connections, securities, renewal, bound[:count]
        )
        for listener in listeners:
            closing.push_async_callback(listener.close)
        socket = None
        if options.at_socket is not None:
            socket = await _take_appends(
                service, connections, options.at_socket, bound[count], securities
            )
            closing.push_async_callback(socket.close)
            if isinstance(options.at_socket, ListenerAddress):
                renewal.add(partial(securities.read_again, options.at_socket, socket.renew))
        jobs = _work_in_background(options, service, closing)
        if http is not None:
            from api.http.metrics import Sources

            listened = options.kafka[0].url(listeners[0].port)
            kafka_url = listened if "://" in listened else f"kafka://{listened}"
            sources = Sources(
                connections=connections.counts,
                jobs=jobs,
                authenticators=securities.authenticators,
            )
            http.serve(service, kafka_url, sources)
            # Before the service ends.
            closing.push_async_callback(http.close)
        # Listeners wait for the answers that are due.
        closing.callback(answers.stop)
        closing.callback(service.drop_index)
        authenticators = tuple(securities.authenticators)
        yield Serving(service, tuple(listeners), socket, authenticators, http, jobs)


def _securities(options: ServeOptions, service: Service) -> ListenerSecurities:
    token_key = options.settings.static_configs.get(SECRET_KEY)
    users = users_of(lambda: service.image, service.settings.cluster_id, token_key)
    return ListenerSecurities(options.security, users)


async def _listen_for_http(options: ServeOptions, connections: Connections) -> "HttpServer":
    # Imported here because its libraries are an extra, and take half a second.
    from api.http.server import HttpServer

    assert options.http is not None
    return await HttpServer.listen(options.http, connections, options.security)


def _work_in_background(
    options: ServeOptions, service: Service, closing: contextlib.AsyncExitStack
) -> tuple[JobRuns, ...]:
    """Start the background jobs; return their statistics for the metrics.

    The jobs run until `closing` ends. Of several nodes, the leader alone writes what they share.
    """

    def is_active() -> bool:
        return service.is_active

    jobs: list[JobRuns] = []
    runs: list[Coroutine[None, None, None]] = []
    if options.snapshot_every:
        maker = _snapshot_maker(options, service)
        jobs.append(maker.job)
        runs.append(maker.run())
    if options.sql_history is not None:
        is_default = options.sql_history == DEFAULT_DATABASE
        keeper = HistoryKeeper(options.directory, None if is_default else options.sql_history)
        jobs.append(keeper.job)
        runs.append(keeper.run() if is_default else while_active(is_active, keeper.run))
    upkeep = Upkeep(options.directory, options.upkeep, service.answers.cut)
    if upkeep.jobs:
        jobs.extend(upkeep.jobs)
        runs.append(while_active(is_active, upkeep.run))
    for run in runs:
        closing.push_async_callback(cancel_all, asyncio.create_task(run))
    return tuple(jobs)


def _snapshot_maker(options: ServeOptions, service: Service) -> SnapshotMaker:
    with LogReader.open(options.directory) as reader:
        newest = Timeline.of(reader).newest_snapshot_end()
    return SnapshotMaker(
        options.directory,
        options.snapshot_every,
        options.snapshot_keep,
        lambda: service.image.provenance.next_offset,
        newest,
    )


async def _take_appends(
    service: Service,
    connections: Connections,
    at: ListenerAddress | Path,
    bound: Bound,
    securities: ListenerSecurities,
) -> SocketServer:
    # Requests of a connection are processed in order, from the first one on.
    await service.know_requests()
    serve = partial(
        serve_socket,
        partial(Session, service),
        cluster_id=service.settings.cluster_id,
        connections=connections,
    )
    security = OPEN if isinstance(at, Path) else securities.of(at)
    return await serve(bound=bound, security=security)


def _ready(options: ServeOptions, running: Serving) -> Ready:
    service = running.service
    socket: str | UnsetType = UNSET
    if isinstance(options.at_socket, Path):
        socket = f"{UNIX}{options.at_socket}"
    elif options.at_socket is not None and running.socket is not None:
        socket = options.at_socket.url(running.socket.port)
    urls = tuple(
        [
            address.url(listener.port)
            for address, listener in zip(options.kafka, running.listeners, strict=True)
        ]
    )
    return Ready(
        log=str(options.log),
        cluster_id=service.settings.cluster_id,
        leader_epoch=service.controller_epoch,
        log_end=service.image.provenance.next_offset,
        kafka=urls[0],
        listeners=urls if len(urls) > 1 else UNSET,
        socket=socket,
        http=UNSET if running.http is None else running.http.address,
    )
