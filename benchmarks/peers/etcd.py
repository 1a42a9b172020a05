"""etcd with one member, used through aetcd, its fastest maintained Python client (docs/decisions).

etcd answers a put after the sync of its write-ahead log; many puts share a sync.
"""

import asyncio
import contextlib
import itertools
import re
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import aetcd

from benchmarks.changes import partition_changes, stored_bytes
from benchmarks.peers.server_process import LOOPBACK, free_port, listens, require, running

_SYNCS = re.compile(r"^etcd_disk_wal_fsync_duration_seconds_count (\S+)$", re.MULTILINE)


class Etcd:
    """An etcd server started by this process, and one client, which all callers share.

    Attributes:
        port: Port of both gRPC and the JSON gateway.
        pid: Id of the server's process.
    """

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid
        self._runner = asyncio.Runner()
        self._changes = zip(itertools.count(), partition_changes(), strict=False)
        self._client = self._runner.run(self._connect())

    @classmethod
    @contextlib.contextmanager
    def started(cls, scratch: Path) -> Iterator["Etcd"]:
        """Run a server with an empty store.

        Raises:
            PeerMissing: etcd is not installed.
        """
        program, port = require("etcd"), free_port()
        client_url, peer_url = (f"http://{LOOPBACK}:{n}" for n in (port, free_port()))
        command = [
            *(program, "--data-dir", str(scratch / "etcd"), "--log-level", "error"),
            *("--listen-client-urls", client_url, "--advertise-client-urls", client_url),
            *("--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url),
            *("--initial-cluster", f"default={peer_url}"),
        ]
        with running(command, scratch / "etcd.log", lambda: listens(port)) as pid:
            etcd = cls(port, pid)
            try:
                yield etcd
            finally:
                etcd.close()

    def append(self, count: int, *, callers: int) -> None:
        """Put `count` records, each under a new key, by `callers` concurrent callers."""
        self._runner.run(self._append(count, callers))

    def syncs(self) -> int:
        """Return the number of syncs of its log that the server reports."""
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self.port}/metrics") as answer:
            found = _SYNCS.search(answer.read().decode())
        assert found is not None, "etcd no longer counts its syncs under this name"
        return int(float(found[1]))

    def close(self) -> None:
        """Disconnect."""
        self._runner.run(self._client.close())
        self._runner.close()

    async def _connect(self) -> aetcd.Client:
        client = aetcd.Client(host=LOOPBACK, port=self.port)
        await client.connect()
        return client

    async def _append(self, count: int, callers: int) -> None:
        chosen = itertools.islice(self._changes, count)

        async def caller() -> None:
            for offset, change in chosen:
                stored = stored_bytes(offset, change, time.time_ns() // 1_000_000)
                await self._client.put(b"%020d" % offset, stored)

        await asyncio.gather(*[caller() for _ in range(callers)])
