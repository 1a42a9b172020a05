"""Appends by 64 callers to a log shared in PostgreSQL, compared with etcd and with a log alone.

All sides are used over one connection that the callers share, as in socket_append.py, and store the
same bytes. A bare log decides nothing, as etcd does not. The standbys, like etcd's members, run on
this machine: what is compared is the processor time of each way to replicate, and the syncs.
"""

import contextlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Protocol

from benchmarks.harness import Contender, Result, rate_result, rates_in_turn
from benchmarks.nodes.postgres import database, replicated_server, servers
from benchmarks.peers.etcd import Etcd
from benchmarks.peers.server_process import PeerMissing
from benchmarks.server_cost import Cost, cost_result
from benchmarks.socket_append import OverSocket
from benchmarks.socket_serve import changes
from benchmarks.sync_latency import SYNC, SyncedFile, sync_result

CALLERS = 64
_ROUNDS = 7
_APPENDS = 4_000
_ON_THREE_NODES = 2_000
_SHARED, _ALONE, _SERVED, _SERVED_ALONE = "shared", "alone", "served-shared", "served-alone"
_ETCD = "etcd"


def one_server(scratch: Path) -> list[Result]:
    """Compare one PostgreSQL server with etcd of one node, and with a log that is not shared."""
    with contextlib.ExitStack() as stack:
        sides = _Sides(scratch, stack, _APPENDS)
        (server,) = stack.enter_context(servers())
        url, other = (stack.enter_context(database(server)) for _ in range(2))
        sides.start(_SHARED, partial(OverSocket.bare, shared=url))
        sides.start(_ALONE, OverSocket.bare)
        sides.start(_SERVED, partial(OverSocket.served, source=changes(1), shared=other))
        sides.start(_SERVED_ALONE, partial(OverSocket.served, source=changes(1)))
        sides.start(_ETCD, Etcd.started)
        sides.contenders[SYNC] = stack.enter_context(SyncedFile(scratch)).contender
        rates = rates_in_turn(sides.contenders, _ROUNDS)
    name = f"append on PostgreSQL, {CALLERS} callers"
    return [
        rate_result(f"{name} / etcd", rates[_SHARED], rates.get(_ETCD), 1.0),
        rate_result(f"{name} / not shared", rates[_SHARED], rates[_ALONE], 0.5),
        rate_result(f"{name}, whole service / etcd", rates[_SERVED], rates.get(_ETCD)),
        rate_result(f"{name}, whole service / not shared", rates[_SERVED], rates[_SERVED_ALONE]),
        cost_result(sides.costs[_SHARED], "not shared", sides.costs[_ALONE]),
        sync_result(f"PostgreSQL, {CALLERS} callers", rates),
    ]


def two_standbys(scratch: Path) -> list[Result]:
    """Compare PostgreSQL with two synchronous standbys with etcd of three nodes."""
    with contextlib.ExitStack() as stack:
        sides = _Sides(scratch, stack, _ON_THREE_NODES)
        server = stack.enter_context(replicated_server(standbys=2))
        url = stack.enter_context(database(server))
        sides.start(_SHARED, partial(OverSocket.bare, shared=url))
        sides.start(_ETCD, partial(Etcd.started, members=3))
        rates = rates_in_turn(sides.contenders, _ROUNDS)
    name = f"append on PostgreSQL with 2 synchronous standbys, {CALLERS} callers / etcd, 3 nodes"
    return [rate_result(name, rates[_SHARED], rates.get(_ETCD), 0.8)]


class _Server(Protocol):
    """A server in a separate process, with its client."""

    pid: int

    def append(self, count: int, *, callers: int) -> None: ...


class _Sides:
    """The servers to compare, each with the processor time that its first process uses."""

    def __init__(self, scratch: Path, stack: contextlib.ExitStack, count: int) -> None:
        self._scratch, self._stack, self._count = scratch, stack, count
        self.contenders: dict[str, Contender] = {}
        self.costs: dict[str, Cost] = {}

    def start(self, name: str, started: Callable[[Path], AbstractContextManager[_Server]]) -> None:
        """Start a server in a directory of its own; print its name if it is not installed."""
        directory = self._scratch / name
        directory.mkdir()
        try:
            server = self._stack.enter_context(started(directory))
        except PeerMissing as missing:
            print(missing, file=sys.stderr)
            return
        count = self._count
        cost = Cost(server.pid, count, lambda: server.append(count, callers=CALLERS))
        self.costs[name] = cost
        self.contenders[name] = Contender(count, cost.run)
