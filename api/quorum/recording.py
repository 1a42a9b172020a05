"""Records a quorum into a mirror; after a gap, the recording goes on in a new part."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from api.clients.client import server_address
from api.quorum.cluster_id import cluster_id_of
from api.quorum.leaders import Address
from api.quorum.logged_addresses import addresses_in, logged_addresses
from api.quorum.observer import Observer
from api.quorum.reading import BehindLogStartError, Progress, Reading, begin, begin_next_part
from api.security.client import ClientSecurity
from metadata_log.files.fs import OsFs
from metadata_log.files.names import MANIFEST
from metadata_log.format.manifest import read_manifest
from metadata_log.format.parts import EarlierPart
from metadata_log.kraft.next_part import take_up_part
from metadata_log.kraft.observed_mirror import ObservedMirror
from metadata_log.limits import RECORD_RETRY_INTERVAL_MS_MAX
from records.envelope import Envelope
from records.errors import RequestError, UnavailableError

log_ = logging.getLogger(__name__)

T = TypeVar("T")

Read = Callable[[Reading, ObservedMirror], Awaitable[T]]
"""Reads a quorum into a mirror, as far as the caller wants."""

_OTHER_LEADER_S = 1.0
"""Pause before a new leader is asked, which still has records that the old leader had removed."""


def _no_bar() -> AbstractContextManager[Progress]:
    return nullcontext(lambda done, total: None)


async def recorded(
    observer: Observer,
    log: Path,
    cluster_id: str,
    read: Read[T],
    *,
    gap_begun: Callable[[EarlierPart], None],
    collapse_noops: bool = True,
    taken: Callable[[Sequence[Envelope]], None] = lambda rows: None,
    snapshot_bar: Callable[[], AbstractContextManager[Progress]] = _no_bar,
) -> T:
    """Create the mirror if there is none, and record the quorum; after a gap, in a new part.

    Args:
        observer: Asks the quorum; also learns the controllers' addresses from the log.
        read: Reads the quorum into the open mirror; called again for each new part.
        gap_begun: Called at a gap, with the part that ended there.
        taken: Called with the records of each batch.
        snapshot_bar: Shows how much of a snapshot was read.

    Raises:
        MetadataLogError: as `begin`, `Reading.step` and `take_up_part`.
    """

    def learn(rows: Sequence[Envelope]) -> None:
        for node_id, address in addresses_in(row.payload for row in rows):
            observer.leaders.learn(node_id, address)
        taken(rows)

    take_up(log, gap_begun)
    while True:
        with snapshot_bar() as bar:
            await begin(observer, log, cluster_id, bar)
        for node_id, address in logged_addresses(log).items():
            observer.leaders.learn(node_id, address)
        try:
            with ObservedMirror(log, collapse_noops=collapse_noops, taken=learn) as mirror:
                return await read(Reading(observer, mirror), mirror)
        except BehindLogStartError as error:
            log_.info("%s", error)
        with snapshot_bar() as bar:
            begun = await begin_next_part(observer, log, bar)
        if begun:
            take_up(log, gap_begun)
        else:
            await asyncio.sleep(_OTHER_LEADER_S)


def take_up(log: Path, gap_begun: Callable[[EarlierPart], None]) -> None:
    """Put the next part of a recording in place as the log, if one was prepared.

    `gap_begun` is then called with the part that ended.
    """
    last = take_up_part(log)
    if last is not None:
        gap_begun(last)


async def patient_step(reading: Reading, mirror: ObservedMirror) -> None:
    """Take one answer; while the disk is full, wait and ask for the same records again.

    Raises:
        MetadataLogError: as `Reading.step`; UnavailableError: the mirror must be opened again.
    """
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


async def cluster_id_for(
    log: Path, given: str | None, brokers: str | None, security: ClientSecurity
) -> str | None:
    """Return the cluster's id: that of the mirror, else `given`, else the one that a broker gives.

    Args:
        brokers: URL of a broker.

    Returns:
        None if there is no mirror, and neither an id nor a broker is given.

    Raises:
        RequestError: the mirror is of another cluster than the one given.
        UnavailableError: the broker does not answer.
    """
    if (log / MANIFEST).exists():
        known = read_manifest(OsFs(), log).cluster_id
        if given and given != known:
            raise RequestError(
                "INCONSISTENT_CLUSTER_ID",
                f"{log} mirrors cluster {known!r}; import cluster {given!r} into a LOG of its own",
            )
        return known
    if given or not brokers:
        return given or None
    at = server_address(brokers)
    return await cluster_id_of(at, security.used_with(at.protocol))


def mapped_address(text: str) -> tuple[int, Address]:
    """Parse ID=HOST:PORT.

    Raises:
        RequestError: INVALID_REQUEST, the text has another form.
    """
    node_id, separator, address = text.partition("=")
    wrong = RequestError("INVALID_REQUEST", f"{text!r} is not ID=HOST:PORT")
    if not separator or not node_id.isdecimal():
        raise wrong
    try:
        at = server_address(address)
    except RequestError:
        raise wrong from None
    return int(node_id), (at.host, at.port)
