"""The broker process: startup, background tasks, shutdown."""

import asyncio
import logging
from collections.abc import Callable

import msgspec
from msgspec import UNSET, UnsetType

from api.broker.broker import running_broker
from api.broker.controller_link import ControllerLink
from api.broker.disk import Disk
from api.broker.options import BrokerOptions
from api.clients.client import MetadataClient, server_addresses
from api.transport.descriptors import raise_descriptor_limit
from api.transport.renewal import renewed_by_signal
from api.transport.shutdown import first_of, stopped_by_signal
from records.errors import RequestError, UnavailableError

log = logging.getLogger(__name__)

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

        def joined(ports: list[int], link: ControllerLink) -> None:
            ready(_ready(options, cluster_id, ports, link))

        async with running_broker(options, cluster_id, disk, joined, renewal) as (link, background):
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
        RequestError: the URL or a file is wrong, or the broker's authentication fails; or
            INCONSISTENT_CLUSTER_ID, the service is of another cluster than the options say.
    """
    server_addresses(options.server)
    said = ""
    while not stop.is_set():
        try:
            connecting = MetadataClient.connect(options.server, security=options.client)
            async with await connecting as client:
                found = (await client.metadata(())).cluster_id
                _check_cluster(options, found)
                return found
        except UnavailableError as error:
            if str(error) != said:
                said = str(error)
                log.warning("waiting for the service: %s", error)
            await asyncio.sleep(_FIND_AGAIN_S)
    return None


def _check_cluster(options: BrokerOptions, found: str | None) -> None:
    if options.cluster_id not in (None, found):
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"the service at {options.server} is of the cluster {found}, not of "
            f"{options.cluster_id}; nothing was registered; check --server and --cluster-id",
        )


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
