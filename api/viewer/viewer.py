"""Shows logs over HTTP, from the start of the process to its end."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import PurePath

import msgspec

from api.http.metrics import Sources
from api.http.options import HttpOptions
from api.http.server import HttpServer
from api.http.site import path_of
from api.security.options import SecurityOptions
from api.transport.connections import Connections
from api.transport.descriptors import raise_descriptor_limit
from api.transport.renewal import renewed_by_signal
from api.transport.shutdown import first_of, stopped_by_signal
from api.viewer.shown_log import ShownLog
from controller.decisions.context.context import Settings
from records.errors import MetadataLogError


class ViewOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a view.

    Attributes:
        logs: Directories, and URLs of archives and backups, as the command line names them.
    """

    logs: tuple[str, ...]
    http: HttpOptions
    security: SecurityOptions = SecurityOptions()
    settings: Settings = Settings()


class ViewedLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log that is shown.

    Attributes:
        path: Of its page.
        cluster_id, log_end: None if it cannot be read; `error` says why.
    """

    log: str
    path: str
    cluster_id: str | None = None
    log_end: int | None = None
    error: str | None = None


class ViewReady(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown, and where."""

    http: str
    logs: tuple[ViewedLog, ...]


async def view_until_stopped(
    options: ViewOptions,
    ready: Callable[[ViewReady], None],
    loaded: Callable[[int], None] | None = None,
) -> None:
    """Show logs until SIGTERM or SIGINT.

    A single log that cannot be read ends this; of several, the list says so, and each is tried
    again.

    Args:
        ready: Called once all logs were loaded.
        loaded: Called, in a thread, with the offset up to which a single log was loaded.

    Raises:
        MetadataLogError: as `ViewService.load`, of a single log; later errors are reported in
            answers.
        UnavailableError: the address is in use.
    """
    with stopped_by_signal() as stop, renewed_by_signal() as renewal:
        async with _listening(options) as (http, shown):
            renewal.add(http.read_again)
            renewal.begin()
            opened = asyncio.gather(*[_opened(log, shown, loaded) for log in shown])
            await first_of(stop.wait(), _done(opened))
            if stop.is_set():
                return
            ready(ViewReady(http=http.address, logs=tuple(opened.result())))
            await first_of(stop.wait(), *[log.keep_up() for log in shown])


async def _done(opened: "asyncio.Future[list[ViewedLog]]") -> None:
    await asyncio.wait([opened])


async def _opened(
    log: ShownLog, shown: Sequence[ShownLog], loaded: Callable[[int], None] | None
) -> ViewedLog:
    is_only = len(shown) == 1
    found = ViewedLog(log=log.place, path="/" if is_only else path_of(log.name))
    try:
        service = await log.open(loaded if is_only else None)
    except (MetadataLogError, OSError) as error:
        if is_only:
            raise
        log.failed(error)
        return msgspec.structs.replace(found, error=str(error))
    return msgspec.structs.replace(
        found,
        cluster_id=service.settings.cluster_id,
        log_end=service.image.provenance.next_offset,
    )


@contextlib.asynccontextmanager
async def _listening(options: ViewOptions) -> AsyncIterator[tuple[HttpServer, list[ShownLog]]]:
    connections = Connections.within(raise_descriptor_limit(), options.http.connections_max)
    named = names_of(options.logs)
    http = await HttpServer.listen(options.http, connections, options.security, named)
    sources = Sources(connections=connections.counts)
    shown = [
        ShownLog(name, place, http.states[name], sources, options.settings)
        for name, place in named.items()
    ]
    try:
        yield http, shown
    finally:
        for log in shown:
            await log.close()
        await http.close()


def names_of(logs: Sequence[str]) -> dict[str, str]:
    """Return logs by short names: the last part of each place, with a number if it is not unique.

    A log that is given twice is shown once.
    """
    named: dict[str, str] = {}
    for log in dict.fromkeys(logs):
        # Of `.` and the like, the name of the directory.
        last = PurePath(log if "://" in log else os.path.abspath(log)).name or "log"
        name, number = last, 2
        while name in named:
            name, number = f"{last}-{number}", number + 1
        named[name] = log
    return named
