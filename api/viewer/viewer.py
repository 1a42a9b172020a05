"""Shows logs over HTTP, from the start of the process to its end."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import PurePath

import msgspec

from api.http.metrics import Sources
from api.http.server import HttpServer
from api.http.shared_state import SharedState
from api.http.site import path_of
from api.transport.connections import Connections
from api.transport.descriptors import raise_descriptor_limit
from api.transport.renewal import renewed_by_signal
from api.transport.shutdown import first_of, stopped_by_signal
from api.viewer.first_answers import FirstAnswers
from api.viewer.options import ViewedLog, ViewOptions, ViewReady
from api.viewer.shown_log import ShownLog, error_text
from controller.decisions.context.context import Settings
from metadata_log.reader.log_reader import LogReader
from records.errors import MetadataLogError

_SWITCH_S = 0.0005
"""How long the thread that reads a log runs while a request waits for it. With Python's 5 ms, each
request of a page that is opened meanwhile takes so much longer."""


async def show_until_stopped(
    options: ViewOptions,
    first: FirstAnswers | None,
    ready: Callable[[ViewReady], None],
    advance: Callable[[int], None],
    loaded: Callable[[], None],
) -> None:
    """Show logs until SIGTERM or SIGINT; arguments and errors as for `view_until_stopped`.

    Args:
        first: The answers of a single log that were begun.
    """
    sys.setswitchinterval(_SWITCH_S)
    with stopped_by_signal() as stop, renewed_by_signal() as renewal:
        async with _listening(options) as (http, shown):
            renewal.add(http.read_again)
            renewal.begin()
            is_only = len(shown) == 1
            found = await asyncio.gather(
                *[asyncio.to_thread(_found, log, options, is_only) for log in shown]
            )
            ready(ViewReady(http=http.address, logs=tuple(found)))
            if not is_only:
                await first_of(stop.wait(), *[log.keep_up() for log in shown])
                return
            opened = asyncio.ensure_future(shown[0].open(advance, first))
            await first_of(stop.wait(), asyncio.wait([opened]))
            if stop.is_set():
                return
            opened.result()
            loaded()
            await first_of(stop.wait(), shown[0].keep_up())


def _found(log: ShownLog, options: ViewOptions, is_only: bool) -> ViewedLog:
    """Return the path at which a log is shown, and the log's end."""
    link = "" if options.range is None else options.range.link
    found = ViewedLog(log=log.place, path=f"/{link}" if is_only else path_of(log.name))
    try:
        with LogReader.open(log.place) as reader:
            return msgspec.structs.replace(
                found, cluster_id=reader.cluster_id, log_end=reader.end_offset
            )
    except (MetadataLogError, OSError) as error:
        if is_only:
            raise
        return msgspec.structs.replace(found, error=error_text(error))


@contextlib.asynccontextmanager
async def _listening(options: ViewOptions) -> AsyncIterator[tuple[HttpServer, list[ShownLog]]]:
    connections = Connections.within(raise_descriptor_limit(), options.http.connections_max)
    named = names_of(options.logs)
    http = await HttpServer.listen(
        options.http, connections, options.security, named, options.around
    )
    sources = Sources(connections=connections.counts)
    try:
        async with shown_logs(named, http.states, sources, options.settings) as shown:
            yield http, shown
    finally:
        await http.close()


@contextlib.asynccontextmanager
async def shown_logs(
    named: Mapping[str, str],
    states: Mapping[str, SharedState],
    sources: Sources,
    settings: Settings,
) -> AsyncIterator[list[ShownLog]]:
    """Yield the named logs, not loaded yet, in the order given; close them afterwards."""
    shown = [ShownLog(name, log, states[name], sources, settings) for name, log in named.items()]
    try:
        yield shown
    finally:
        for each in shown:
            await each.close()


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
