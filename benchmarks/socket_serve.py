"""Appends through `metalog serve --socket` by 64 callers, compared with etcd and ZooKeeper.

Like socket_append.py, but our server is the whole service: it authorizes and decides each append,
and maintains the resulting state. The same run also measures the bare log behind the same socket,
the service with 100 records in each append, and the service in asyncio's event loop; else it runs
in uvloop's.
"""

import contextlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from api.cli.terminal.event_loop import ASYNCIO, UVLOOP
from benchmarks.harness import (
    Contender,
    Result,
    rate_result,
    rates_in_turn,
)
from benchmarks.peers.server_process import PeerMissing
from benchmarks.server_cost import Cost, cost_result
from benchmarks.socket_append import PEERS, OverSocket
from benchmarks.sync_latency import SYNC, SyncedFile, sync_result
from metadata_log.format.batch import NewBatch
from records.configs import ConfigRecord

_CALLERS = 64
_ROUNDS = 7
_APPENDS = 4_000
_BATCH_RECORDS = 100
_BATCHES = 200
_BROKER = 4
_SERVED, _BATCHED, _BARE = "served", "served in batches", "a bare log"
_ON_ASYNCIO = "in asyncio's event loop"


def run(scratch: Path) -> list[Result]:
    """Measure all sides in turn; print the names of peers that are not installed."""
    with contextlib.ExitStack() as stack:
        sides = _Sides()
        sides.contenders[SYNC] = stack.enter_context(SyncedFile(scratch)).contender
        for name, records, count, event_loop in (
            (_SERVED, 1, _APPENDS, UVLOOP),
            (_ON_ASYNCIO, 1, _APPENDS, ASYNCIO),
            (_BATCHED, _BATCH_RECORDS, _BATCHES, UVLOOP),
        ):
            (scratch / name).mkdir()
            ours = OverSocket.served(scratch / name, changes(records), event_loop=event_loop)
            sides.add(name, stack.enter_context(ours), count, records)
        sides.add(_BARE, stack.enter_context(OverSocket.bare(scratch)), _APPENDS)
        for name, opponent in PEERS.items():
            try:
                sides.add(name, stack.enter_context(opponent.started(scratch)), opponent.count)
            except PeerMissing as missing:
                print(missing, file=sys.stderr)
        rates = rates_in_turn(sides.contenders, _ROUNDS)
    return [
        *[_result(_SERVED, name, rates, opponent.target) for name, opponent in PEERS.items()],
        _result(_SERVED, _BARE, rates),
        _result(_SERVED, _ON_ASYNCIO, rates),
        *[_result(_BATCHED, name, rates) for name in PEERS],
        *[
            cost_result(sides.costs[_SERVED], name, sides.costs.get(name))
            for name in (_BARE, _ON_ASYNCIO, *PEERS)
        ],
        sync_result(f"serve --socket, {_CALLERS} callers", rates),
    ]


class _Server(Protocol):
    """A server in a separate process, with its client."""

    pid: int

    def append(self, count: int, *, callers: int) -> None: ...


class _Sides:
    """All servers to compare, with the processor time that each one uses."""

    def __init__(self) -> None:
        self.contenders: dict[str, Contender] = {}
        self.costs: dict[str, Cost] = {}

    def add(self, name: str, server: _Server, count: int, records: int = 1) -> None:
        """Add a server that gets `count` appends of `records` records each in a round."""
        cost = Cost(server.pid, count, lambda: server.append(count, callers=_CALLERS))
        self.costs[name] = cost
        self.contenders[name] = Contender(count * records, cost.run)


def changes(size: int) -> Iterator[NewBatch]:
    """Yield batches of `size` records that are valid in an empty cluster."""
    for start in itertools.count(step=size):
        yield NewBatch(
            records=tuple(
                [
                    ConfigRecord(
                        resource_type=_BROKER,
                        resource_name=str(number % _BATCH_RECORDS),
                        name="log.retention.ms",
                        value=str(number),
                    )
                    for number in range(start, start + size)
                ]
            )
        )


def _result(
    side: str, peer: str, rates: dict[str, list[float]], target: float | None = None
) -> Result:
    name = f"append, {side}, {_CALLERS} callers / {peer}"
    return rate_result(name, rates[side], rates.get(peer), target)
