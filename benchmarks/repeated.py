"""Repeated requests after many other commits, compared with the first time they were sent.

Requests are sent to a service by its client over Kafka's protocol, while another client creates
namespaces.
"""

import asyncio
import contextlib
import itertools
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from api.clients.client import MetadataClient
from api.server import ServeOptions, serving
from benchmarks.harness import Result
from controller.decisions.namespaces.namespaces import CreateNamespace
from metadata_log.writer.creation import create_log

_REQUESTS = 100
_OTHER_COMMITS = 1_100
_OTHERS = 200
_ROUNDS = 10


def run(scratch: Path) -> list[Result]:
    """Measure repeated requests, and other requests that run at the same time."""
    return asyncio.run(_measure(scratch / "log"))


async def _measure(directory: Path) -> list[Result]:
    names = (f"n{number}" for number in itertools.count())
    requests = {f"request-{number}": next(names) for number in range(_REQUESTS)}
    async with _clients(directory) as (client, other):
        first = [await _ask(client, name, request_id) for request_id, name in requests.items()]
        for _ in range(_OTHER_COMMITS):
            await _ask(other, next(names))
        again = [await _ask(client, name, request_id) for request_id, name in requests.items()]
        alone, beside = [], []
        for _ in range(_ROUNDS):  # in turn, so that both see the same machine
            alone += await _others(other, names)
            repeats = asyncio.create_task(_repeat(client, requests))
            beside += await _others(other, names)
            repeats.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await repeats
    return [
        _result("a repeated request / the first time, median", again, first, 50, target=5.0),
        _result("others beside repeated requests / alone, 99 %", beside, alone, 99),
    ]


@contextlib.asynccontextmanager
async def _clients(directory: Path) -> AsyncIterator[tuple[MetadataClient, MetadataClient]]:
    create_log(directory, "bench")
    options = ServeOptions(log=directory)
    async with serving(options) as running:
        url = f"kafka://127.0.0.1:{running.kafka.port}"
        async with (
            await MetadataClient.connect(url) as one,
            await MetadataClient.connect(url) as two,
        ):
            yield one, two


async def _ask(client: MetadataClient, name: str, request_id: str | None = None) -> float:
    start = time.perf_counter()
    await client.run("namespaces create", CreateNamespace(name), request_id=request_id)
    return time.perf_counter() - start


async def _others(client: MetadataClient, names: Iterator[str]) -> list[float]:
    return [await _ask(client, next(names)) for _ in range(_OTHERS)]


async def _repeat(client: MetadataClient, requests: dict[str, str]) -> None:
    """Send the same requests again and again, as clients with broken connections do."""
    for request_id, name in itertools.cycle(requests.items()):
        await _ask(client, name, request_id)
        await asyncio.sleep(0.05)


def _result(
    name: str, ours: list[float], peer: list[float], percent: int, target: float | None = None
) -> Result:
    found = [statistics.quantiles(times, n=100)[percent - 1] for times in (ours, peer)]
    milliseconds = [f"{seconds * 1_000:.2f} ms" for seconds in found]
    return Result(
        name=name,
        ours=milliseconds[0],
        peer=milliseconds[1],
        ratio=found[0] / found[1],
        target=target,
        at_most=True,
    )
