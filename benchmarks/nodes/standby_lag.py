"""Lag of a standby on PostgreSQL while 64 callers append through the leader.

A sample begins when the leader's acknowledgement of an append arrives. The client then asks the
standby a question that must include this append, and the sample ends with the answer. So it has
the question's own time in it. Samples begin at fixed times, whether earlier ones have ended or not.
"""

import asyncio
import statistics
from pathlib import Path

from api.nodes.stores import create_shared_log
from api.socket.client import SocketClient
from benchmarks.harness import Result
from benchmarks.nodes.postgres import database, servers
from benchmarks.nodes.processes import Node, leader_of, stopped_at_last
from benchmarks.nodes.throughput import CALLERS
from benchmarks.peers.server_process import LOOPBACK
from benchmarks.socket_serve import changes
from controller.descriptions.topics import ListTopics
from metadata_log.writer.creation import create_log

_WARM_UP_S = 2.0
_SECONDS = 10.0
_SAMPLE_EVERY_S = 0.01
_MAX_MS = 25


def run(scratch: Path) -> list[Result]:
    """Measure one leader and one standby."""
    with servers() as (server,), database(server) as url:
        lags_s, appends = asyncio.run(_measured(scratch, url))
    percentiles = statistics.quantiles(lags_s, n=100)
    median_ms, most_ms = (percentiles[percent - 1] * 1_000 for percent in (50, 99))
    rate = f"{appends / _SECONDS:,.0f}/s"
    return [
        Result(
            name=f"lag of a standby while {CALLERS} callers append {rate}, 99 % (median)",
            ours=f"{most_ms:.1f} ms ({median_ms:.1f} ms)",
            peer=f"{_MAX_MS} ms",
            ratio=most_ms / _MAX_MS,
            target=1.0,
            at_most=True,
        )
    ]


class _Samples:
    """Appends by all callers, and samples of the standby's lag."""

    def __init__(self, leader: SocketClient, standby: SocketClient) -> None:
        self._leader, self._standby = leader, standby
        self._changes = changes(1)
        self._due: list[asyncio.Future[tuple[int, float]]] = []
        self.appends = 0
        self.lags_s: list[float] = []

    async def append(self) -> None:
        """Append one change after the other, without end."""
        time = asyncio.get_running_loop().time
        for batch in self._changes:
            result = await self._leader.append(batch)
            self.appends += 1
            while self._due:
                self._due.pop().set_result((result.end_offset - 1, time()))

    async def sample(self) -> None:
        """Take one sample."""
        acknowledged: asyncio.Future[tuple[int, float]] = asyncio.Future()
        self._due.append(acknowledged)
        offset, at = await acknowledged
        await self._standby.page("topics list", ListTopics(), min_offset=offset)
        self.lags_s.append(asyncio.get_running_loop().time() - at)


async def _measured(scratch: Path, url: str) -> tuple[list[float], int]:
    nodes = [Node(scratch, url, number) for number in (1, 2)]
    create_log(nodes[0].folder, "standby-lag")
    await create_shared_log(url, nodes[0].folder)
    with stopped_at_last(nodes):
        for node in nodes:
            node.start()
        leader = await leader_of(url, nodes)
        (standby,) = [node for node in nodes if node is not leader]
        async with (
            await SocketClient.connect(LOOPBACK, leader.port) as writing,
            await SocketClient.connect(LOOPBACK, standby.port) as reading,
        ):
            samples = _Samples(writing, reading)
            async with asyncio.TaskGroup() as group:
                callers = [group.create_task(samples.append()) for _ in range(CALLERS)]
                await asyncio.sleep(_WARM_UP_S)
                samples.appends = 0
                await _sample(samples)
                appends = samples.appends
                for caller in callers:
                    caller.cancel()
        return samples.lags_s, appends


async def _sample(samples: _Samples) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(round(_SECONDS / _SAMPLE_EVERY_S)):
            group.create_task(samples.sample())
            await asyncio.sleep(_SAMPLE_EVERY_S)
