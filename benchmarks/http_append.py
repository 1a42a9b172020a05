"""Appends over HTTP by 64 callers, compared with etcd by its Python client and its JSON gateway.

Every server is a separate process on loopback, with its files on the same file system. Callers of
our service and of etcd's gateway use the same HTTP client, with one connection for each caller.
Callers of etcd's own protocol (gRPC) share one connection, as its client does. Each append is one
record; our service checks it. It and the empty application run in uvloop's event loop, and the
service once more in asyncio's.
"""

import asyncio
import contextlib
import itertools
import sys
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from api.cli.terminal.event_loop import ASYNCIO, EVENT_LOOP, UVLOOP
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

CALLERS = 64
_ROUNDS = 7
_OURS = 2_000
_ETCD = 4_000
_TARGET = 1.0
_GRPC, _GATEWAY, _EMPTY = "etcd", "etcd's JSON gateway", "an empty application"
_ON_ASYNCIO = "in asyncio's event loop"

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
        (scratch / ASYNCIO).mkdir()
        plain = stack.enter_context(OverHttp.started(scratch / ASYNCIO, ASYNCIO))
        costs[_ON_ASYNCIO] = Cost(plain.pid, _OURS, lambda: plain.append(_OURS))
        sides[_ON_ASYNCIO] = Contender(_OURS, costs[_ON_ASYNCIO].run)
        empty = stack.enter_context(_empty(scratch))
        costs[_EMPTY] = Cost(empty.pid, _OURS, lambda: empty.append(_OURS))
        sides[_EMPTY] = Contender(_OURS, costs[_EMPTY].run)
        try:
            etcd = stack.enter_context(Etcd.started(scratch))
            sides[_GRPC] = Contender(_ETCD, lambda: etcd.append(_ETCD, callers=CALLERS))
            gateway = stack.enter_context(_gateway(etcd))
            costs[_GATEWAY] = Cost(etcd.pid, _ETCD, lambda: gateway.post(_ETCD))
            sides[_GATEWAY] = Contender(_ETCD, costs[_GATEWAY].run)
        except PeerMissing as missing:
            print(missing, file=sys.stderr)
        rates = rates_in_turn(sides, _ROUNDS)
    return [
        _result(_GRPC, rates, _TARGET),
        _result(_GATEWAY, rates),
        _result(_ON_ASYNCIO, rates),
        *[
            cost_result(costs["ours"], name, costs.get(name))
            for name in (_GATEWAY, _EMPTY, _ON_ASYNCIO)
        ],
        sync_result(f"HTTP, {CALLERS} callers", rates),
    ]


def _result(name: str, rates: dict[str, list[float]], target: float | None = None) -> Result:
    text = f"append over HTTP, {CALLERS} callers / {name}"
    return rate_result(text, rates["ours"], rates.get(name), target)


@contextlib.contextmanager
def _empty(scratch: Path) -> Iterator["OverHttp"]:
    """Run an application that does nothing, on the same HTTP server as our service."""
    port = free_port()
    command = [
        *(sys.executable, "-m", "uvicorn", "benchmarks.empty_app:app", "--port", str(port)),
        *("--http", "httptools", "--loop", UVLOOP, "--lifespan", "off"),
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


@contextlib.contextmanager
def served(log: Path, event_loop: str = UVLOOP) -> Iterator[tuple[int, int]]:
    """Run a service of a log in the named event loop; yield its port and its process id."""
    port = free_port()
    command = [
        *("env", f"{EVENT_LOOP}={event_loop}"),
        *(sys.executable, "-m", "api.cli", "serve", str(log)),
        *("--http", f"{LOOPBACK}:{port}", "--kafka", ":0", "--snapshot-every", "0"),
    ]
    output = log.with_suffix(".output")
    with running(command, output, lambda: _is_ready(port)) as pid:
        yield port, pid


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
    def started(cls, scratch: Path, event_loop: str = UVLOOP) -> Iterator["OverHttp"]:
        """Run a service with an empty log."""
        create_log(scratch / "log", CLUSTER_ID)
        with served(scratch / "log", event_loop) as (port, pid):
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
    """Connections that send to one path; each sends its next request once the previous is
    answered.
    """

    def __init__(
        self, port: int, path: str, media_type: str, bodies: Iterator[str], method: str = "POST"
    ) -> None:
        self._runner = asyncio.Runner()
        self._bodies = bodies
        self._connect = partial(Poster.connect, LOOPBACK, port, path, media_type, method)
        # Connected at the first request: our service disconnects callers that ask nothing.
        self._posters: list[Poster] = []

    def post(self, count: int) -> None:
        """Send `count` bodies, spread over all callers."""
        self._runner.run(self._post(count))

    async def _post(self, count: int) -> None:
        if not self._posters:
            self._posters = [await self._connect() for _ in range(CALLERS)]
        chosen = itertools.islice(self._bodies, count)
        await asyncio.gather(*[poster.post(chosen) for poster in self._posters])

    def close(self) -> None:
        """Disconnect."""
        for poster in self._posters:
            poster.close()
        self._runner.close()
