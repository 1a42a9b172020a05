"""Runs `import kafka://...`: reads a quorum's log over the network, once or until stopped."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from api.cli.log.recorder import Report
from api.cli.options.parameters import bad_parameter
from api.cli.source.gaps import gap_text
from api.cli.terminal import event_loop
from api.cli.terminal.output import print_json_line, warn
from api.cli.terminal.progress_bar import progress
from api.clients.client import ServerAddress, server_addresses
from api.documents.recorder import GapLine
from api.quorum.leaders import Address
from api.quorum.observer import Observer
from api.quorum.reading import Reading
from api.quorum.recording import cluster_id_for, mapped_address, patient_step, recorded, take_up
from api.security.client import ClientSecurity, ConnectionSecurity
from metadata_log.format.parts import EarlierPart
from metadata_log.kraft.importer import ImportResult
from metadata_log.kraft.observed_mirror import ObservedMirror
from records.errors import RequestError

_GIVE_UP_S = 30.0
"""Maximum time to look for a leader: longer than an election or a restart takes."""

_NO_CLUSTER_ID = (
    "say which cluster it is: --cluster-id ID (cluster.id in a node's meta.properties), or "
    "--brokers HOST:PORT to ask a broker; controllers do not tell it"
)


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
    """Read a quorum's log into a mirror; the arguments are those of the command.

    Returns:
        The result; None if it followed the quorum until it was stopped.

    Raises:
        typer.BadParameter: the cluster is not named, or an address is malformed.
        MetadataLogError: as `Reading.step`.
    """
    addresses = server_addresses(source)
    by_id = mapped_addresses(mapped)

    def gap_begun(last: EarlierPart) -> None:
        if json and follow:
            print_json_line(GapLine(gap=last.gap, earlier_part=last.folder))
            return
        before = log.resolve().with_name(last.folder)
        warn(f"{gap_text(last.gap)}; what was recorded before is in {before}")

    async def run() -> ImportResult | None:
        take_up(log, gap_begun)
        security = ClientSecurity.of_environment()
        known = await cluster_id_for(log, cluster_id, brokers, security)
        if known is None:
            raise bad_parameter(_NO_CLUSTER_ID, param_hint="--cluster-id")
        observer = Observer(
            [(each.host, each.port) for each in addresses],
            cluster_id=known,
            security=security_of(addresses[0]),
            mapped=by_id,
            give_up_s=_GIVE_UP_S,
        )

        async def read(reading: Reading, mirror: ObservedMirror) -> ImportResult | None:
            if follow:
                observer.give_up_s = None
                await _follow(reading, mirror, json=json)
                return None
            with _bar("reading") as advance:
                await _catch_up(reading, mirror, advance)
            return mirror.result()

        async with observer:
            return await recorded(
                observer,
                log,
                known,
                read,
                gap_begun=gap_begun,
                collapse_noops=collapse_noops,
                snapshot_bar=partial(_bar, "reading the snapshot"),
            )

    return event_loop.run_long(run())


def mapped_addresses(texts: Sequence[str]) -> dict[int, Address]:
    """Parse the values of --map; raises typer.BadParameter."""
    try:
        return dict(map(mapped_address, texts))
    except RequestError as error:
        raise bad_parameter(str(error), param_hint="--map") from None


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
    """Read until SIGTERM or SIGINT; then write the records that were read."""
    report = Report(mirror, json=json)
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        while True:
            await patient_step(reading, mirror)
            report.update()
    except asyncio.CancelledError:
        mirror.write()
    finally:
        report.end()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows progress, as done and total, in a bar from its first call on."""
    with ExitStack() as bars:
        advance: Callable[[int], None] | None = None

        def show(done: int, total: int) -> None:
            nonlocal advance
            if advance is None:
                advance = bars.enter_context(progress(what, 0, total))
            advance(done)

        yield show
