"""Memory while appending and while reading end to end, each in a process of its own.

`python -m benchmarks.log_memory append|read LOG BYTES` is that process; it prints its peak.
"""

import asyncio
import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import Result
from benchmarks.large_log import MB, make_large_log
from metadata_log.log_reader import LogReader

_SIZES_MB = (32, 256)
# ru_maxrss is in kilobytes on Linux, in bytes on macOS.
_UNIT = 1 if sys.platform == "darwin" else 1024


def run(scratch: Path) -> list[Result]:
    """Compare the peaks at two sizes of a log."""
    peaks = {
        (doing, size): _peak_bytes(doing, scratch / f"log-{size}", size * MB)
        for size in _SIZES_MB
        for doing in ("append", "read")
    }
    small, large = _SIZES_MB
    return [
        Result(
            name=f"peak memory of a process, {doing} {large} MB / {small} MB",
            ours=f"{peaks[doing, large] / MB:.0f} MB",
            peer=f"{peaks[doing, small] / MB:.0f} MB",
            ratio=peaks[doing, large] / peaks[doing, small],
            target=1.25,
            at_most=True,
        )
        for doing in ("append", "read")
    ]


def _peak_bytes(doing: str, log: Path, size_bytes: int) -> int:
    command = [sys.executable, "-m", "benchmarks.log_memory", doing, str(log), str(size_bytes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


def _read(log: Path) -> None:
    with LogReader.open(log) as reader:
        for _ in reader.batches():
            pass


def main(doing: str, log: Path, size_bytes: int) -> None:
    """Append or read, then print the most memory this process ever held, in bytes."""
    if doing == "append":
        asyncio.run(make_large_log(log, size_bytes))
    else:
        _read(log)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
