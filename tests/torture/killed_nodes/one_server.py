"""Nodes over one PostgreSQL, each with a cable to it and a small disk of its own."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar, Self

from tests.api.nodes.processes import leader, until
from tests.postgres import PostgresServer, account, new_database, postgres_directory, text_of
from tests.torture.killed_nodes.cluster import NODES, Cluster, Fault
from tests.torture.killed_nodes.disk import Disk, small_disk
from tests.torture.killed_nodes.network import Cable, Machine, network
from tests.torture.killed_nodes.node_faults import kill, part_of_lease_s, suspend

_NODE_MB = 48
_STORE_MB = 256
_SETTINGS = ("max_wal_size=64MB", "min_wal_size=32MB")

_FULL_S = 2.0


class OneServer(Cluster):
    """Three nodes, their cables and disks, and the store's disk."""

    def __init__(
        self,
        disks: Sequence[Disk],
        machine: Machine,
        server: PostgresServer,
        store_disk: Disk,
        database: str,
    ) -> None:
        """Start the nodes of a new log."""
        self._disks = disks
        self._cables: Sequence[Cable] = machine.cables
        self._server = server
        self._store_disk = store_disk
        url = server.url.set(database=database)
        super().__init__(
            [disk.place / f"node-{number}" for number, disk in enumerate(disks, 1)],
            [text_of(url.set(host=cable.address)) for cable in machine.cables],
        )

    @classmethod
    @contextlib.contextmanager
    def running(cls, scratch: Path) -> Iterator[Self]:
        """Run a PostgreSQL on a machine of its own, and the nodes."""
        with contextlib.ExitStack() as stack:
            disks = [
                stack.enter_context(small_disk(scratch / f"disk-{number}", _NODE_MB))
                for number in range(NODES)
            ]
            directory = stack.enter_context(postgres_directory())
            store_disk = stack.enter_context(small_disk(directory / "disk", _STORE_MB))
            (machine,) = stack.enter_context(network(["store"], switches=NODES))
            server = PostgresServer(
                directory,
                "disk/data",
                durable=True,
                settings=_SETTINGS,
                within=machine.within,
                host=machine.cables[0].address,
            )
            owner = account(directory)
            os.chown(store_disk.place, owner["user"], owner["group"])
            server.make()
            server.start()
            stack.callback(server.stop)
            url = stack.enter_context(new_database(server.url))
            assert url.database is not None
            cluster = cls(disks, machine, server, store_disk, url.database)
            stack.callback(cluster.end)
            yield cluster

    def crash_the_store(self, random: Random) -> None:
        """Let PostgreSQL crash and recover."""
        self._server.stop(signal.SIGQUIT)
        time.sleep(part_of_lease_s(random))
        self._server.start()
        leader(*self.nodes)

    def cut_the_leader(self, random: Random) -> None:
        """Cut the leader from the store, while clients reach it, until after another one leads."""
        first = leader(*self.nodes)
        cable = self._cables[self.nodes.index(first)]
        cable.pull()
        leader(*self.others(first))
        time.sleep(part_of_lease_s(random))
        cable.plug()
        until(lambda: first.stands_by)

    def cut_all(self, random: Random) -> None:
        """Cut all nodes from the store, for up to four leases."""
        for cable in self._cables:
            cable.pull()
        time.sleep(4 * part_of_lease_s(random))
        for cable in self._cables:
            cable.plug()
        leader(*self.nodes)

    def fill_a_node(self, random: Random) -> None:
        """Fill the disk of the leader, or of another node."""
        first = leader(*self.nodes)
        disk = self._disks[self.nodes.index(random.choice([first, first, *self.others(first)]))]
        _fill_for_a_while(disk, random)
        leader(*self.nodes)

    def fill_the_store(self, random: Random) -> None:
        """Fill the disk of PostgreSQL; started again if it ended for that."""
        _fill_for_a_while(self._store_disk, random)
        if self._server.has_ended:
            self._server.start()
        leader(*self.nodes)

    FAULTS: ClassVar = {
        "leader killed": Fault(kill, 3),
        "leader suspended": Fault(suspend, 3),
        "store crashed": Fault(crash_the_store, 1),
        "leader cut from the store": Fault(cut_the_leader, 2),
        "all cut from the store": Fault(cut_all, 1),
        "a node's disk full": Fault(fill_a_node, 1),
        "the store's disk full": Fault(fill_the_store, 1),
    }


def _fill_for_a_while(disk: Disk, random: Random) -> None:
    disk.fill()
    time.sleep(_FULL_S * (1 + random.random()))
    disk.free()
