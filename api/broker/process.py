"""The broker process: startup, background tasks, shutdown."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from api.broker.answering import broker_answering
from api.broker.authorization import Authorization
from api.broker.cluster import Cluster
from api.broker.configs import delete_stale_delay_ms
from api.broker.controller_link import ControllerLink
from api.broker.controller_requests import ControllerRequests
from api.broker.directory_reports import report_directories
from api.broker.disk import Disk, check_writable
from api.broker.fencing import Fencing
from api.broker.following import Following
from api.broker.health import Health
from api.broker.isr import keep_isr
from api.broker.log_directory import LogDirectory
from api.broker.log_dirs import LogDirsRequests
from api.broker.producer_ids import ProducerIds
from api.broker.records_requests import RecordsRequests
from api.broker.registration import Identity
from api.broker.replicas import Replicas
from api.broker.stale_folders import now_ms
from api.broker.topic_creation import TopicCreation
from api.client import MetadataClient, server_address
from api.connections import Connections
from api.descriptors import raise_descriptor_limit
from api.kafka.listener import Answering
from api.kafka.listeners import start_listeners
from api.kafka.messages.brokers import Listener as RegisteredListener
from api.kafka.messages.replicas import BrokerConfig
from api.renewal import Renewal, renewed_by_signal
from api.security.client import ClientSecurity
from api.security.listeners import LOCAL, ListenerAddress
from api.security.options import ListenerSecurities, SecurityOptions, users_of
from api.shutdown import first_of, stopped_by_signal
from controller.authorization.authorizer import ALLOW_ALL, Authorizer
from records.base import Uuid
from records.errors import RequestError, UnavailableError

log = logging.getLogger(__name__)

_PURGE_S = 1.0
_HAND_OVER_S_MAX = 30.0
"""How long a controlled shutdown may take; then the broker exits anyway."""

_FIND_AGAIN_S = 0.3


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """A broker that has joined the cluster, and the broker's addresses.

    `listen` is the first listener's address; `listeners` has all addresses if there is more than
    one.
    """

    broker: int
    cluster_id: str
    broker_epoch: int
    listen: str
    listeners: tuple[str, ...] | UnsetType = UNSET
    log_dirs: tuple[str, ...]


class BrokerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a broker. A listener with port 0 gets a port that the system chooses.

    Clients are sent to `advertised_host` instead of the hosts of the listeners. `between_brokers`
    is the name of the listener that other brokers use; None: the first listener. `token_key` is the
    cluster's `delegation.token.secret.key`.

    `client` has the broker's credentials for the service and for other brokers.
    `delete_stale_delay_ms` is used if the log sets no value; None: the controller's static config,
    or the default.
    """

    server: str
    broker_id: int
    listeners: tuple[ListenerAddress, ...] = (LOCAL,)
    advertised_host: str | None = None
    between_brokers: str | None = None
    security: SecurityOptions = SecurityOptions()
    token_key: str | None = None
    log_dirs: tuple[Path, ...]
    rack: str | None = None
    heartbeat_ms: int = 2_000
    replica_lag_ms: int = 30_000
    delete_stale_delay_ms: int | None = None
    strict_modes: bool = False
    auto_create_topics: bool = False
    authorizer: Authorizer = ALLOW_ALL
    client: ClientSecurity = ClientSecurity()


async def run_broker_until_stopped(options: BrokerOptions, ready: Callable[[Ready], None]) -> None:
    """Run a broker until SIGTERM or SIGINT; then move its leaderships to other brokers and exit.

    Args:
        ready: Called each time the broker becomes part of the cluster.

    Raises:
        RequestError: the controller rejects this broker permanently, or a log directory belongs to
            another broker.
        UnavailableError: a listener cannot use its address.
        CorruptLogError: a log directory is damaged.
        OSError: a log directory cannot be written.
    """
    disk = Disk(raise_descriptor_limit())
    with stopped_by_signal() as stop, renewed_by_signal() as renewal:
        cluster_id = await _cluster_id(options, stop)
        if cluster_id is None:
            return
        async with _broker(options, cluster_id, disk, ready, renewal) as (link, background):
            running = asyncio.create_task(link.run(), name="controller link")
            await first_of(stop.wait(), _first_end([running, *background]))
            for task in background:
                if task.done():
                    await task  # none of them ends unless it fails
            link.stop()
            try:
                await asyncio.wait_for(running, _HAND_OVER_S_MAX)
            except TimeoutError:
                log.warning("the controller does not let this broker go; it goes all the same")


async def _first_end(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def _cluster_id(options: BrokerOptions, stop: asyncio.Event) -> str | None:
    """Ask the controller for the cluster id until it answers; None if the broker is stopped first.

    Raises:
        RequestError: the URL or a file is wrong, or the broker's authentication fails.
    """
    server_address(options.server)
    said = ""
    while not stop.is_set():
        try:
            connecting = MetadataClient.connect(options.server, security=options.client)
            async with await connecting as client:
                return (await client.metadata(())).cluster_id
        except UnavailableError as error:
            if str(error) != said:
                said = str(error)
                log.warning("waiting for the service: %s", error)
            await asyncio.sleep(_FIND_AGAIN_S)
    return None


@contextlib.asynccontextmanager
async def _broker(
    options: BrokerOptions,
    cluster_id: str,
    disk: Disk,
    ready: Callable[[Ready], None],
    renewal: Renewal,
) -> AsyncIterator[tuple[ControllerLink, list[asyncio.Task[None]]]]:
    """Start the parts of a broker and its background tasks; stop them when the context ends.

    Yields:
        The controller link, which the caller must run, and the background tasks.
    """
    directories = await disk.run(_open_directories, options, cluster_id)
    replicas = await disk.run(Replicas, options.broker_id, directories, disk)
    between_brokers = _between_brokers(options)
    await replicas.resume_moves()
    cluster, authorization = Cluster(between_brokers), Authorization(options.authorizer)
    to_brokers = options.client.used_with(between_brokers.protocol)
    following = Following(options.broker_id, replicas, cluster, to_brokers)
    is_configured = asyncio.Event()
    link: ControllerLink  # made last; the functions that use it are called later

    def configured(configs: tuple[BrokerConfig, ...]) -> None:
        delay_ms = delete_stale_delay_ms(configs, options.delete_stale_delay_ms)
        replicas.stale.delay_ms = delay_ms
        is_configured.set()

    requests = ControllerRequests(
        replicas,
        cluster,
        broker_epoch=lambda: link.broker_epoch,
        changed=following.refresh,
        configured=configured,
        update_rights=authorization.update,
    )

    def is_live(broker_id: int) -> bool:
        return cluster.address(broker_id) is not None

    records = RecordsRequests(Fencing(replicas, cluster), authorization.access, is_live)
    producer_ids = ProducerIds(lambda: link.allocate_producer_ids(), authorization.access)
    log_dirs = LogDirsRequests(directories, replicas, disk, authorization.access)
    creation = None
    if options.auto_create_topics:
        creation = TopicCreation(lambda frame, caller: link.forward(frame, caller))
    users = users_of(lambda: authorization.image, cluster_id, options.token_key)
    own = {**records.handlers(), **producer_ids.handlers(), **log_dirs.handlers()}

    def answering(address: ListenerAddress) -> Answering:
        return broker_answering(
            cluster_id,
            cluster,
            authorization,
            own,
            lambda frame, caller: link.forward(frame, caller),
            listener=address,
            strict_modes=options.strict_modes,
            creation=creation,
        )

    securities = ListenerSecurities(options.security, users)
    listeners = await start_listeners(
        options.listeners, answering, Connections.of_process(), securities, renewal
    )
    ports = [listener.port for listener in listeners]
    health = Health(disk, directories, recovered=lambda: link.follow_anew())

    def unfenced() -> None:
        ready(_ready(options, cluster_id, ports, link))

    at = server_address(options.server)
    security_of_link = options.client.used_with(at.protocol)
    renewal.add(partial(options.client.read_again, security_of_link))
    renewal.begin()
    link = ControllerLink(
        at,
        security_of_link,
        _identity(options, cluster_id, ports, directories),
        directories,
        cluster,
        requests.answering(),
        heartbeat_ms=options.heartbeat_ms,
        lags=following.lags,
        can_serve=lambda: health.problem is None,
        unfenced=unfenced,
    )
    isr = keep_isr(
        replicas, link.alter_partitions, lag_ms_max=options.replica_lag_ms, is_live=is_live
    )
    background = {
        "stale partitions": _purge(replicas, is_configured),
        "disk health": health.watch(),
        "log directories": report_directories(replicas, link.assign_directories),
        "in-sync replicas": isr,
    }
    tasks = [asyncio.create_task(work, name=name) for name, work in background.items()]
    try:
        yield link, tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for listener in listeners:
            await listener.close()
        if creation is not None:
            await creation.close()
        await following.close()
        if await replicas.close():
            await disk.run(link.mark_clean_end)
        disk.close()


def _open_directories(options: BrokerOptions, cluster_id: str) -> list[LogDirectory]:
    directories = [
        LogDirectory.open(path, cluster_id=cluster_id, broker_id=options.broker_id)
        for path in options.log_dirs
    ]
    for directory in directories:
        check_writable(directory.path)
    return directories


def _between_brokers(options: BrokerOptions) -> ListenerAddress:
    """Return the listener that other brokers use.

    Raises:
        RequestError: INVALID_REQUEST, no listener has the given name.
    """
    name = options.between_brokers
    for address in options.listeners:
        if name is None or address.name == name.upper():
            return address
    names = ", ".join(address.name for address in options.listeners)
    raise RequestError("INVALID_REQUEST", f"{name} is none of the listeners: {names}")


def _identity(
    options: BrokerOptions, cluster_id: str, ports: list[int], directories: list[LogDirectory]
) -> Identity:
    return Identity(
        broker_id=options.broker_id,
        cluster_id=cluster_id,
        incarnation_id=Uuid(secrets.token_bytes(16)),
        listeners=tuple(
            [
                RegisteredListener(
                    name=address.name,
                    host=options.advertised_host or address.host,
                    port=port,
                    security_protocol=address.protocol.value,
                )
                for address, port in zip(options.listeners, ports, strict=True)
            ]
        ),
        rack=options.rack,
        log_dirs=tuple([directory.directory_id for directory in directories]),
    )


async def _purge(replicas: Replicas, is_configured: asyncio.Event) -> None:
    """Remove stale folders periodically, once the controller has sent the delay."""
    await is_configured.wait()
    while True:
        await replicas.stale.purge(now_ms())
        await asyncio.sleep(_PURGE_S)


def _ready(
    options: BrokerOptions, cluster_id: str, ports: list[int], link: ControllerLink
) -> Ready:
    urls = [address.url(port) for address, port in zip(options.listeners, ports, strict=True)]
    return Ready(
        broker=options.broker_id,
        cluster_id=cluster_id,
        broker_epoch=link.broker_epoch,
        listen=urls[0],
        listeners=tuple(urls) if len(urls) > 1 else UNSET,
        log_dirs=tuple(map(str, options.log_dirs)),
    )
