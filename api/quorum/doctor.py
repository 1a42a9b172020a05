"""Examines a quorum before it is recorded: which controllers answer, and what prevents recording.

Only this check can read without the cluster's id.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from api.documents.quorums import Examined, ExaminedController, ExaminedLog
from api.kafka.messages.records_io import FetchRequest, FetchResponse
from api.quorum.answers import Diverged, Fetched, SnapshotNeeded, fetch_answer
from api.quorum.controller import Controller
from api.quorum.first_batch import first_batch, sent_batch
from api.quorum.leaders import Address
from api.quorum.observer import Observer
from api.quorum.oldest_snapshot import oldest_snapshot
from api.quorum.requests import Position, fetch_request
from api.security.client import ConnectionSecurity
from records.errors import RequestError, UnavailableError

_RELEASES = {13: "3.1 to 3.4", 15: "3.5 or 3.6", 16: "3.7 or 3.8", 17: "3.9 or 4.0"}
"""Releases of Kafka by the newest version of Fetch that a controller takes."""

_LATER = "4.1 or later"
_NO_LEADER = "it knows no leader: an election goes on, or no majority of the controllers runs"
_TIMEOUT_S = 5.0
_BEYOND = 1 << 62

Security = Callable[[], ConnectionSecurity]


async def examine(
    addresses: Sequence[Address],
    security: Security,
    *,
    cluster_id: str | None,
    mapped: Mapping[int, Address],
    watch_s: float,
) -> Examined:
    """Examine each controller, then the leader's log; writes nothing.

    Args:
        cluster_id: The expected cluster id; None: it is not compared.
        watch_s: How long the growth of the log is watched, in seconds.
    """
    controllers = tuple([await _examined(each, security, cluster_id) for each in addresses])
    observer = Observer(
        addresses, cluster_id=cluster_id, security=security, mapped=mapped, give_up_s=_TIMEOUT_S
    )
    log, problem = None, None
    try:
        async with observer:
            log = await _log(observer, watch_s)
    except (RequestError, UnavailableError) as error:
        problem = str(error)
    is_ready = problem is None and all(each.problem is None for each in controllers)
    return Examined(ready=is_ready, controllers=controllers, log=log, problem=problem)


async def _examined(
    address: Address, security: Security, cluster_id: str | None
) -> ExaminedController:
    host, port = address
    name = f"{host}:{port}"
    release = None
    try:
        controller = await Controller.open(host, port, security(), _TIMEOUT_S)
        try:
            release = _RELEASES.get(controller.newest_fetch, _LATER)
            request = fetch_request(
                Position(),
                leader_epoch=0,
                version=controller.version_of(FetchRequest),
                cluster_id=cluster_id,
                max_wait_ms=0,
            )
            response = await controller.ask(request, FetchResponse, _TIMEOUT_S)
        finally:
            await controller.close()
        _, leader = fetch_answer(response, name)
    except (RequestError, UnavailableError) as error:
        return ExaminedController(address=name, release=release, problem=str(error))
    is_named = leader.node_id >= 0
    return ExaminedController(
        address=name,
        release=release,
        leader_id=leader.node_id if is_named else None,
        leader_epoch=leader.leader_epoch if is_named else None,
        problem=None if is_named else _NO_LEADER,
    )


async def _log(observer: Observer, watch_s: float) -> ExaminedLog:
    """Ask the leader where its log starts and ends, and how fast it grows."""
    first = await observer.fetch(Position(), max_wait_ms=0)
    end = await observer.fetch(Position(_BEYOND, observer.leaders.epoch), max_wait_ms=0)
    assert isinstance(first, Fetched | SnapshotNeeded), first
    start, is_snapshot = await _mirror_start(observer, first)
    oldest = await sent_batch(
        observer, Position(first.log_start_offset + 1, observer.leaders.epoch)
    )
    if not isinstance(end, Diverged):
        raise UnavailableError(f"{observer.node} does not tell where its log ends; try again")
    return ExaminedLog(
        address=observer.node,
        log_start=first.log_start_offset,
        log_start_timestamp=None if oldest is None else oldest.base_timestamp,
        log_end=end.end_offset,
        starts_from_snapshot=is_snapshot,
        mirror_start=start,
        bytes_per_day=await _bytes_per_day(observer, end, watch_s),
    )


async def _mirror_start(observer: Observer, first: Fetched | SnapshotNeeded) -> tuple[int, bool]:
    """Return where a new mirror would start, as `reading.begin`, and whether from a snapshot."""
    if isinstance(first, Fetched):
        return 0, False
    if not first.log_start_offset and (batch := await first_batch(observer)):
        return batch.base_offset, False
    return (await oldest_snapshot(observer, first)).end_offset, True


async def _bytes_per_day(observer: Observer, end: Diverged, watch_s: float) -> int:
    clock = asyncio.get_running_loop().time
    position, size_bytes, begun = Position(end.end_offset, end.leader_epoch), 0, clock()
    while clock() - begun < watch_s:
        answer = await observer.fetch(position)
        # What was appended meanwhile is sent again, so that no batch has to be read here.
        size_bytes = len(answer.records) if isinstance(answer, Fetched) else size_bytes
        if size_bytes:
            await asyncio.sleep(max(0.0, watch_s / 2))
    return round(size_bytes / (clock() - begun) * 86_400)
