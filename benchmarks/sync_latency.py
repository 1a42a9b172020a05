"""What one sync of the disk costs: no log that acknowledges after it is faster for one caller."""

import os
import statistics
import time
from pathlib import Path

from benchmarks.harness import Result
from metadata_log.fs import OsFs

_SYNCS = 300
# About what one record takes on disk.
_APPEND_SIZE_BYTES = 100


def run(scratch: Path) -> list[Result]:
    """Measure small appends to a growing file; shown, not judged."""
    return [
        Result(
            name="sync of a small append, median",
            ours=f"{1_000_000 * sync_seconds(scratch):,.0f} us",
        )
    ]


def sync_seconds(scratch: Path) -> float:
    """Return how long one sync takes, median, in seconds."""
    path = scratch / "synced"
    file = OsFs().open(path, create=True)
    times = []
    try:
        for n in range(_SYNCS):
            file.pwrite(bytes(_APPEND_SIZE_BYTES), n * _APPEND_SIZE_BYTES)
            start = time.perf_counter()
            file.sync()
            times.append(time.perf_counter() - start)
    finally:
        file.close()
        os.unlink(path)
    return statistics.median(times)
