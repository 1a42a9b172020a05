"""etcd, used through aetcd, its fastest maintained Python client (docs/decisions).

etcd answers a put after the sync of its write-ahead log, on most members; many puts share a sync.
"""

import asyncio
import contextlib
import itertools
import json
import re
import time
import urllib.request
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import aetcd

from benchmarks.changes import partition_changes, stored_bytes
from benchmarks.peers.server_process import LOOPBACK, free_port, listens, require, running

_SYNCS = re.compile(r"^etcd_disk_wal_fsync_duration_seconds_count (\S+)$", re.MULTILINE)


class Etcd:
    """etcd started by this process, and one client, which all callers share.

    Attributes:
        port: Port of the member that leads, of both gRPC and the JSON gateway.
        pid: Id of that member's process.
    """

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid
        self._runner = asyncio.Runner()
        self._changes = zip(itertools.count(), partition_changes(), strict=False)
        self._client = self._runner.run(self._connect())

    @classmethod
    @contextlib.contextmanager
    def started(cls, scratch: Path, members: int = 1) -> Iterator["Etcd"]:
        """Run one or several members with an empty store.

        Raises:
            PeerMissing: etcd is not installed.
        """
        program = require("etcd")
        ports = {f"etcd-{number}": (free_port(), free_port()) for number in range(1, members + 1)}
        everyone = ",".join(f"{name}={_url(peer)}" for name, (_, peer) in ports.items())
        pids: dict[int, int] = {}
        with contextlib.ExitStack() as stack:
            for name, (port, peer) in ports.items():
                command = [
                    *(program, "--name", name, "--data-dir", str(scratch / name)),
                    *("--listen-client-urls", _url(port), "--advertise-client-urls", _url(port)),
                    *(
                        "--listen-peer-urls",
                        _url(peer),
                        "--initial-advertise-peer-urls",
                        _url(peer),
                    ),
                    *("--initial-cluster", everyone, "--log-level", "error"),
                ]
                is_last = len(pids) == members - 1
                # None answers before most of them run.
                ready = partial(_all_listen, [port for port, _ in ports.values()] * is_last)
                process = running(command, scratch / f"{name}.log", ready)
                pids[port] = stack.enter_context(process)
            leader = next(filter(_leads, pids))
            etcd = stack.enter_context(contextlib.closing(cls(leader, pids[leader])))
            yield etcd

    def append(self, count: int, *, callers: int) -> None:
        """Put `count` records, each under a new key, by `callers` concurrent callers."""
        self._runner.run(self._append(count, callers))

    def syncs(self) -> int:
        """Return the number of syncs of its log that the server reports."""
        with urllib.request.urlopen(f"{_url(self.port)}/metrics") as answer:
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


def _url(port: int) -> str:
    return f"http://{LOOPBACK}:{port}"


def _all_listen(ports: Sequence[int]) -> bool:
    return all(map(listens, ports))


def _leads(port: int) -> bool:
    """True if the member is the leader, which answers without another member's help."""
    with urllib.request.urlopen(f"{_url(port)}/v3/maintenance/status", data=b"{}") as answer:
        status = json.load(answer)
    return bool(status["leader"] == status["header"]["member_id"])
