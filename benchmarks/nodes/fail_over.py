"""Fail-over of three nodes over one PostgreSQL: the longest pause of an append, in wall time.

One client appends all the time. In turn the leader is killed, and asked to hand over by SIGTERM;
each comes back before the next turn. With partitions, the log begins with so many, and its window
of requests, which a new leader reads, is full.
"""

import asyncio
import contextlib
import itertools
import signal
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path

from api.clients.reconnecting_client import ReconnectingClient
from api.nodes.stores import create_shared_log
from benchmarks.harness import Result
from benchmarks.nodes.postgres import database, servers
from benchmarks.nodes.processes import LEASE_MS, START_TIMEOUT_S, Node, leader_of, stopped_at_last
from benchmarks.partitions_log import write_partitions_log
from benchmarks.unsynced_fs import UnsyncedFs
from metadata_log.format.batch import NewBatch
from metadata_log.limits import PENDING_BATCHES_MAX, REQUEST_WINDOW_OFFSETS
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoOpRecord
from records.envelope import Origin

_NODES = 3
_ROUNDS = 5
_ROUNDS_WITH_PARTITIONS = 2
_KILLED_MAX_S = 4.0
_HANDED_OVER_MAX_S = 0.25
_KILLED_MAX_S_WITH_PARTITIONS = 5.0
_HANDED_OVER_MAX_S_WITH_PARTITIONS = 0.5
_PARTITIONS_A_SECOND = 20_000
"""That a busy machine starts, at least."""
_AFTER_S = 2.0
"""How long appends go on after the fault, at least twice a lease when a leader was killed."""


class _Appends:
    """A client that appends one record after the other; `times` are those of its answers."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.times: list[float] = []

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with ReconnectingClient(self._url) as client:
            task = asyncio.create_task(self._run(client))
            try:
                yield
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _run(self, client: ReconnectingClient) -> None:
        for number in itertools.count():
            # A request that had no answer is sent again with its id: it is carried out once.
            await client.append(_request(f"request-{number}"))
            self.times.append(time.monotonic())

    def longest_pause_s(self, since: float) -> float:
        """Return the longest time between two answers, from the last one before `since` on."""
        first = max(i for i, at in enumerate(self.times) if at <= since)
        return max(later - at for at, later in itertools.pairwise(self.times[first:]))


def run(scratch: Path, partitions: int = 0) -> list[Result]:
    """Measure pauses after kills and hand-overs.

    Args:
        partitions: Of the log, made before; targets are those for 2,000,000 unless it is 0.
    """
    with servers() as (server,), database(server) as url:
        killed, handed_over = asyncio.run(_measured(scratch, url, partitions))
    lease = f"lease {LEASE_MS / 1_000:.0f} s"
    if not partitions:
        return [
            _result(f"leader killed, {lease}", killed, _KILLED_MAX_S),
            _result("leader hands over", handed_over, _HANDED_OVER_MAX_S),
        ]
    at = f"at {partitions:,} partitions"
    return [
        _result(f"leader killed {at}, {lease}", killed, _KILLED_MAX_S_WITH_PARTITIONS),
        _result(f"leader hands over {at}", handed_over, _HANDED_OVER_MAX_S_WITH_PARTITIONS),
    ]


def _result(name: str, pauses_s: list[float], max_s: float) -> Result:
    median_s = statistics.median(pauses_s)
    return Result(
        name=f"{name}: longest pause of an append, median (worst)",
        ours=f"{median_s:.2f} s ({max(pauses_s):.2f} s)",
        peer=f"{max_s:g} s",
        ratio=median_s / max_s,
        target=1.0,
        at_most=True,
    )


async def _measured(scratch: Path, url: str, partitions: int) -> tuple[list[float], list[float]]:
    timeout_s = START_TIMEOUT_S + partitions / _PARTITIONS_A_SECOND
    nodes = [Node(scratch, url, number, timeout_s) for number in range(1, _NODES + 1)]
    if partitions:
        await _write_log(nodes[0].folder, partitions)
    else:
        create_log(nodes[0].folder, "fail-over")
    await create_shared_log(url, nodes[0].folder)
    appends = _Appends("socket://" + ",".join(node.socket for node in nodes))
    pauses: dict[signal.Signals, list[float]] = {signal.SIGKILL: [], signal.SIGTERM: []}
    with stopped_at_last(nodes):
        for node in nodes:
            node.start()
        await leader_of(url, nodes)
        async with appends.running():
            for _ in range(_ROUNDS_WITH_PARTITIONS if partitions else _ROUNDS):
                for sent, found in pauses.items():
                    leader = await leader_of(url, nodes)
                    await _answered(appends)
                    since = time.monotonic()
                    await asyncio.to_thread(leader.end, sent)
                    await _answered(appends)
                    await asyncio.sleep(_AFTER_S)
                    found.append(appends.longest_pause_s(since))
                    leader.start()
    return pauses[signal.SIGKILL], pauses[signal.SIGTERM]


async def _write_log(directory: Path, partitions: int) -> None:
    """Write a log of partitions, and then as many requests as a new leader has to know."""
    await write_partitions_log(directory, partitions)
    async with await MetadataLog.open(directory, fs=UnsyncedFs()) as log:
        requests = (_request(f"earlier-{number}") for number in range(REQUEST_WINDOW_OFFSETS))
        while some := list(itertools.islice(requests, PENDING_BATCHES_MAX)):
            await asyncio.gather(*[log.append(request) for request in some])


def _request(request_id: str) -> NewBatch:
    origin = Origin(principal="bench", command="append", request_id=request_id)
    return NewBatch(records=(NoOpRecord(),), origin=origin)


async def _answered(appends: _Appends) -> None:
    """Wait for answers to requests that were sent after this call."""
    count = len(appends.times)
    async with asyncio.timeout(START_TIMEOUT_S):
        while len(appends.times) < count + 2:
            await asyncio.sleep(0.01)
