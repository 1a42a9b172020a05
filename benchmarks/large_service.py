"""`metalog serve` with many partitions, compared with a hundredth of them: start, memory,
changes.
"""

import asyncio
import contextlib
import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import psutil

from api.clients.blocking_client import BlockingClient
from benchmarks.harness import Result, Timed
from benchmarks.partitions_log import moves, write_partitions_log
from benchmarks.peers.server_process import LOOPBACK, cpu_s, free_port, listens, running
from benchmarks.server_cost import Cost
from controller.decisions.topics.topics import CreateTopics, NewTopic
from metadata_log.format.batch import NewBatch

PARTITIONS = 100_000
"""Few enough for a run of all benches."""

_SMALLER = 100
_CHANGES = 100
_ROUNDS = 7
_LOOK_EVERY_S = 0.05
_START_TIMEOUT_S = 300
_MB = 1_000_000
_TARGET = 2


class _Start(msgspec.Struct, frozen=True):
    """Processor time until the service answers, and its resident memory at that moment."""

    cpu_s: float
    memory_bytes: int


class _Snapshot(msgspec.Struct, frozen=True):
    """Processor time and peak memory of the process that makes a snapshot."""

    cpu_s: float
    peak_bytes: int


class _Side:
    """One of the two clusters: its log, and the changes to append."""

    def __init__(self, scratch: Path, partitions: int) -> None:
        self.partitions = partitions
        self.log = scratch / str(partitions)
        asyncio.run(write_partitions_log(self.log, partitions))
        self._moves = moves(partitions)
        self._topic_numbers = itertools.count()

    @contextlib.contextmanager
    def served(self) -> Iterator[tuple[_Start, int, int]]:
        """Serve the log; yield the cost of the start, the process id and the socket's port."""
        port = free_port()
        command = [
            *(sys.executable, "-m", "api.cli", "serve", str(self.log), "--kafka", ":0"),
            *("--socket", f"{LOOPBACK}:{port}", "--snapshot-every", "0"),
            # The brokers of the log send no heartbeats.
            *("--session-timeout-ms", "86400000"),
        ]
        output = self.log.with_suffix(".txt")
        with running(command, output, lambda: listens(port), _START_TIMEOUT_S) as pid:
            yield _Start(cpu_s(pid), psutil.Process(pid).memory_info().rss), pid, port

    def start(self) -> _Start:
        """Start the service and stop it again; return the cost of the start."""
        with self.served() as (start, _, _):
            return start

    def make_snapshot(self) -> _Snapshot:
        """Create a snapshot in a separate process, as the service does; return its cost."""
        command = [sys.executable, "-m", "api.cli", "snapshot", "create", str(self.log)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        peak_bytes, waited = 0, 0
        while not waited:
            peak_bytes = max(peak_bytes, _peak_bytes(process.pid))
            time.sleep(_LOOK_EVERY_S)
            waited, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, f"snapshot create: exit code {process.returncode}"
        return _Snapshot(usage.ru_utime + usage.ru_stime, peak_bytes)

    def move_leaders(self, client: BlockingClient) -> None:
        """Append 100 changes of leaders, one by one."""
        for record in itertools.islice(self._moves, _CHANGES):
            client.append(NewBatch(records=(record,)))

    def create_topics(self, client: BlockingClient) -> None:
        """Create 100 topics, one by one."""
        for number in itertools.islice(self._topic_numbers, _CHANGES):
            topic = NewTopic(name=f"new-{number}", partitions=3, replication_factor=3)
            (created,) = client.run(CreateTopics(topics=(topic,))).response
            assert created.refusal is None, created.refusal


def run(scratch: Path, partitions: int = PARTITIONS, *, rounds: int = _ROUNDS) -> list[Result]:
    """Measure both services in turn; all brokers are registered in the log."""
    large, small = (_Side(scratch, count) for count in (partitions, partitions // _SMALLER))
    plain = [side.start() for side in (large, small)]
    snapshots = [side.make_snapshot() for side in (large, small)]
    with large.served() as (first, pid, port), small.served() as (second, other_pid, other_port):
        changes = _changes([(large, pid, port), (small, other_pid, other_port)], rounds)
    name = f"at {large.partitions:,} partitions / at {small.partitions:,}"
    return [
        _seconds(f"start without a snapshot {name}", *[start.cpu_s for start in plain]),
        _seconds(f"start with a snapshot {name}", first.cpu_s, second.cpu_s),
        _seconds(f"snapshot made {name}", *[made.cpu_s for made in snapshots]),
        _memory(f"memory without a snapshot {name}", *[s.memory_bytes for s in plain]),
        _memory(f"memory with a snapshot {name}", first.memory_bytes, second.memory_bytes),
        _memory(f"peak of making one {name}", *[made.peak_bytes for made in snapshots]),
        *[_change(f"{what} {name}", *costs) for what, costs in changes.items()],
    ]


def _changes(served: list[tuple[_Side, int, int]], rounds: int) -> dict[str, list[Cost]]:
    """Return the costs of the large and the small service for each kind of change.

    The services run in turn.
    """
    costs: dict[str, list[Cost]] = {"leader moved": [], "topic created": []}
    with contextlib.ExitStack() as stack:
        for side, pid, port in served:
            client = stack.enter_context(BlockingClient(f"socket://{LOOPBACK}:{port}"))
            costs["leader moved"].append(Cost(pid, _CHANGES, partial(side.move_leaders, client)))
            costs["topic created"].append(Cost(pid, _CHANGES, partial(side.create_topics, client)))
        for _ in range(rounds):
            for cost in itertools.chain.from_iterable(costs.values()):
                cost.run()
    return costs


def _peak_bytes(pid: int) -> int:
    # Not `ru_maxrss`, which begins with the memory of the process that started this one.
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1_024 if found else 0  # it has ended


def _seconds(name: str, ours: float, peer: float) -> Result:
    return Result(
        name=f"{name}, CPU", ours=f"{ours:.2f} s", peer=f"{peer:.2f} s", ratio=ours / peer
    )


def _memory(name: str, ours: int, peer: int) -> Result:
    texts = [f"{size / _MB:,.0f} MB" for size in (ours, peer)]
    return Result(name=name, ours=texts[0], peer=texts[1], ratio=ours / peer)


def _change(name: str, ours: Cost, peer: Cost) -> Result:
    return Result(
        name=f"{name}, CPU",
        ours=ours.text,
        peer=peer.text,
        ratio=Timed(ours.each_s, peer.each_s).share,
        target=_TARGET,
        at_most=True,
    )
