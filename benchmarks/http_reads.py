"""Reads of one topic over HTTP by 64 callers, compared with etcd's JSON gateway.

Our service describes a topic of a demo's log. etcd returns the value of a key that holds the same
description. Both answer with everything that was acknowledged before (etcd's reads are linearizable
by default).
"""

import asyncio
import contextlib
import itertools
import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec

from api.cli.log.demo_run import write_demo
from api.cli.terminal.event_loop import ASYNCIO, UVLOOP
from benchmarks.harness import Contender, Result, rate_result, rates_in_turn
from benchmarks.http_append import CALLERS, Callers, served
from benchmarks.http_streams import base64_text
from benchmarks.peers.etcd import Etcd
from benchmarks.peers.server_process import LOOPBACK, PeerMissing
from benchmarks.server_cost import Cost, cost_result
from controller.demo.options import DemoOptions

_ROUNDS = 7
_COUNT = 4_000
_TARGET = 1.0
_GATEWAY, _ON_ASYNCIO = "etcd's range over HTTP", "in asyncio's event loop"
_JSON = "application/json"
_KEY = base64_text(b"topic")


def run(scratch: Path) -> list[Result]:
    """Measure all sides in turn."""
    with contextlib.ExitStack() as stack:
        costs = {name: _cost(server, stack) for name, server in _servers(scratch, stack)}
        sides = {name: Contender(_COUNT, cost.run) for name, cost in costs.items()}
        rates = rates_in_turn(sides, _ROUNDS)
    return [
        _result(_GATEWAY, rates, _TARGET),
        _result(_ON_ASYNCIO, rates),
        *[
            cost_result(costs["ours"], name, costs.get(name), "a read")
            for name in (_GATEWAY, _ON_ASYNCIO)
        ],
    ]


class _Server(msgspec.Struct, frozen=True):
    """A server in a process of its own, and the request that reads the topic."""

    port: int
    pid: int
    method: str
    path: str
    body: str = ""


def _servers(scratch: Path, stack: contextlib.ExitStack) -> Iterator[tuple[str, _Server]]:
    description = b""
    for name, event_loop in (("ours", UVLOOP), (_ON_ASYNCIO, ASYNCIO)):
        log = scratch / event_loop
        asyncio.run(write_demo(log, DemoOptions(topics=20, changes=400)))
        port, pid = stack.enter_context(served(log, event_loop))
        path, description = _described(port)
        yield name, _Server(port, pid, "GET", path)
    try:
        etcd = stack.enter_context(Etcd.started(scratch))
    except PeerMissing as missing:
        print(missing, file=sys.stderr)
        return
    _put(etcd.port, description)
    yield _GATEWAY, _Server(etcd.port, etcd.pid, "POST", "/v3/kv/range", f'{{"key":"{_KEY}"}}')


def _cost(server: _Server, stack: contextlib.ExitStack) -> Cost:
    bodies = itertools.repeat(server.body)
    callers = Callers(server.port, server.path, _JSON, bodies, server.method)
    stack.callback(callers.close)
    return Cost(server.pid, _COUNT, lambda: callers.post(_COUNT))


def _result(name: str, rates: dict[str, list[float]], target: float | None = None) -> Result:
    text = f"read of one topic over HTTP, {CALLERS} callers / {name}"
    return rate_result(text, rates["ours"], rates.get(name), target)


def _described(port: int) -> tuple[str, bytes]:
    """Return the path at which the topic with the fewest partitions is described, and its
    description: of a larger one etcd's gateway would send the value in chunks.
    """
    topics = json.loads(_read(port, "/v1/topics/describe"))["topics"]
    smallest = min(topics, key=lambda topic: len(topic["partitions"]))
    path = f"/v1/topics/describe?topics={smallest['name']}"
    return path, _read(port, path)


def _read(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{path}") as answer:
        content: bytes = answer.read()
        return content


def _put(port: int, value: bytes) -> None:
    body = {"key": _KEY, "value": base64_text(value)}
    url = f"http://{LOOPBACK}:{port}/v3/kv/put"
    with urllib.request.urlopen(url, data=json.dumps(body).encode()) as answer:
        assert answer.status == 200
