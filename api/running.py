"""A service from its start to its clean end."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec

from api.kafka.broker_feed import RETRY_MS
from api.kafka.controller_listener import ControllerListener, ListenerSettings
from api.kafka.listener import Listener
from api.service import Service
from controller.decisions.context import Settings
from records.errors import FencedError


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a service is started with; port 0 lets the system choose."""

    log: Path
    host: str
    port: int
    advertised_host: str
    strict_modes: bool = False
    retry_ms: int = RETRY_MS
    settings: Settings = Settings()


async def serve_until_stopped(
    options: ServeOptions,
    ready: Callable[[dict[str, object]], None],
    loaded: Callable[[int], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then commit what was decided and give the log up.

    Args:
        ready: Called once requests are taken, with where.
        loaded: Called with the offset up to which the log was loaded, again and again.

    Raises:
        FencedError: the log was lost to another writer, or its disk has failed.
    """
    with stopped_by_signal() as stop:
        async with serving(options, loaded) as (service, listener):
            ready(_document(options, service, listener))
            await first_of(stop.wait(), service.lost())
        if not stop.is_set():
            raise FencedError(f"{options.log} can no longer be written by this process")


@contextlib.asynccontextmanager
async def serving(
    options: ServeOptions, loaded: Callable[[int], None] | None = None
) -> AsyncIterator[tuple[Service, Listener]]:
    """Run a service and its listener while the body runs."""
    service = await Service.open(options.log, settings=options.settings, progress=loaded)
    try:
        kafka = ControllerListener(
            service,
            ListenerSettings(
                advertised_host=options.advertised_host,
                strict_modes=options.strict_modes,
                retry_ms=options.retry_ms,
            ),
        )
        listener = await Listener.start(kafka.answering(), options.host, options.port)
        kafka.port = listener.port
        try:
            yield service, listener
        finally:
            await listener.close()
    finally:
        await service.close()


@contextlib.contextmanager
def stopped_by_signal() -> Iterator[asyncio.Event]:
    """Yield an event that SIGTERM and SIGINT set, instead of what they do by default."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def first_of(*waits: Coroutine[Any, Any, Any]) -> None:
    """Return when one of them does, and end the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _document(options: ServeOptions, service: Service, listener: Listener) -> dict[str, object]:
    return {
        "log": str(options.log),
        "cluster_id": service.settings.cluster_id,
        "leader_epoch": service.controller_epoch,
        "log_end": service.image.provenance.next_offset,
        "kafka": f"{options.host}:{listener.port}",
    }
