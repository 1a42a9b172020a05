"""Runs `import kafka://...`: reads a quorum's log over the network, once or until stopped."""

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from api.cli.log.recorder import Report
from api.cli.options.parameters import bad_parameter
from api.cli.source.gaps import gap_text
from api.cli.terminal.output import print_json_line, warn
from api.cli.terminal.progress_bar import progress
from api.clients.client import ServerAddress, server_address, server_addresses
from api.documents.recorder import GapLine
from api.quorum.cluster_id import cluster_id_of
from api.quorum.logged_addresses import addresses_in, logged_addresses
from api.quorum.observer import Observer
from api.quorum.reading import BehindLogStartError, Reading, begin, begin_next_part
from api.security.client import ClientSecurity, ConnectionSecurity
from metadata_log.files.fs import OsFs
from metadata_log.files.names import MANIFEST
from metadata_log.format.manifest import read_manifest
from metadata_log.kraft.importer import ImportResult
from metadata_log.kraft.next_part import take_up_part
from metadata_log.kraft.observed_mirror import ObservedMirror
from metadata_log.limits import RECORD_RETRY_INTERVAL_MS_MAX
from records.envelope import Envelope
from records.errors import RequestError, UnavailableError

log_ = logging.getLogger(__name__)

_GIVE_UP_S = 30.0
"""Longer than an election takes, or a controller to start again."""

_OTHER_LEADER_S = 1.0
"""Pause before a leader is asked again that has the records which the one before it had removed."""


def import_quorum(
    source: str,
    log: Path,
    *,
    cluster_id: str | None,
    brokers: str | None,
    mapped: Sequence[str],
    collapse_noops: bool,
    follow: bool,
    json: bool,
) -> ImportResult | None:
    """Read a quorum's log into a mirror; arguments as those of the command.

    Returns:
        The result; None if it followed the quorum until it was stopped.

    Raises:
        typer.BadParameter: the cluster is not named, or an address is malformed.
        MetadataLogError: as `Reading.step`.
    """
    addresses = server_addresses(source)
    by_id = mapped_addresses(mapped)

    async def run() -> ImportResult | None:
        _take_up(log, json=json and follow)
        known = await _cluster_id(log, cluster_id, brokers)
        observer = Observer(
            [(each.host, each.port) for each in addresses],
            cluster_id=known,
            security=security_of(addresses[0]),
            mapped=by_id,
            give_up_s=_GIVE_UP_S,
        )
        async with observer:
            while True:
                with ExitStack() as bars:
                    await begin(observer, log, known, _bar(bars, "reading the snapshot"))
                try:
                    return await _read(
                        observer, log, collapse_noops=collapse_noops, follow=follow, json=json
                    )
                except BehindLogStartError as error:
                    log_.info("%s", error)
                with ExitStack() as bars:
                    begun = await begin_next_part(observer, log, _bar(bars, "reading the snapshot"))
                if begun:
                    _take_up(log, json=json and follow)
                else:
                    await asyncio.sleep(_OTHER_LEADER_S)

    return asyncio.run(run())


async def _read(
    observer: Observer, log: Path, *, collapse_noops: bool, follow: bool, json: bool
) -> ImportResult | None:
    """Read on where the mirror ends; arguments and result as of `import_quorum`."""
    learn = observer.leaders.learn
    for node_id, address in logged_addresses(log).items():
        learn(node_id, address)

    def taken(rows: Sequence[Envelope]) -> None:
        for node_id, address in addresses_in(row.payload for row in rows):
            learn(node_id, address)

    with ObservedMirror(log, collapse_noops=collapse_noops, taken=taken) as mirror:
        reading = Reading(observer, mirror)
        if follow:
            observer.give_up_s = None
            await _follow(reading, mirror, json=json)
            return None
        with ExitStack() as bars:
            await _catch_up(reading, mirror, _bar(bars, "reading"))
        return mirror.result()


def _take_up(log: Path, *, json: bool) -> None:
    """Complete the next part of the recording, if one was prepared, and say so."""
    last = take_up_part(log)
    if last is None:
        return
    if json:
        print_json_line(GapLine(gap=last.gap, earlier_part=last.folder))
        return
    before = log.resolve().with_name(last.folder)
    warn(f"{gap_text(last.gap)}; what was recorded before is in {before}")


def mapped_addresses(texts: Sequence[str]) -> dict[int, tuple[str, int]]:
    """Parse what --map gives; raises typer.BadParameter."""
    return dict(_mapped(text) for text in texts)


def security_of(address: ServerAddress) -> Callable[[], ConnectionSecurity]:
    """Return a function that reads the client's settings anew, for each connection."""
    return lambda: ClientSecurity.of_environment().used_with(address.protocol)


async def _catch_up(
    reading: Reading, mirror: ObservedMirror, advance: Callable[[int, int], None]
) -> None:
    while not reading.is_caught_up:
        await reading.step()
        if reading.goal is not None:
            advance(mirror.fetch_offset, reading.goal)
    mirror.write()


async def _follow(reading: Reading, mirror: ObservedMirror, *, json: bool) -> None:
    """Read until SIGTERM or SIGINT; then write what was read."""
    report = Report(mirror, json=json)
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        while True:
            await _step(reading, mirror)
            report.update()
    except asyncio.CancelledError:
        mirror.write()
    finally:
        report.end()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def _step(reading: Reading, mirror: ObservedMirror) -> None:
    """Take an answer; if the disk is full, wait and ask again for what could not be written."""
    failures = 0
    while True:
        try:
            return await reading.step()
        except UnavailableError as error:
            if not mirror.is_usable:
                raise
            failures += 1
            if failures == 1:
                log_.warning("%s; trying again", error)
            await asyncio.sleep(min(2**failures, RECORD_RETRY_INTERVAL_MS_MAX / 1_000))


async def _cluster_id(log: Path, given: str | None, brokers: str | None) -> str:
    """Return the cluster's id: that of the mirror, or one that was given, or that of a broker."""
    if (log / MANIFEST).exists():
        known = read_manifest(OsFs(), log).cluster_id
        if given and given != known:
            raise RequestError(
                "INCONSISTENT_CLUSTER_ID",
                f"{log} mirrors cluster {known!r}; import cluster {given!r} into a LOG of its own",
            )
        return known
    if given:
        return given
    if brokers:
        at = server_address(brokers)
        return await cluster_id_of(at, ClientSecurity.of_environment().used_with(at.protocol))
    raise bad_parameter(
        "say which cluster it is: --cluster-id ID (cluster.id in a node's meta.properties), or "
        "--brokers HOST:PORT to ask a broker; controllers do not tell it",
        param_hint="--cluster-id",
    )


def _mapped(text: str) -> tuple[int, tuple[str, int]]:
    node_id, separator, address = text.partition("=")
    at = _address(address) if separator and node_id.isdecimal() else None
    if at is None:
        raise bad_parameter(f"{text!r} is not ID=HOST:PORT", param_hint="--map")
    return int(node_id), (at.host, at.port)


def _address(text: str) -> ServerAddress | None:
    try:
        return server_address(text)
    except RequestError:
        return None


def _bar(bars: ExitStack, what: str) -> Callable[[int, int], None]:
    """Return a function that shows how much of a total is done; the bar begins with its first
    call.
    """
    advance: Callable[[int], None] | None = None

    def show(done: int, total: int) -> None:
        nonlocal advance
        if advance is None:
            advance = bars.enter_context(progress(what, 0, total))
        advance(done)

    return show
