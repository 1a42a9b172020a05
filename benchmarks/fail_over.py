"""Fail-over of three nodes over one PostgreSQL: the longest pause of an append, in wall time.

One client appends all the time. In turn the leader is killed, and asked to hand over by SIGTERM;
each comes back before the next turn.
"""

import asyncio
import contextlib
import itertools
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from api.clients.reconnecting_client import ReconnectingClient
from api.nodes.operations import look
from api.nodes.stores import create_shared_log
from benchmarks.harness import Result
from benchmarks.peers.server_process import LOOPBACK, free_port
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from records.control import NoOpRecord
from records.envelope import Origin
from records.errors import MetadataLogError

_NODES = 3
_ROUNDS = 5
_LEASE_MS = 3_000
_KILLED_MAX_S = 4.0
_HANDED_OVER_MAX_S = 0.25
_START_TIMEOUT_S = 120
_AFTER_S = 2.0
"""How long appends go on after the fault, at least twice a lease when a leader was killed."""


class _Node:
    """A node's process, which listens on the same ports whenever it runs."""

    def __init__(self, scratch: Path, url: str, number: int) -> None:
        self.number = number
        self.folder = scratch / f"node-{number}"
        self.socket = f"{LOOPBACK}:{free_port()}"
        self._url = url
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.folder.with_suffix(".txt").open("ab") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "api.cli", "serve", str(self.folder)),
                    *("--shared", self._url, "--node", str(self.number)),
                    *("--lease-ms", str(_LEASE_MS), "--kafka", f"{LOOPBACK}:0"),
                    *("--socket", self.socket, "--snapshot-every", "0"),
                ],
                stdout=output,
                stderr=output,
            )

    def end(self, sent: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(sent)
        self._process.wait()


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
            origin = Origin(principal="bench", command="append", request_id=f"request-{number}")
            # A request that had no answer is sent again with its id: it is carried out once.
            await client.append(NewBatch(records=(NoOpRecord(),), origin=origin))
            self.times.append(time.monotonic())

    def longest_pause_s(self, since: float) -> float:
        """Return the longest time between two answers, from the last one before `since` on."""
        first = max(i for i, at in enumerate(self.times) if at <= since)
        return max(later - at for at, later in itertools.pairwise(self.times[first:]))


def run(scratch: Path) -> list[Result]:
    """Measure pauses after kills and hand-overs."""
    from tests.postgres import new_database, postgres_server, text_of

    with postgres_server(durable=True) as server, new_database(server) as url:
        killed, handed_over = asyncio.run(_measured(scratch, text_of(url)))
    return [
        _result(f"leader killed, lease {_LEASE_MS / 1_000:.0f} s", killed, _KILLED_MAX_S),
        _result("leader hands over", handed_over, _HANDED_OVER_MAX_S),
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


async def _measured(scratch: Path, url: str) -> tuple[list[float], list[float]]:
    nodes = [_Node(scratch, url, number) for number in range(1, _NODES + 1)]
    create_log(nodes[0].folder, "fail-over")
    await create_shared_log(url, nodes[0].folder)
    appends = _Appends("socket://" + ",".join(node.socket for node in nodes))
    pauses: dict[signal.Signals, list[float]] = {signal.SIGKILL: [], signal.SIGTERM: []}
    for node in nodes:
        node.start()
    try:
        async with appends.running():
            for _ in range(_ROUNDS):
                for sent, found in pauses.items():
                    leader = await _leader(url, nodes)
                    await _answered(appends)
                    since = time.monotonic()
                    await asyncio.to_thread(leader.end, sent)
                    await _answered(appends)
                    await asyncio.sleep(_AFTER_S)
                    found.append(appends.longest_pause_s(since))
                    leader.start()
    finally:
        for node in nodes:
            node.end(signal.SIGTERM)
    return pauses[signal.SIGKILL], pauses[signal.SIGTERM]


async def _answered(appends: _Appends) -> None:
    """Wait for answers to requests that were sent after this call."""
    count = len(appends.times)
    async with asyncio.timeout(_START_TIMEOUT_S):
        while len(appends.times) < count + 2:
            await asyncio.sleep(0.01)


async def _leader(url: str, nodes: list[_Node]) -> _Node:
    """Wait until one node leads and all others stand by; return the leader."""
    async with asyncio.timeout(_START_TIMEOUT_S):
        while True:
            with contextlib.suppress(MetadataLogError):
                roles = {each.node: each.role for each in (await look(url)).nodes}
                standbys = [number for number, role in roles.items() if role == "standby"]
                leading = [node for node in nodes if roles.get(node.number) == "leader"]
                if leading and len(standbys) == _NODES - 1:
                    return leading[0]
            await asyncio.sleep(0.5)
