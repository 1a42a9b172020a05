"""Nodes over a PostgreSQL with two synchronous standbys, which must fail over."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import ClassVar, Self

from tests.api.nodes.processes import leader
from tests.postgres import new_database, postgres_directory, text_of
from tests.torture.killed_nodes.cluster import NODES, Cluster, Fault
from tests.torture.killed_nodes.network import network
from tests.torture.killed_nodes.node_faults import kill
from tests.torture.killed_nodes.patroni import Servers

_SERVERS = ("db1", "db2", "db3")


class Replicated(Cluster):
    """Three nodes over three servers."""

    def __init__(self, scratch: Path, servers: Servers, url: str) -> None:
        """Start the nodes of a new log."""
        self._servers = servers
        super().__init__([scratch / f"node-{n}" for n in range(1, NODES + 1)], [url] * NODES)

    @classmethod
    @contextlib.contextmanager
    def running(cls, scratch: Path) -> Iterator[Self]:
        """Run the servers, and the nodes."""
        with (
            postgres_directory() as directory,
            network(_SERVERS, switches=1) as machines,
            contextlib.ExitStack() as stack,
        ):
            servers = Servers(directory, machines)
            stack.callback(servers.kill)
            servers.start()
            with new_database(servers.url) as url:
                cluster = cls(scratch, servers, text_of(url))
                try:
                    yield cluster
                finally:
                    cluster.end()

    def kill_the_primary(self, random: Random) -> None:
        """Kill the primary's PostgreSQL."""
        primary = self._servers.primary()
        primary.kill_postgres()
        self._servers.primary(other_than=primary)
        self._come_to_rest()

    def cut_the_primary(self, random: Random) -> None:
        """Cut the primary's machine from everything until after another one is the primary."""
        primary = self._servers.primary()
        primary.cable.pull()
        self._servers.primary(other_than=primary)
        time.sleep(2 * random.random())
        primary.cable.plug()
        self._come_to_rest()

    def kill_the_machine(self, random: Random) -> None:
        """Kill everything on the primary's machine, and in half of the cases the leader too."""
        primary = self._servers.primary()
        primary.kill()
        if random.random() < 0.5:
            kill(self, random)
        self._servers.primary(other_than=primary)
        primary.start()
        self._come_to_rest()

    def _come_to_rest(self) -> None:
        leader(*self.nodes)
        self._servers.wait_until_whole()

    FAULTS: ClassVar = {
        "primary killed": Fault(kill_the_primary, 1),
        "primary's machine cut": Fault(cut_the_primary, 1),
        "primary's machine killed": Fault(kill_the_machine, 1),
    }
