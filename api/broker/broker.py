"""A broker: its parts, connected to each other, and the tasks that run beside its listeners."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from typing import Any

from api.broker.authorization import Authorization
from api.broker.cluster import Cluster
from api.broker.configs import delete_stale_delay_ms
from api.broker.controller_link import ControllerLink
from api.broker.controller_requests import ControllerRequests
from api.broker.directory_reports import report_directories
from api.broker.disk import Disk, check_writable
from api.broker.dispatch import broker_dispatch
from api.broker.fencing import Fencing
from api.broker.forwarding import forwarding_handlers
from api.broker.health import Health
from api.broker.isr import keep_isr
from api.broker.log_directory import LogDirectory
from api.broker.log_dirs import LogDirsRequests
from api.broker.options import BrokerOptions
from api.broker.own_configs import own_configs, with_own_configs
from api.broker.producer_ids import ProducerIds
from api.broker.records_requests import RecordsRequests
from api.broker.registration import Identity
from api.broker.replica_fetchers import ReplicaFetchers
from api.broker.replicas import Replicas
from api.broker.stale_folders import now_ms
from api.broker.topic_creation import TopicCreation
from api.clients.client import server_addresses
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.dispatch import DispatchTable, Handler
from api.kafka.frames import RequestFrame
from api.kafka.listener import Listener, start_listeners
from api.kafka.messages.brokers import Listener as RegisteredListener
from api.kafka.messages.replicas import BrokerConfig
from api.security.listeners import ListenerAddress
from api.security.options import ListenerSecurities, users_of
from api.transport.connections import Connections
from api.transport.renewal import Renewal
from api.transport.shutdown import cancel_all
from controller.authorization.caller import Caller
from records.base import Uuid
from records.errors import RequestError

_PURGE_S = 1.0

Joined = Callable[[list[int], ControllerLink], None]
"""Called with the ports of the listeners each time a broker becomes part of the cluster."""


@contextlib.asynccontextmanager
async def running_broker(
    options: BrokerOptions,
    cluster_id: str,
    disk: Disk,
    joined: Joined,
    renewal: Renewal,
) -> AsyncIterator[tuple[ControllerLink, list[asyncio.Task[None]]]]:
    """Start the parts of a broker and its background tasks; stop them when the context ends.

    Yields:
        The controller link, which the caller must run, and the background tasks.
    """
    directories = await disk.run(_open_directories, options, cluster_id)
    replicas = await disk.run(Replicas, options.broker_id, directories, disk)
    await replicas.resume_moves()
    broker = _Broker(options, cluster_id, disk, directories, replicas)
    await broker.listen(renewal)
    broker.connect(joined, renewal)
    tasks = [asyncio.create_task(work, name=name) for name, work in broker.background().items()]
    try:
        yield broker.link, tasks
    finally:
        await cancel_all(*tasks)
        await broker.close()


class _Broker:
    """The parts of a broker.

    Attributes:
        link: The connection to the controller. It is made last, because it announces the ports;
            the other parts use it once a request or the controller calls them.
    """

    link: ControllerLink

    def __init__(
        self,
        options: BrokerOptions,
        cluster_id: str,
        disk: Disk,
        directories: list[LogDirectory],
        replicas: Replicas,
    ) -> None:
        self._options, self._cluster_id, self._disk = options, cluster_id, disk
        self._directories, self._replicas = directories, replicas
        between_brokers = _between_brokers(options)
        self._cluster = Cluster(between_brokers)
        self._authorization = Authorization(options.authorizer)
        self._to_brokers = options.client.used_with(between_brokers.protocol)
        self._following = ReplicaFetchers(
            options.broker_id, replicas, self._cluster, self._to_brokers
        )
        self._health = Health(disk, directories, recovered=lambda: self.link.follow_anew())
        self._creation = TopicCreation(self._forward) if options.auto_create_topics else None
        self._own = self._handlers()
        self._is_configured = asyncio.Event()
        self._listeners: list[Listener] = []

    async def listen(self, renewal: Renewal) -> None:
        """Start the listeners.

        Raises:
            UnavailableError: a listener cannot use its address.
        """
        users = users_of(
            lambda: self._authorization.image, self._cluster_id, self._options.token_key
        )
        self._listeners = await start_listeners(
            self._options.listeners,
            self._dispatch,
            Connections.of_process(),
            ListenerSecurities(self._options.security, users),
            renewal,
        )

    def connect(self, joined: Joined, renewal: Renewal) -> None:
        """Make the link to the controller, which announces the ports of the listeners."""
        options, ports = self._options, [listener.port for listener in self._listeners]
        addresses = server_addresses(options.server)
        to_service = options.client.used_with(addresses[0].protocol)
        for security in (to_service, self._to_brokers):
            renewal.add(partial(options.client.read_again, security))
        renewal.begin()
        self.link = ControllerLink(
            addresses,
            to_service,
            _identity(options, self._cluster_id, ports, self._directories),
            self._directories,
            self._cluster,
            self._requests().dispatch_table(),
            heartbeat_ms=options.heartbeat_ms,
            lags=self._following.lags,
            can_serve=lambda: self._health.problem is None,
            unfenced=lambda: joined(ports, self.link),
        )

    def background(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Return the tasks to run beside the listeners, by name; none ends unless it fails."""
        isr = keep_isr(
            self._replicas,
            self.link.alter_partitions,
            lag_ms_max=self._options.replica_lag_ms,
            is_live=self._is_live,
        )
        return {
            "stale partitions": self._purge(),
            "disk health": self._health.watch(),
            "log directories": report_directories(self._replicas, self.link.assign_directories),
            "in-sync replicas": isr,
        }

    async def close(self) -> None:
        """Stop listening and following, and mark the end as clean if all replicas were written."""
        for listener in self._listeners:
            await listener.close()
        if self._creation is not None:
            await self._creation.close()
        await self._following.close()
        if await self._replicas.close():
            await self._disk.run(self.link.mark_clean_end)
        self._disk.close()

    def _handlers(self) -> dict[Api, Handler]:
        """Return the handlers of the requests that the broker answers itself."""
        access = self._authorization.access
        records = RecordsRequests(Fencing(self._replicas, self._cluster), access, self._is_live)
        producer_ids = ProducerIds(lambda: self.link.allocate_producer_ids(), access)
        log_dirs = LogDirsRequests(self._directories, self._replicas, self._disk, access)
        describe = forwarding_handlers(self._forward)[apis.DESCRIBE_CONFIGS]
        own = with_own_configs(describe, self._options.broker_id, self._described_configs)
        return {
            **records.handlers(),
            **producer_ids.handlers(),
            **log_dirs.handlers(),
            apis.DESCRIBE_CONFIGS: own,
        }

    def _dispatch(self, address: ListenerAddress) -> DispatchTable:
        return broker_dispatch(
            self._cluster_id,
            self._cluster,
            self._authorization,
            self._own,
            self._forward,
            listener=address,
            strict_modes=self._options.strict_modes,
            creation=self._creation,
        )

    def _described_configs(self) -> dict[str, str]:
        ports = [listener.port for listener in self._listeners]
        between_brokers = _between_brokers(self._options)
        return own_configs(self._options, between_brokers, ports, self._directories)

    async def _forward(self, frame: RequestFrame, caller: Caller) -> bytes:
        return await self.link.forward(frame, caller)

    def _requests(self) -> ControllerRequests:
        """Return the handlers of the requests that the controller sends."""
        return ControllerRequests(
            self._replicas,
            self._cluster,
            broker_epoch=lambda: self.link.broker_epoch,
            changed=self._following.refresh,
            configured=self._configured,
            update_rights=self._authorization.update,
        )

    def _configured(self, configs: tuple[BrokerConfig, ...]) -> None:
        delay_ms = delete_stale_delay_ms(configs, self._options.delete_stale_delay_ms)
        self._replicas.stale.delay_ms = delay_ms
        self._is_configured.set()

    def _is_live(self, broker_id: int) -> bool:
        return self._cluster.address(broker_id) is not None

    async def _purge(self) -> None:
        """Remove stale folders periodically, once the controller has sent the delay."""
        await self._is_configured.wait()
        while True:
            await self._replicas.stale.purge(now_ms())
            await asyncio.sleep(_PURGE_S)


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
    raise RequestError(
        "INVALID_REQUEST", f"{name} is not a listener of this broker; its listeners: {names}"
    )


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
