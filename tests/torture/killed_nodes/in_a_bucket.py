"""Nodes over a bucket, of moto and of SeaweedFS, each with a cable to it and a small disk."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import ClassVar, Self

from tests.api.nodes.processes import leader
from tests.s3 import client_of, environment, moto_server, new_place
from tests.seaweedfs import SeaweedServer
from tests.torture.killed_nodes.cluster import NODES, Fault
from tests.torture.killed_nodes.disk import Disk, small_disk
from tests.torture.killed_nodes.node_faults import kill, part_of_lease_s, suspend
from tests.torture.killed_nodes.wired import Wired, Wiring, fill_for_a_while, wiring

_STORE_MB = 256


class InABucket(Wired):
    """Three nodes over a server of S3."""

    def __init__(self, wires: Wiring, server: str) -> None:
        """Start the nodes of a new log; the server's URL is that of the first cable."""
        first = wires.addresses[0]
        servers = [server.replace(first, address) for address in wires.addresses]
        super().__init__(wires, [new_place(server)] * NODES, list(map(environment, servers)))


class Moto(InABucket):
    """Nodes over moto."""

    @classmethod
    @contextlib.contextmanager
    def running(cls, scratch: Path) -> Iterator[Self]:
        """Run moto on a machine of its own, and the nodes."""
        with contextlib.ExitStack() as stack:
            wires = stack.enter_context(wiring(scratch))
            server = stack.enter_context(moto_server(wires.addresses[0], wires.machine.within))
            stack.enter_context(client_of(server))
            cluster = cls(wires, server)
            stack.callback(cluster.end)
            yield cluster

    FAULTS: ClassVar = {
        "moto: leader killed": Fault(kill, 3),
        "moto: leader suspended": Fault(suspend, 3),
        "moto: leader cut from the bucket": Fault(Wired.cut_the_leader, 2),
        "moto: all cut from the bucket": Fault(Wired.cut_all, 1),
        "moto: a node's disk full": Fault(Wired.fill_a_node, 1),
    }


class SeaweedFs(InABucket):
    """Nodes over SeaweedFS, which has a disk of its own."""

    def __init__(self, wires: Wiring, server: SeaweedServer, store_disk: Disk) -> None:
        """Start the nodes of a new log."""
        self._server = server
        self._store_disk = store_disk
        super().__init__(wires, server.url)

    @classmethod
    @contextlib.contextmanager
    def running(cls, scratch: Path) -> Iterator[Self]:
        """Run SeaweedFS on a machine of its own, and the nodes."""
        with contextlib.ExitStack() as stack:
            wires = stack.enter_context(wiring(scratch))
            store_disk = stack.enter_context(small_disk(scratch / "store", _STORE_MB))
            server = SeaweedServer(store_disk.place, wires.addresses[0], wires.machine.within)
            server.start()
            stack.callback(server.end)
            stack.enter_context(client_of(server.url))
            cluster = cls(wires, server, store_disk)
            stack.callback(cluster.end)
            yield cluster

    def crash_the_store(self, random: Random) -> None:
        """Kill SeaweedFS with SIGKILL, and start it again."""
        self._server.end()
        time.sleep(part_of_lease_s(random))
        self._server.start()
        leader(*self.nodes)

    def fill_the_store(self, random: Random) -> None:
        """Fill the disk of SeaweedFS, and start it again.

        Its list of objects (goleveldb) may take nothing any more after a write that failed.
        """
        fill_for_a_while(self._store_disk, random)
        self._server.end()
        self._server.start()
        leader(*self.nodes)

    FAULTS: ClassVar = {
        "SeaweedFS: leader killed": Fault(kill, 3),
        "SeaweedFS: leader suspended": Fault(suspend, 3),
        "SeaweedFS: killed": Fault(crash_the_store, 1),
        "SeaweedFS: leader cut from the bucket": Fault(Wired.cut_the_leader, 2),
        "SeaweedFS: all cut from the bucket": Fault(Wired.cut_all, 1),
        "SeaweedFS: a node's disk full": Fault(Wired.fill_a_node, 1),
        "SeaweedFS: its disk full": Fault(fill_the_store, 1),
    }
