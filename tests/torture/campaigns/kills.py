"""A real process on a real disk, killed with SIGKILL while 64 callers append at full speed.

After each kill another writer opens the log, which must have every append that was answered, in
order, and none that was not requested; then the next process continues the same log. A slow reader
in a separate process must see no error, and no record may disappear. The seed determines the times
of the kills; the timing between them is that of the machine.
"""

import asyncio
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place
from tests.torture.killed import answers

NAME = "kills"
TEST = "real process: appends at full speed, kill -9"
TARGET = 40
SEEDS_MIN = 4
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = LOG_SOURCES

_KILLS_A_PIECE = 10
# From the start of the process: some kills hit the imports, some the opening of the log.
_SECONDS_MIN, _SECONDS_MAX = 0.2, 4.0


def run(seed: int) -> Outcome:
    """Kill a writer of one log some times."""
    return kill_some_times(seed, _KILLS_A_PIECE)


def reproduce(place: Place) -> Outcome:
    """Kill at the same times again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: another run has another timing."""
    return failure


def kill_some_times(seed: int, kills: int, seconds_max: float = _SECONDS_MAX) -> Outcome:
    """Kill a writer of one log, and check the log after each kill."""
    rng = random.Random(seed)
    broken: list[str] = []
    starts: list[float] = []
    answered = 0
    with tempfile.TemporaryDirectory(prefix="metalog-kills-") as folder:
        directory = Path(folder) / "log"
        create_log(directory, "killed-cluster")
        with _slow_reader(directory, broken):
            for number in range(kills):
                before = _end_offset(directory)
                told = _write_and_kill(directory, number, rng.uniform(_SECONDS_MIN, seconds_max))
                starts.append(asyncio.run(_open_and_close(directory)))
                given = answers.parse(number, told)
                answered += given.count
                with LogReader.open(directory) as reader:
                    broken += answers.broken_promises(given, reader.batches(before))
    place = Place(seed=seed)
    return Outcome(
        done=kills,
        distinct=kills,
        failures=tuple(Failure(campaign=NAME, place=place, message=text) for text in broken[:20]),
        notes=(
            f"seed {seed}: {answered} appends answered, start-up after a kill "
            f"{min(starts):.0f} to {max(starts):.0f} ms",
        ),
    )


def _end_offset(directory: Path) -> int:
    with LogReader.open(directory) as reader:
        return reader.end_offset


def _write_and_kill(directory: Path, round_number: int, seconds: float) -> bytes:
    """Return what a writer had printed when it was killed."""
    words = ["tests.torture.killed.writer", str(directory), str(round_number)]
    process = subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.PIPE)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]
    raise AssertionError(f"the writer ended by itself with code {process.returncode}")


async def _open_and_close(directory: Path) -> float:
    """Return the duration of a start in ms."""
    started = time.perf_counter()
    log = await MetadataLog.open(directory)
    seconds = time.perf_counter() - started
    await log.close()
    return 1_000 * seconds


@contextmanager
def _slow_reader(directory: Path, broken: list[str]) -> Iterator[None]:
    """Run a slow reader while the body runs, and collect the problems that it reports."""
    words = ["tests.torture.killed.reader", str(directory)]
    process = subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate()
        if process.returncode:
            broken.append(f"the reader saw: {said.strip()}")
