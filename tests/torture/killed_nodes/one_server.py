"""Nodes over one PostgreSQL, each with a cable to it and a small disk of its own."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import ClassVar, Self

from tests.api.nodes.processes import leader
from tests.postgres import PostgresServer, account, new_database, postgres_directory, text_of
from tests.torture.killed_nodes.cluster import Fault
from tests.torture.killed_nodes.disk import Disk, small_disk
from tests.torture.killed_nodes.node_faults import kill, part_of_lease_s, suspend
from tests.torture.killed_nodes.wired import Wired, Wiring, fill_for_a_while, wiring

_STORE_MB = 256
_SETTINGS = ("max_wal_size=64MB", "min_wal_size=32MB")


class OneServer(Wired):
    """Three nodes, their cables and disks, and the store's disk."""

    def __init__(
        self, wires: Wiring, server: PostgresServer, store_disk: Disk, database: str
    ) -> None:
        """Start the nodes of a new log."""
        self._server = server
        self._store_disk = store_disk
        url = server.url.set(database=database)
        super().__init__(wires, [text_of(url.set(host=address)) for address in wires.addresses])

    @classmethod
    @contextlib.contextmanager
    def running(cls, scratch: Path) -> Iterator[Self]:
        """Run a PostgreSQL on a machine of its own, and the nodes."""
        with contextlib.ExitStack() as stack:
            wires = stack.enter_context(wiring(scratch))
            directory = stack.enter_context(postgres_directory())
            store_disk = stack.enter_context(small_disk(directory / "disk", _STORE_MB))
            server = PostgresServer(
                directory,
                "disk/data",
                durable=True,
                settings=_SETTINGS,
                within=wires.machine.within,
                host=wires.addresses[0],
            )
            owner = account(directory)
            os.chown(store_disk.place, owner["user"], owner["group"])
            server.make()
            server.start()
            stack.callback(server.stop)
            url = stack.enter_context(new_database(server.url))
            assert url.database is not None
            cluster = cls(wires, server, store_disk, url.database)
            stack.callback(cluster.end)
            yield cluster

    def crash_the_store(self, random: Random) -> None:
        """Let PostgreSQL crash and recover."""
        self._server.stop(signal.SIGQUIT)
        time.sleep(part_of_lease_s(random))
        self._server.start()
        leader(*self.nodes)

    def fill_the_store(self, random: Random) -> None:
        """Fill the disk of PostgreSQL; started again if it ended for that."""
        fill_for_a_while(self._store_disk, random)
        if self._server.has_ended:
            self._server.start()
        leader(*self.nodes)

    FAULTS: ClassVar = {
        "leader killed": Fault(kill, 3),
        "leader suspended": Fault(suspend, 3),
        "store crashed": Fault(crash_the_store, 1),
        "leader cut from the store": Fault(Wired.cut_the_leader, 2),
        "all cut from the store": Fault(Wired.cut_all, 1),
        "a node's disk full": Fault(Wired.fill_a_node, 1),
        "the store's disk full": Fault(fill_the_store, 1),
    }
