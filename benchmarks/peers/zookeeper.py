"""ZooKeeper, standalone, through kazoo, its Python client.

A create is answered after a sync of the transaction log (`forceSync=yes`); creates in flight
together share a sync.
"""

import contextlib
import itertools
import logging
import queue
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.interfaces import IAsyncResult

from benchmarks.changes import partition_changes, stored_bytes
from benchmarks.peers.server_process import LOOPBACK, free_port, listens, require, running

_JAR = "/usr/share/java/zookeeper.jar"
_MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
_TIMEOUT_S = 60
_SYNCS = re.compile(r"^zk_cnt_fsynctime\t(\d+)$", re.MULTILINE)


# Its client warns of the connection that we end.
logging.getLogger("kazoo.client").setLevel(logging.ERROR)


class ZooKeeper:
    """A server started by this process, and one client, which all callers share.

    Attributes:
        pid: Id of the server's process.
    """

    def __init__(self, port: int, pid: int) -> None:
        self._port = port
        self.pid = pid
        self._changes = zip(itertools.count(), partition_changes(), strict=False)
        self._client = KazooClient(f"{LOOPBACK}:{port}")
        self._client.start(timeout=_TIMEOUT_S)
        self._client.ensure_path("/log")

    @classmethod
    @contextlib.contextmanager
    def started(cls, scratch: Path) -> Iterator["ZooKeeper"]:
        """Run a server with an empty tree.

        Raises:
            PeerMissing: ZooKeeper or Java is not installed.
        """
        java, jar, port = require("java"), require(_JAR), free_port()
        settings = scratch / "zoo.cfg"
        settings.write_text(
            f"tickTime=2000\ndataDir={scratch / 'zookeeper'}\nclientPort={port}\n"
            f"clientPortAddress={LOOPBACK}\nadmin.enableServer=false\nforceSync=yes\n"
            "4lw.commands.whitelist=mntr\n"
        )
        command = [java, "-cp", jar, _MAIN, str(settings)]
        with running(command, scratch / "zookeeper.log", lambda: listens(port)) as pid:
            zookeeper = cls(port, pid)
            try:
                yield zookeeper
            finally:
                zookeeper.close()

    def append(self, count: int, *, callers: int) -> None:
        """Create `count` nodes, with `callers` creates in flight at a time.

        Callers are chains of callbacks, which were measured to be a tenth faster than as many
        threads.
        """
        chosen = itertools.islice(self._changes, count)
        answers: queue.SimpleQueue[IAsyncResult] = queue.SimpleQueue()

        def call() -> None:
            for offset, change in itertools.islice(chosen, 1):
                stored = stored_bytes(offset, change, time.time_ns() // 1_000_000)
                self._client.create_async(f"/log/{offset:020d}", stored).rawlink(answers.put)

        for _ in range(callers):
            call()
        for _ in range(count):
            answers.get(timeout=_TIMEOUT_S).get()
            call()

    def syncs(self) -> int:
        """Return the number of syncs of its log that the server reports."""
        with socket.create_connection((LOOPBACK, self._port)) as connection:
            connection.sendall(b"mntr")
            text = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
        found = _SYNCS.search(text)
        assert found is not None, "ZooKeeper no longer counts its syncs under this name"
        return int(found[1])

    def close(self) -> None:
        """Disconnect."""
        self._client.stop()
        self._client.close()
