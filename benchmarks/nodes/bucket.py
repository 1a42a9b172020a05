"""Appends to a log shared in a bucket, compared with the most that its round trip allows.

A group of appends costs one PUT, and one PUT is under way at a time. So callers who each wait for
their append get at most one append each in the time of a PUT, and at most what a log alone does.
The store is SeaweedFS on this machine, with answers as late as those of a store in the same region.
"""

import asyncio
import contextlib
import itertools
import statistics
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.harness import Contender, Result, rate_result, rates_in_turn
from benchmarks.nodes.throughput import CALLERS
from benchmarks.peers.server_process import LOOPBACK, free_port, listens, running
from benchmarks.socket_append import OverSocket
from metadata_log.limits import GROUP_BATCHES_MAX
from metadata_log.stores.object_store import bucket_of

_ROUNDS = 5
_APPENDS = 10_000
_DELAY_MS = 20
_STORED_BYTES = 90
"""What an append takes in a block of its own."""
_TARGET = 0.8
_SHARED, _ALONE, _PUTS = "shared", "alone", "puts"


def run(scratch: Path) -> list[Result]:
    """Measure with as many callers as elsewhere, and with as many as a group takes."""
    from tests.s3 import client_of
    from tests.seaweedfs import seaweedfs_server

    with seaweedfs_server() as near, _distant(scratch, near) as server, client_of(server):
        return [_measured(scratch, server, callers) for callers in (CALLERS, GROUP_BATCHES_MAX)]


@contextlib.contextmanager
def _distant(scratch: Path, server: str) -> Iterator[str]:
    port = free_port()
    command = [
        *(sys.executable, "-m", "benchmarks.nodes.distant"),
        *(str(port), str(urlsplit(server).port), str(_DELAY_MS)),
    ]
    with running(command, scratch / "distant.log", lambda: listens(port)):
        yield f"http://{LOOPBACK}:{port}"


def _measured(scratch: Path, server: str, callers: int) -> Result:
    from tests.s3 import new_place

    puts = _APPENDS // callers
    count = puts * callers
    with contextlib.ExitStack() as stack:
        logs = {}
        for name, url in ((_SHARED, new_place(server)), (_ALONE, None)):
            directory = scratch / f"{name}-{callers}"
            directory.mkdir()
            logs[name] = stack.enter_context(OverSocket.bare(directory, url))
        sides = {
            name: Contender(count, partial(log.append, count, callers=callers))
            for name, log in logs.items()
        }
        objects = stack.enter_context(contextlib.closing(_Objects(new_place(server), callers)))
        sides[_PUTS] = Contender(count, partial(objects.put, puts))
        rates = rates_in_turn(sides, _ROUNDS)
    least = min((_ALONE, _PUTS), key=lambda name: statistics.median(rates[name]))
    by = {_ALONE: "a log alone", _PUTS: f"{_DELAY_MS} ms a PUT"}[least]
    name = f"append on a bucket, {callers:,} callers / the most, by {by}"
    return rate_result(name, rates[_SHARED], rates[least], _TARGET)


class _Objects:
    """New objects, each as large as a group of one append of every caller."""

    def __init__(self, place: str, callers: int) -> None:
        self._store, _ = bucket_of(place, retries=False)
        self._content = bytes(_STORED_BYTES * callers)
        self._numbers = itertools.count()
        self._runner = asyncio.Runner()

    def put(self, count: int) -> None:
        """Make objects, one after the other."""
        self._runner.run(self._put(count))

    def close(self) -> None:
        """End the event loop."""
        self._runner.close()

    async def _put(self, count: int) -> None:
        for number in itertools.islice(self._numbers, count):
            name = f"{number:020d}"
            await self._store.put_async(name, self._content, mode="create", use_multipart=False)
