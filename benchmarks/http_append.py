"""Appends over HTTP by 64 callers, against etcd through its Python client.

Both servers are processes of their own on loopback, with their files on the same file system. Our
callers have a connection each, as clients of HTTP have; etcd's share one, as its client does. Each
append is one record, of a service that checks it.
"""

import asyncio
import contextlib
import itertools
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Contender, Result, median_rate, median_ratio, rates_in_turn
from benchmarks.own_log import CLUSTER_ID
from benchmarks.peers.etcd import Etcd
from benchmarks.peers.server_process import LOOPBACK, PeerMissing, free_port, running
from benchmarks.sync_latency import SYNC, SyncedFile, sync_result
from metadata_log.creation import create_log

_CALLERS = 64
_ROUNDS = 7
_OURS = 2_000
_ETCD = 4_000
_TARGET = 1.0

_HEAD = (
    "POST /v1/records/append HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n"
)
_RECORD = (
    '{"type":"ConfigRecord","data":{"resource_type":4,"resource_name":"1",'
    '"name":"log.retention.ms","value":"%d"}}'
)


def run(scratch: Path) -> list[Result]:
    """Measure both in turn."""
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(OverHttp.started(scratch))
        sides = {
            SYNC: stack.enter_context(SyncedFile(scratch)).contender,
            "ours": Contender(_OURS, lambda: ours.append(_OURS)),
        }
        try:
            etcd = stack.enter_context(Etcd.started(scratch))
            sides["etcd"] = Contender(_ETCD, lambda: etcd.append(_ETCD, callers=_CALLERS))
        except PeerMissing as missing:
            print(missing, file=sys.stderr)
        rates = rates_in_turn(sides, _ROUNDS)
    return [_result(rates), sync_result(f"HTTP, {_CALLERS} callers", rates)]


def _result(rates: dict[str, list[float]]) -> Result:
    found = rates.get("etcd")
    return Result(
        name=f"append over HTTP, {_CALLERS} callers / etcd",
        ours=median_rate(rates["ours"]),
        peer="not installed" if found is None else median_rate(found),
        ratio=None if found is None else median_ratio(rates["ours"], found),
        target=_TARGET,
    )


def _is_ready(port: int) -> bool:
    """True once the service has loaded its log."""
    with contextlib.suppress(OSError):
        return bool(urllib.request.urlopen(f"http://{LOOPBACK}:{port}/ready").status == 200)
    return False


class OverHttp:
    """Our service, and callers with a connection each."""

    def __init__(self, port: int) -> None:
        self._runner = asyncio.Runner()
        self._values = itertools.count(1)
        self._callers = [self._runner.run(_Caller.connect(port)) for _ in range(_CALLERS)]

    @classmethod
    @contextlib.contextmanager
    def started(cls, scratch: Path) -> Iterator["OverHttp"]:
        """Run a service with an empty log."""
        port = free_port()
        create_log(scratch / "log", CLUSTER_ID)
        command = [
            *(sys.executable, "-m", "api.cli", "serve", str(scratch / "log")),
            *("--http", f"{LOOPBACK}:{port}", "--kafka", ":0", "--snapshot-every", "0"),
        ]
        with running(command, scratch / "service.log", lambda: _is_ready(port)):
            ours = cls(port)
            try:
                yield ours
            finally:
                ours.close()

    def append(self, count: int) -> None:
        """Append `count` records by all callers."""
        self._runner.run(self._append(count))

    async def _append(self, count: int) -> None:
        chosen = itertools.islice(self._values, count)
        await asyncio.gather(*[caller.append(chosen) for caller in self._callers])

    def close(self) -> None:
        """Disconnect."""
        for caller in self._callers:
            caller.close()
        self._runner.close()


class _Caller:
    """A connection, which asks again as soon as it has its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, port: int) -> "_Caller":
        return cls(*await asyncio.open_connection(LOOPBACK, port))

    async def append(self, values: Iterator[int]) -> None:
        for value in values:
            body = _RECORD % value
            self._writer.write((_HEAD % len(body) + body).encode())
            status = await self._answer()
            assert status == 200, f"an append was answered with {status}"

    async def _answer(self) -> int:
        head = await self._reader.readuntil(b"\r\n\r\n")
        size = next(
            int(line.partition(b":")[2])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        await self._reader.readexactly(size)
        return int(head.split(b" ", 2)[1])

    def close(self) -> None:
        self._writer.close()
