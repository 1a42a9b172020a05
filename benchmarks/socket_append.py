"""Appends to a bare log over a socket by 64 callers, against etcd and ZooKeeper.

The service, which decides each append, is measured by socket_serve.py. Peers are called through
their Python clients.

Every server is a separate process on loopback, with its files on the same file system. Every side
uses one connection that all callers share and stores the same bytes; the measured time includes
encoding.
"""

import asyncio
import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from api.cli.terminal.event_loop import EVENT_LOOP, UVLOOP
from api.nodes.stores import create_shared_log
from api.socket.client import SocketClient
from benchmarks.changes import batches, partition_changes
from benchmarks.harness import Contender, Result, rate_result, rates_in_turn
from benchmarks.own_log import CLUSTER_ID, append_all
from benchmarks.peers.etcd import Etcd
from benchmarks.peers.server_process import LOOPBACK, PeerMissing, free_port, listens, running
from benchmarks.peers.zookeeper import ZooKeeper
from benchmarks.sync_latency import SYNC, SyncedFile, sync_result
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log

_CALLERS = 64
_ROUNDS = 7
_OURS = 10_000


class Peer(Protocol):
    """A server to compare with, in a separate process."""

    pid: int

    def append(self, count: int, *, callers: int) -> None: ...

    def syncs(self) -> int: ...


class Opponent(msgspec.Struct, frozen=True):
    """How to start a peer, how many records it stores in a round, and the ratio to reach."""

    started: Callable[[Path], AbstractContextManager[Peer]]
    count: int
    target: float


PEERS = {
    "etcd": Opponent(Etcd.started, 4_000, 2),
    "ZooKeeper": Opponent(ZooKeeper.started, 2_000, 5),
}


def run(scratch: Path) -> list[Result]:
    """Measure all sides in turn; print the names of peers that are not installed."""
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(OverSocket.bare(scratch))
        sides = {
            SYNC: stack.enter_context(SyncedFile(scratch)).contender,
            "ours": Contender(_OURS, lambda: ours.append(_OURS, callers=_CALLERS)),
        }
        peers: dict[str, Peer] = {}
        for name, opponent in PEERS.items():
            try:
                peers[name] = stack.enter_context(opponent.started(scratch))
            except PeerMissing as missing:
                print(missing, file=sys.stderr)
                continue
            sides[name] = _contender(peers[name], opponent.count)
        before = {name: peer.syncs() for name, peer in peers.items()}
        rates = rates_in_turn(sides, _ROUNDS)
        for name, peer in peers.items():
            assert peer.syncs() > before[name], f"{name} acknowledges without a sync"
    beside = f"a socket, {_CALLERS} callers"
    return [*[_result(name, rates) for name in PEERS], sync_result(beside, rates)]


def _contender(peer: Peer, count: int) -> Contender:
    return Contender(count, lambda: peer.append(count, callers=_CALLERS))


def _result(name: str, rates: dict[str, list[float]]) -> Result:
    text = f"append to a bare log over a socket, {_CALLERS} callers / {name}"
    return rate_result(text, rates["ours"], rates.get(name), PEERS[name].target)


class OverSocket:
    """Our server, and one client, which all callers share.

    Attributes:
        pid: Id of the server's process.
    """

    def __init__(self, port: int, pid: int, source: Iterator[NewBatch]) -> None:
        self.pid = pid
        self._runner = asyncio.Runner()
        self._batches = source
        self._client = self._runner.run(SocketClient.connect(LOOPBACK, port, cluster_id=CLUSTER_ID))

    @classmethod
    @contextlib.contextmanager
    def bare(cls, scratch: Path, shared: str | None = None) -> Iterator["OverSocket"]:
        """Run a server for an empty bare log, which does not check records.

        Args:
            shared: URL of a store without a shared log; the server makes and leads one there.
        """
        port = free_port()
        command = [
            *(sys.executable, "-m", "benchmarks.socket_server"),
            *(str(scratch / "log"), str(port)),
            *(() if shared is None else (shared,)),
        ]
        source = batches(partition_changes(), 1)
        with (
            running(command, scratch / "server.log", lambda: listens(port)) as pid,
            contextlib.closing(cls(port, pid, source)) as ours,
        ):
            yield ours

    @classmethod
    @contextlib.contextmanager
    def served(
        cls,
        scratch: Path,
        source: Iterator[NewBatch],
        shared: str | None = None,
        event_loop: str = UVLOOP,
    ) -> Iterator["OverSocket"]:
        """Run `metalog serve --socket` with an empty log, for batches that its checks accept.

        Args:
            shared: URL of a store without a shared log; the service makes and leads one there.
            event_loop: Name of the service's event loop.
        """
        port = free_port()
        create_log(scratch / "served", CLUSTER_ID)
        command = [
            *("env", f"{EVENT_LOOP}={event_loop}"),
            *(sys.executable, "-m", "api.cli", "serve", str(scratch / "served")),
            *("--socket", f"{LOOPBACK}:{port}", "--kafka", ":0", "--snapshot-every", "0"),
        ]
        if shared is not None:
            asyncio.run(create_shared_log(shared, scratch / "served"))
            command += ["--shared", shared, "--node", "1"]
        output = scratch / "service.log"
        # A node listens before it leads.
        with (
            running(command, output, lambda: b"\nserving " in b"\n" + output.read_bytes()) as pid,
            contextlib.closing(cls(port, pid, source)) as ours,
        ):
            yield ours

    def append(self, count: int, *, callers: int) -> None:
        """Append `count` batches, by `callers` concurrent callers."""
        chosen = itertools.islice(self._batches, count)
        self._runner.run(append_all(self._client, chosen, callers))

    def close(self) -> None:
        """Disconnect."""
        self._runner.run(self._client.close())
        self._runner.close()
