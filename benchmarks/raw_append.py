"""Appends of 1,000 records through the service, compared with the log's own append.

The log's own uses the codec in Python, also where the compiled one is installed. All sides append
the same records in this process, which is therefore both client and server of the socket.
"""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

from api.security.listeners import LOCAL
from api.server import ServeOptions, serving
from api.socket.client import SocketClient
from benchmarks.codecs import python_codec
from benchmarks.harness import Result, Timed, milliseconds
from benchmarks.own_log import CLUSTER_ID
from controller.authorization.caller import Caller
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ConfigRecord

_BROKER = 4
_BATCH_RECORDS = 1_000
_APPENDS = 40
_WARMUPS = 5
_TARGET = 1.5
_PEER = "the log's own by the codec in Python"

Append = Callable[[NewBatch], Awaitable[object]]


def run(scratch: Path) -> list[Result]:
    """Measure all sides in turn."""
    return asyncio.run(_measured(scratch))


async def _measured(scratch: Path) -> list[Result]:
    batches = _batches()
    seconds: dict[str, list[float]] = {}
    async with _sides(scratch) as sides:
        for batch in itertools.islice(batches, _WARMUPS + _APPENDS):
            for name, append in sides.items():
                start = time.perf_counter()
                await append(batch)
                seconds.setdefault(name, []).append(time.perf_counter() - start)
    peer = seconds.pop(_PEER)[_WARMUPS:]
    return [_result(name, Timed(ours[_WARMUPS:], peer)) for name, ours in seconds.items()]


def _result(name: str, timed: Timed) -> Result:
    return Result(
        name=f"raw append of {_BATCH_RECORDS:,} records, {name} / {_PEER}",
        ours=milliseconds(timed.ours),
        peer=milliseconds(timed.peer),
        ratio=timed.share,
        target=_TARGET,
        at_most=True,
    )


@contextlib.asynccontextmanager
async def _sides(scratch: Path) -> AsyncIterator[dict[str, Append]]:
    own, served = scratch / "own", scratch / "served"
    for directory in (own, served):
        create_log(directory, CLUSTER_ID)
    options = ServeOptions(log=served, socket=LOCAL)
    log = await MetadataLog.open(own)
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(log.close)
        running = await closing.enter_async_context(serving(options))
        assert running.socket is not None
        client = await SocketClient.connect("127.0.0.1", running.socket.port, cluster_id=CLUSTER_ID)
        closing.push_async_callback(client.close)
        caller = Caller()

        async def in_python(batch: NewBatch) -> None:
            with python_codec():
                await log.append(batch)

        yield {
            _PEER: in_python,
            "in process": lambda batch: running.service.append(batch, caller=caller),
            "over the socket": client.append,
        }


def _batches() -> Iterator[NewBatch]:
    for number in itertools.count():
        yield NewBatch(
            records=tuple(
                ConfigRecord(
                    resource_type=_BROKER,
                    resource_name=str(broker),
                    name="log.retention.ms",
                    value=str(number * _BATCH_RECORDS + broker),
                )
                for broker in range(_BATCH_RECORDS)
            )
        )
