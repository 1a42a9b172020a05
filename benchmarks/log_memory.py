"""Peak memory of appending to a log and of reading it whole, each in a separate process.

`python -m benchmarks.log_memory append|read LOG BYTES` is that process; it prints its peak.
"""

import asyncio
import re
import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import Result
from benchmarks.large_log import MB, make_large_log
from metadata_log.reader.log_reader import LogReader

_SIZES_MB = (32, 256)
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


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


def _own_peak_bytes() -> int:
    """Return the peak resident memory of this process.

    On Linux `getrusage` is not used: there a process starts with the peak of its parent.
    """
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = _PEAK.search(Path("/proc/self/status").read_text())
    assert found is not None, "the system does not tell peaks"
    return int(found[1]) * 1024


def main(doing: str, log: Path, size_bytes: int) -> None:
    """Append to a log or read it, then print the peak of memory in bytes."""
    if doing == "append":
        asyncio.run(make_large_log(log, size_bytes))
    else:
        _read(log)
    print(_own_peak_bytes())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
