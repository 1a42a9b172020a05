"""Appends to PostgreSQL while another application holds a snapshot, compared with none.

Two servers are used in turn. On one of them a transaction in REPEATABLE READ stays open, so that
PostgreSQL must keep all versions of rows from its begin on. Nodes change rows only to renew the
lease and to register: an hour's worth of that is spread over the bench. Appends are as fast as they
can be.
"""

import asyncio
import contextlib
import secrets
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
from sqlalchemy import URL

from api.nodes.stores import open_store
from benchmarks.harness import Result, rate_result
from benchmarks.nodes.postgres import database, servers
from benchmarks.nodes.throughput import CALLERS
from benchmarks.socket_append import OverSocket
from metadata_log.shared.shared_log import EMPTY, NONCE_SIZE, Lease

SECONDS = 60.0
"""Few enough for a run of all benches."""

_APPENDS = 2_000
_WARM_UPS = 2
_LOSS_MAX = 0.2
_RENEWALS = 3_600
"""In an hour: a lease of 3 s is renewed once a second."""
_NODES = 3
_REGISTER_EVERY = 5
"""Renewals in the time in which each node registers once."""
_CONTENT = bytes(500)
"""What nodes say of themselves: about as long."""


class _Server:
    """A server with a bare log that leads; `renew` changes what nodes change besides.

    Attributes:
        rates: Appends per second of each round.
        renewals_s: Times of a renewal, means of each round.
    """

    def __init__(self, url: str, log: OverSocket) -> None:
        self._log = log
        self._runner = asyncio.Runner()
        self._store = self._runner.run(open_store(url))
        self._lease: Lease | None = None
        self._renewals = 0
        self.url = url
        self.rates: list[float] = []
        self.renewals_s: list[float] = []

    def append(self) -> None:
        """Append by all callers."""
        start = time.perf_counter()
        self._log.append(_APPENDS, callers=CALLERS)
        self.rates.append(_APPENDS / (time.perf_counter() - start))

    def renew(self, until: int) -> None:
        """Renew the lease and register nodes, until the lease was renewed so often in all."""
        count = until - self._renewals
        took_s = [self._runner.run(self._renew()) for _ in range(count)]
        if took_s:
            self.renewals_s.append(statistics.mean(took_s))

    def close(self) -> None:
        """Disconnect."""
        self._runner.run(self._store.close())
        self._runner.close()

    async def _renew(self) -> float:
        renewed = Lease(
            node_id=1,
            process=bytes(NONCE_SIZE),
            nonce=secrets.token_bytes(NONCE_SIZE),
            duration_ms=3_000,
            proven=EMPTY,
            content=_CONTENT,
        )
        start = time.perf_counter()
        assert await self._store.renew(renewed, instead_of=self._lease)
        took_s = time.perf_counter() - start
        self._lease = renewed
        self._renewals += 1
        if self._renewals % _REGISTER_EVERY == 0:
            for node in range(1, _NODES + 1):
                await self._store.register(node, _CONTENT)
        return took_s


def run(scratch: Path, seconds: float = SECONDS) -> list[Result]:
    """Measure both servers in turn for a time, and compare the last third of it.

    Args:
        seconds: How long the snapshot is held; with 3,600 nodes change rows at their real pace.
    """
    with contextlib.ExitStack() as stack:
        urls = stack.enter_context(servers(2))
        held, free = [stack.enter_context(_served(scratch, url)) for url in urls]
        for side in (held, free) * _WARM_UPS:
            side.append()
            side.renew(until=1)
        stack.enter_context(_snapshot(held.url))
        _run_in_turn((held, free), seconds)
    third = len(held.rates) // 3
    first, last = slice(_WARM_UPS, _WARM_UPS + third), slice(-third, None)
    name = f"append on PostgreSQL, a snapshot held for {seconds:,.0f} s / none"
    renewals_s = [statistics.median(side.renewals_s[last]) for side in (held, free)]
    return [
        _result(f"{name}, its first third", held, free, first),
        _result(f"{name}, its last third", held, free, last, 1 - _LOSS_MAX),
        Result(
            name=f"renewal of a lease, its last third, {_RENEWALS:,} renewals",
            ours=f"{renewals_s[0] * 1_000:.2f} ms",
            peer=f"{renewals_s[1] * 1_000:.2f} ms",
            ratio=renewals_s[0] / renewals_s[1],
        ),
    ]


def _run_in_turn(sides: Sequence[_Server], seconds: float) -> None:
    start = time.monotonic()
    while (passed_s := time.monotonic() - start) < seconds:
        for side in sides:
            side.renew(until=round(_RENEWALS * passed_s / seconds))
            side.append()


def _result(
    name: str, held: _Server, free: _Server, part: slice, target: float | None = None
) -> Result:
    return rate_result(name, held.rates[part], free.rates[part], target)


@contextlib.contextmanager
def _served(scratch: Path, server: URL) -> Iterator[_Server]:
    directory = scratch / f"beside-{server.port}"
    directory.mkdir()
    with (
        database(server) as url,
        OverSocket.bare(directory, url) as log,
        contextlib.closing(_Server(url, log)) as found,
    ):
        yield found


@contextlib.contextmanager
def _snapshot(url: str) -> Iterator[None]:
    """Hold a snapshot of a database, as a long report or `pg_dump` does."""
    with psycopg.connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM shared_group")
        yield
