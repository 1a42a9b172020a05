"""Appends over HTTP by 64 callers, compared with etcd by its Python client and its JSON gateway.

Every server is a separate process on loopback, with its files on the same file system. Callers of
our service and of etcd's gateway use the same HTTP client, with one connection for each caller.
Callers of etcd's own protocol (gRPC) share one connection, as its client does. Each append is one
record; our service checks it.
"""

import asyncio
import contextlib
import itertools
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import (
    Contender,
    Result,
    rate_result,
    rates_in_turn,
)
from benchmarks.http_streams import Poster, base64_text
from benchmarks.own_log import CLUSTER_ID
from benchmarks.peers.etcd import Etcd
from benchmarks.peers.server_process import (
    LOOPBACK,
    PeerMissing,
    free_port,
    listens,
    running,
)
from benchmarks.server_cost import Cost, cost_result
from benchmarks.sync_latency import SYNC, SyncedFile, sync_result
from metadata_log.writer.creation import create_log

_CALLERS = 64
_ROUNDS = 7
_OURS = 2_000
_ETCD = 4_000
_TARGET = 1.0
_GRPC, _GATEWAY, _EMPTY = "etcd", "etcd's JSON gateway", "an empty application"

APPEND, LINES = "/v1/records/append", "application/x-ndjson"
RECORD = (
    '{"type":"ConfigRecord","data":{"resource_type":4,"resource_name":"1",'
    '"name":"log.retention.ms","value":"%d"}}'
)


def run(scratch: Path) -> list[Result]:
    """Measure all sides in turn."""
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(OverHttp.started(scratch))
        costs = {"ours": Cost(ours.pid, _OURS, lambda: ours.append(_OURS))}
        sides = {
            SYNC: stack.enter_context(SyncedFile(scratch)).contender,
            "ours": Contender(_OURS, costs["ours"].run),
        }
        empty = stack.enter_context(_empty(scratch))
        costs[_EMPTY] = Cost(empty.pid, _OURS, lambda: empty.append(_OURS))
        sides[_EMPTY] = Contender(_OURS, costs[_EMPTY].run)
        try:
            etcd = stack.enter_context(Etcd.started(scratch))
            sides[_GRPC] = Contender(_ETCD, lambda: etcd.append(_ETCD, callers=_CALLERS))
            gateway = stack.enter_context(_gateway(etcd))
            costs[_GATEWAY] = Cost(etcd.pid, _ETCD, lambda: gateway.post(_ETCD))
            sides[_GATEWAY] = Contender(_ETCD, costs[_GATEWAY].run)
        except PeerMissing as missing:
            print(missing, file=sys.stderr)
        rates = rates_in_turn(sides, _ROUNDS)
    return [
        _result(_GRPC, rates, _TARGET),
        _result(_GATEWAY, rates),
        *[cost_result(costs["ours"], name, costs.get(name)) for name in (_GATEWAY, _EMPTY)],
        sync_result(f"HTTP, {_CALLERS} callers", rates),
    ]


def _result(name: str, rates: dict[str, list[float]], target: float | None = None) -> Result:
    text = f"append over HTTP, {_CALLERS} callers / {name}"
    return rate_result(text, rates["ours"], rates.get(name), target)


@contextlib.contextmanager
def _empty(scratch: Path) -> Iterator["OverHttp"]:
    """Run an application that does nothing, on the same HTTP server as our service."""
    port = free_port()
    command = [
        *(sys.executable, "-m", "uvicorn", "benchmarks.empty_app:app", "--port", str(port)),
        *("--http", "httptools", "--loop", "asyncio", "--lifespan", "off"),
        *(
            "--no-access-log",
            "--no-server-header",
            "--no-date-header",
            "--timeout-keep-alive",
            "600",
        ),
    ]
    with running(command, scratch / "empty.log", lambda: listens(port)) as pid:
        empty = OverHttp(port, pid)
        try:
            yield empty
        finally:
            empty.close()


@contextlib.contextmanager
def _gateway(etcd: Etcd) -> Iterator["Callers"]:
    keys = itertools.count(1)
    value = base64_text(RECORD.encode())
    bodies = (f'{{"key":"{base64_text(b"%020d" % key)}","value":"{value}"}}' for key in keys)
    callers = Callers(etcd.port, "/v3/kv/put", "application/json", bodies)
    try:
        yield callers
    finally:
        callers.close()


def _is_ready(port: int) -> bool:
    """True once the service has loaded its log."""
    with contextlib.suppress(OSError):
        return bool(urllib.request.urlopen(f"http://{LOOPBACK}:{port}/ready").status == 200)
    return False


class OverHttp:
    """Our HTTP service, and callers with one connection each.

    Attributes:
        port: Port of the service.
        pid: Id of the service's process.
    """

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid
        bodies = (RECORD % value for value in itertools.count(1))
        self._callers = Callers(port, APPEND, LINES, bodies)

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
        with running(command, scratch / "service.log", lambda: _is_ready(port)) as pid:
            ours = cls(port, pid)
            try:
                yield ours
            finally:
                ours.close()

    def append(self, count: int) -> None:
        """Append `count` records, spread over all callers."""
        self._callers.post(count)

    def close(self) -> None:
        """Disconnect."""
        self._callers.close()


class Callers:
    """Connections that post to one path; each sends its next request once the previous is
    answered.
    """

    def __init__(self, port: int, path: str, media_type: str, bodies: Iterator[str]) -> None:
        self._runner = asyncio.Runner()
        self._bodies = bodies
        self._posters = [
            self._runner.run(Poster.connect(LOOPBACK, port, path, media_type))
            for _ in range(_CALLERS)
        ]

    def post(self, count: int) -> None:
        """Post `count` bodies, spread over all callers."""
        self._runner.run(self._post(count))

    async def _post(self, count: int) -> None:
        chosen = itertools.islice(self._bodies, count)
        await asyncio.gather(*[poster.post(chosen) for poster in self._posters])

    def close(self) -> None:
        """Disconnect."""
        for poster in self._posters:
            poster.close()
        self._runner.close()
