"""Latency of appends while a snapshot is being made, compared with appends alone."""

import asyncio
import contextlib
import shutil
import time
from pathlib import Path

from api.garbage import collect_beside_image
from api.service.service import Service
from api.upkeep.snapshot_maker import SnapshotMaker
from benchmarks.generated_log import generated_log
from benchmarks.harness import Result
from controller.authorization.caller import Caller
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from records.configs import ConfigRecord
from replay.timeline import Timeline

_RECORDS = 100_000
_APPENDS = 300
_ROUNDS = 3
_TARGET = 1.5


def run(scratch: Path) -> list[Result]:
    """Measure the latency of single appends to a service whose log has 100,000 records."""
    log = scratch / "log"
    shutil.copytree(generated_log(scratch, _RECORDS), log)
    return asyncio.run(_measured(log))


async def _measured(log: Path) -> list[Result]:
    service = await Service.open(log)
    collect_beside_image()  # as `serve` does
    alone: list[float] = []
    beside: list[float] = []
    try:
        for _ in range(_ROUNDS):  # in turn, so that both see the same machine
            alone += [await _append(service, n) for n in range(_APPENDS)]
            beside += await _beside(service, log)
    finally:
        await service.close()
    ours, peer = (sorted(each)[len(each) * 99 // 100] for each in (beside, alone))
    return [
        Result(
            name="append beside a snapshot in the making / alone, 99 %",
            ours=f"{ours * 1_000:.1f} ms",
            peer=f"{peer * 1_000:.1f} ms",
            ratio=ours / peer,
            target=_TARGET,
            at_most=True,
        )
    ]


async def _beside(service: Service, log: Path) -> list[float]:
    """Append until the service's snapshot maker has finished a snapshot; return the latencies."""
    before = _newest(log)
    maker = SnapshotMaker(log, 1, 0, lambda: service.image.provenance.next_offset, before)
    making = asyncio.create_task(maker.run())
    seconds: list[float] = []
    try:
        while _newest(log) == before:
            seconds += [await _append(service, n) for n in range(_APPENDS // 10)]
    finally:
        making.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await making
    return seconds


def _newest(log: Path) -> int:
    with LogReader.open(log) as reader:
        return Timeline.of(reader).newest_snapshot_end()


async def _append(service: Service, number: int) -> float:
    record = ConfigRecord(
        resource_type=4, resource_name="", name="log.retention.ms", value=str(number)
    )
    start = time.perf_counter()
    await service.append(NewBatch(records=(record,)), caller=Caller())
    return time.perf_counter() - start
