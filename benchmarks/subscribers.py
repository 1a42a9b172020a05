"""Time until 1,000 subscribers have received one append, compared with watches of etcd.

Our subscribers receive server-sent events; etcd's are watches through its JSON gateway. Both use
the same client with one connection per subscriber. A round is one append; its result is the time
from sending the append until 99 % of the subscribers have received it.
"""

import asyncio
import contextlib
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from api.transport.descriptors import raise_descriptor_limit
from benchmarks.harness import Result, Timed, milliseconds
from benchmarks.http_append import APPEND, LINES, RECORD, OverHttp
from benchmarks.http_streams import Arrivals, Poster, Subscriber, base64_text, json_request
from benchmarks.peers.etcd import Etcd
from benchmarks.peers.server_process import LOOPBACK, PeerMissing

_SUBSCRIBERS = 1_000
_ROUNDS = 21
_CONNECTING = 50

_KEY = base64_text(b"key")


class Side:
    """A server, its subscribers, and the connection that appends."""

    def __init__(
        self, port: int, path: str, media_type: str, request: bytes, begins: bytes, mark: bytes
    ) -> None:
        self._runner = asyncio.Runner()
        self._runner.run(self._connect(port, path, media_type, request, begins, mark))

    async def _connect(
        self, port: int, path: str, media_type: str, request: bytes, begins: bytes, mark: bytes
    ) -> None:
        loop = asyncio.get_running_loop()
        self._arrivals = Arrivals(_SUBSCRIBERS)
        self._poster = await Poster.connect(LOOPBACK, port, path, media_type)
        self._subscribers: list[Subscriber] = []
        for _ in range(0, _SUBSCRIBERS, _CONNECTING):
            some = [Subscriber(request, begins, mark, self._arrivals) for _ in range(_CONNECTING)]
            for each in some:
                await loop.create_connection(partial(_same, each), LOOPBACK, port)
            await asyncio.gather(*[each.begun for each in some])
            self._subscribers += some

    def p99_s(self, body: str) -> float:
        """Append once; return the seconds until 99 % of the subscribers have received it."""
        return self._runner.run(self._p99_s(body))

    async def _p99_s(self, body: str) -> float:
        begun_s = time.perf_counter()
        posted = asyncio.ensure_future(self._poster.post(iter((body,))))
        found = await self._arrivals.all()
        await posted
        return statistics.quantiles(found, n=100)[-1] - begun_s

    def close(self) -> None:
        """Disconnect all."""
        for each in self._subscribers:
            each.transport.abort()
        self._poster.close()
        self._runner.close()


def _same(subscriber: Subscriber) -> Subscriber:
    return subscriber


@contextlib.contextmanager
def _ours(scratch: Path) -> Iterator[Callable[[], float]]:
    values = itertools.count(1)
    with OverHttp.started(scratch) as over:
        request = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
        side = Side(
            over.port,
            APPEND,
            LINES,
            request,
            b": from offset",
            b"event: record",
        )
        yield lambda: side.p99_s(RECORD % next(values))
        side.close()


@contextlib.contextmanager
def _etcd(scratch: Path) -> Iterator[Callable[[], float]]:
    body = f'{{"key":"{_KEY}","value":"{base64_text(RECORD.encode())}"}}'
    with Etcd.started(scratch) as etcd:
        request = json_request("/v3/watch", {"create_request": {"key": _KEY}})
        side = Side(
            etcd.port, "/v3/kv/put", "application/json", request, b'"created":true', b'"events"'
        )
        yield lambda: side.p99_s(body)
        side.close()


_SIDES: dict[str, Callable[[Path], AbstractContextManager[Callable[[], float]]]] = {
    "ours": _ours,
    "etcd": _etcd,
}


def run(scratch: Path) -> list[Result]:
    """Measure both sides in turn."""
    raise_descriptor_limit()
    found: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        sides = {}
        for name, started in _SIDES.items():
            try:
                sides[name] = stack.enter_context(started(scratch))
            except PeerMissing as missing:
                print(missing, file=sys.stderr)
        for append in sides.values():
            append()
        for _ in range(_ROUNDS):
            for name, append in sides.items():
                found.setdefault(name, []).append(append())
    peer = found.get("etcd")
    return [
        Result(
            name=f"{_SUBSCRIBERS:,} subscribers, an append, p99 / a watch of etcd",
            ours=milliseconds(found["ours"]),
            peer="not installed" if peer is None else milliseconds(peer),
            ratio=None if peer is None else Timed(found["ours"], peer).share,
            at_most=True,
        )
    ]
