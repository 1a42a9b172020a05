"""Delay until a follower in another process sees an append, compared with the acknowledgement.

`python -m benchmarks.follower_delay DIRECTORY COUNT` is the follower. Each note in the log contains
the time of its append. The follower prints a JSON list of two items: the list of delays in seconds,
and the share of a CPU that it used while waiting.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

from benchmarks.harness import Result
from metadata_log.format.batch import NewBatch
from metadata_log.reader.follow import follow
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord

_APPENDS = 500
_PAUSE_S = 0.005
_IDLE_S = 3.0


def run(scratch: Path) -> list[Result]:
    """Measure one follower of a writer that appends one record at a time; there is no target."""
    directory = scratch / "log"
    create_log(directory, "bench")
    command = [sys.executable, "-m", "benchmarks.follower_delay", str(directory), str(_APPENDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as follower:
        assert follower.stdout is not None
        follower.stdout.readline()  # it waits
        acknowledged = asyncio.run(_append(directory))
        seen, idle_share = json.loads(follower.stdout.read())
    return [
        _result("append seen by a follower / acknowledged, median", seen, acknowledged, 50),
        _result("append seen by a follower / acknowledged, 99 %", seen, acknowledged, 99),
        Result(
            name="CPU of a follower that waits / a core",
            ours=f"{idle_share:.2%}",
            peer="100 %",
            ratio=idle_share,
        ),
    ]


def _result(name: str, ours: list[float], peer: list[float], percent: int) -> Result:
    found = [statistics.quantiles(times, n=100)[percent - 1] for times in (ours, peer)]
    milliseconds = [f"{seconds * 1_000:.2f} ms" for seconds in found]
    return Result(name=name, ours=milliseconds[0], peer=milliseconds[1], ratio=found[0] / found[1])


async def _append(directory: Path) -> list[float]:
    log = await MetadataLog.open(directory)
    times = []
    for _ in range(_APPENDS):
        await asyncio.sleep(_PAUSE_S)
        start = time.monotonic_ns()
        note = NoteRecord(at_offset=0, author="bench", text=str(start))
        await log.append(NewBatch(records=(note,)))
        times.append((time.monotonic_ns() - start) / 1e9)
    await log.close()
    return times


async def _follow(directory: Path, count: int) -> None:
    delays: list[float] = []
    async with aclosing(follow(directory)) as batches:
        first = asyncio.ensure_future(anext(batches))
        before = time.process_time()
        await asyncio.sleep(_IDLE_S)
        idle_share = (time.process_time() - before) / _IDLE_S
        print("waiting", flush=True)
        await first
        async for batch in batches:
            now = time.monotonic_ns()
            record = batch.rows[0].payload
            if isinstance(record, NoteRecord):
                delays.append((now - int(record.text)) / 1e9)
            if len(delays) == count:
                break
    print(json.dumps([delays, idle_share]))


if __name__ == "__main__":
    asyncio.run(_follow(Path(sys.argv[1]), int(sys.argv[2])))
