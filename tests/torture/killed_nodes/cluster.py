"""Three nodes as processes over one PostgreSQL, and what happens to them."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.api.nodes.processes import (
    LEASE_MS,
    Process,
    equal,
    free_ports,
    leader,
    metalog,
    until,
)
from tests.postgres import PostgresServer, new_database, postgres_directory, text_of

NODES = 3
HOST = "127.0.0.1"


class Cluster:
    """Nodes that listen on the same ports whenever they run.

    Attributes:
        url: Of all nodes, for clients.
        shared: Of the shared log.
    """

    def __init__(self, scratch: Path, server: PostgresServer, shared: str) -> None:
        """Start the nodes of a new log."""
        self._server = server
        self.shared = shared
        first = scratch / "node-1"
        metalog("init", str(first))
        metalog("nodes", "create", shared, "--from", str(first))
        ports = free_ports(NODES)
        self.url = "socket://" + ",".join(f"{HOST}:{port}" for port in ports)
        self.nodes = [
            Process(
                scratch / f"node-{number}",
                shared,
                number,
                more=("--socket", f"{HOST}:{port}", "--snapshot-every", "0"),
            )
            for number, port in enumerate(ports, 1)
        ]
        leader(*self.nodes)
        until(lambda: all(node.lines for node in self.nodes))

    def kill(self, random: Random) -> None:
        """Kill the leader with SIGKILL; it comes back when another one leads, or before."""
        first = leader(*self.nodes)
        first.end(signal.SIGKILL)
        if random.random() < 0.7:
            leader(*self._others(first))
        first.start()
        until(lambda: first.lines)

    def suspend(self, random: Random) -> None:
        """Stop the leader for longer than its lease, so that it wakes while another one leads."""
        first = leader(*self.nodes)
        first.signal(signal.SIGSTOP)
        leader(*self._others(first))
        time.sleep(random.random() * LEASE_MS / 1_000)
        first.signal(signal.SIGCONT)
        until(lambda: first.stands_by)

    def crash_the_store(self, random: Random) -> None:
        """Let PostgreSQL crash and recover."""
        self._server.stop(signal.SIGQUIT)
        time.sleep(random.random() * LEASE_MS / 1_000)
        self._server.start()
        leader(*self.nodes)

    def problems(self) -> list[str]:
        """Stop the nodes; return how their folders differ from the shared log."""
        until(lambda: equal(*self.nodes))
        ended = [node for node in self.nodes if node.has_ended]
        problems = [f"node {node.number} ended: {node.said()[-500:]}" for node in ended]
        for node in self.nodes:
            node.end(signal.SIGTERM)
        for node in self.nodes:
            damage = metalog("verify", str(node.folder), "--shared", self.shared)["damage"]
            problems += [f"the folder of node {node.number}: {each}" for each in damage]
        return problems

    def end(self) -> None:
        """End the processes, also suspended ones."""
        for node in self.nodes:
            with contextlib.suppress(ProcessLookupError):
                node.signal(signal.SIGCONT)
            node.end(signal.SIGKILL)

    def _others(self, node: Process) -> list[Process]:
        return [each for each in self.nodes if each is not node]


FAULTS: dict[str, Callable[[Cluster, Random], None]] = {
    "killed": Cluster.kill,
    "suspended": Cluster.suspend,
    "store crashed": Cluster.crash_the_store,
}


@contextlib.contextmanager
def running_cluster(scratch: Path) -> Iterator[Cluster]:
    """Run a PostgreSQL and the nodes."""
    with postgres_directory() as directory:
        server = PostgresServer(directory, durable=True)
        server.make()
        server.start()
        try:
            with new_database(server.url) as url:
                cluster = Cluster(scratch, server, text_of(url))
                try:
                    yield cluster
                finally:
                    cluster.end()
        finally:
            server.stop()
