"""Nodes over a bucket, of moto and of SeaweedFS."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar, Self

from tests.s3 import client_of, moto_server, new_place
from tests.seaweedfs import seaweedfs_server
from tests.torture.killed_nodes.cluster import NODES, Cluster, Fault
from tests.torture.killed_nodes.node_faults import kill, suspend


class InABucket(Cluster):
    """Three nodes over a server of S3."""

    SERVER: ClassVar[Callable[[], AbstractContextManager[str]]]

    @classmethod
    @contextlib.contextmanager
    def running(cls, scratch: Path) -> Iterator[Self]:
        """Run the server, and the nodes."""
        with cls.SERVER() as server, client_of(server):
            place = new_place(server)
            cluster = cls([scratch / f"node-{n}" for n in range(1, NODES + 1)], [place] * NODES)
            try:
                yield cluster
            finally:
                cluster.end()


class Moto(InABucket):
    """Nodes over moto."""

    SERVER = staticmethod(moto_server)
    FAULTS: ClassVar = {
        "moto: leader killed": Fault(kill, 3),
        "moto: leader suspended": Fault(suspend, 3),
    }


class SeaweedFs(InABucket):
    """Nodes over SeaweedFS."""

    SERVER = staticmethod(seaweedfs_server)
    FAULTS: ClassVar = {
        "SeaweedFS: leader killed": Fault(kill, 3),
        "SeaweedFS: leader suspended": Fault(suspend, 3),
    }
