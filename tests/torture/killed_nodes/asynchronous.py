"""Nodes over a PostgreSQL with an asynchronous standby, which is promoted and lacks records.

Every node must stop and say from which offset on. An operator puts the records back, or, if a node
that never had them has written others in their place, gives them up.
"""

import contextlib
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import ClassVar, Self

from tests.api.nodes.processes import leader, metalog, until
from tests.postgres import PostgresServer, new_database, postgres_directory, text_of
from tests.torture.killed_nodes.cluster import NODES, Cluster, Fault
from tests.torture.killed_nodes.network import Cable, network

_LOST = ("has records that the shared log lacks: offsets", "which the shared log has lost")


class Asynchronous(Cluster):
    """Three nodes over a primary and its standby, which change places."""

    def __init__(
        self, scratch: Path, servers: list[tuple[PostgresServer, Cable]], url: str
    ) -> None:
        """Start the nodes of a new log."""
        self._scratch = scratch
        self._servers = servers
        super().__init__([scratch / f"node-{n}" for n in range(1, NODES + 1)], [url] * NODES)

    @classmethod
    @contextlib.contextmanager
    def running(cls, scratch: Path) -> Iterator[Self]:
        """Run the servers, and the nodes."""
        with (
            postgres_directory() as directory,
            network(["db1", "db2"], switches=1) as machines,
            contextlib.ExitStack() as stack,
        ):
            servers = []
            for machine in machines:
                (cable,) = machine.cables
                server = PostgresServer(
                    directory, machine.name, durable=True, within=machine.within, host=cable.address
                )
                servers.append((server, cable))
            primary = servers[0][0]
            primary.make()
            primary.start()
            stack.callback(_stop, servers)
            places = {
                "host": ",".join(cable.address for _, cable in servers),
                "port": ",".join(str(server.url.port) for server, _ in servers),
                "target_session_attrs": "read-write",
            }
            with new_database(primary.url.set(host=None, port=None, query=places)) as url:
                _follow(servers)
                cluster = cls(scratch, servers, text_of(url))
                try:
                    yield cluster
                finally:
                    cluster.end()

    def promote(self, random: Random) -> None:
        """Promote the standby while all nodes run; put the lost records back."""
        self._lose(random)
        self._promote()
        self._stopped()
        furthest = max(metalog("nodes", "list", self.shared)["nodes"], key=lambda n: n["log_end"])
        folder = self.nodes[furthest["node"] - 1].folder
        found = metalog("nodes", "repair", str(folder), "--shared", self.shared, "--put-back")
        assert (found["done"], found["may_run"]) == ("put back", True), found
        self._go_on()

    def promote_unnoticed(self, random: Random) -> None:
        """Promote the standby, and let a node write first that never had what is lost."""
        behind = random.choice(self.others(leader(*self.nodes)))
        behind.end(signal.SIGKILL)
        self._lose(random)
        for node in self.others(behind):
            node.end(signal.SIGKILL)
        self._promote()
        behind.start()
        leader(behind)
        time.sleep(0.5 + random.random())
        for node in self.others(behind):
            node.start()
        self._stopped()
        self._give_up()
        self._go_on()

    def _lose(self, random: Random) -> None:
        """Let appends be acknowledged that the standby does not get; then the primary is gone."""
        (primary, _), (_, cable) = self._servers
        leader(*self.nodes)
        cable.pull()
        time.sleep(0.5 + random.random())
        primary.stop(signal.SIGQUIT)

    def _promote(self) -> None:
        (_, _), (standby, cable) = self._servers
        cable.plug()
        standby.promote()
        self._servers.reverse()

    def _stopped(self) -> None:
        """Wait until every node has ended and said why."""
        until(lambda: all(node.has_ended for node in self.nodes))
        for node in self.nodes:
            assert any(text in node.said() for text in _LOST), f"silent: {node.said()}"

    def _give_up(self) -> None:
        """Keep in a copy what a folder has and the store has lost, and cut the folder."""
        for node in metalog("nodes", "list", self.shared)["nodes"]:
            if node["lost_from"] is None:
                continue
            copy = self._scratch / f"given-up-{len(self.given_up)}"
            folder = str(self.nodes[node["node"] - 1].folder)
            words = ("nodes", "repair", folder, "--shared", self.shared)
            assert metalog(*words, "--give-up", str(copy))["done"] == "given up"
            self.given_up.append(copy)
        assert self.given_up, "silent: no node has the records that the store has lost"

    def _go_on(self) -> None:
        for node in self.nodes:
            node.start()
        leader(*self.nodes)
        shutil.rmtree(self._servers[1][0].data)
        _follow(self._servers)

    FAULTS: ClassVar = {
        "asynchronous standby promoted": Fault(promote, 1),
        "the same, and a node behind wrote first": Fault(promote_unnoticed, 1),
    }


def _follow(servers: list[tuple[PostgresServer, Cable]]) -> None:
    """Make the second server a standby of the first, and start it."""
    (primary, _), (standby, _) = servers
    standby.copy_of(primary, standby="one")
    standby.start()


def _stop(servers: list[tuple[PostgresServer, Cable]]) -> None:
    for server, _ in servers:
        server.stop(signal.SIGQUIT)
