"""Time to open a cleanly closed log as its writer, by size of the log."""

import asyncio
import os
import shutil
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.codecs import python_codec
from benchmarks.harness import Result, milliseconds
from benchmarks.large_log import MB, make_large_log, opened
from metadata_log.reader.log_reader import LogReader
from replay.loader import load_image

_SIZES_MB = (16, 64, 256)
_ROUNDS = 21


def run(scratch: Path) -> list[Result]:
    """Measure all sizes in turn, and compare the largest with its full replay."""
    logs = {size: scratch / f"log-{size}" for size in _SIZES_MB}
    for size, log in logs.items():
        asyncio.run(make_large_log(log, size * MB))
    seconds: dict[int, list[float]] = {size: [] for size in logs}
    for _ in range(_ROUNDS):
        for size, log in logs.items():
            with _twin(log) as twin:
                seconds[size].append(asyncio.run(_open_seconds(twin)))
    largest = _SIZES_MB[-1]
    replay = _replay_seconds(logs[largest])
    return [*_flatness(seconds), _share_of_replay(largest, seconds[largest], replay)]


@contextmanager
def _twin(log: Path) -> Iterator[Path]:
    """Yield a copy of the closed log, because opening a log adds a new, small segment to it."""
    twin = log.with_name("twin")
    twin.mkdir()
    for path in log.iterdir():
        # Segments are not changed by opening; to copy them would leave unsynced bytes behind.
        place = os.link if path.suffix == ".avro" else shutil.copy
        place(path, twin / path.name)
    try:
        yield twin
    finally:
        shutil.rmtree(twin)


async def _open_seconds(log: Path) -> float:
    start = time.perf_counter()
    async with opened(log):
        return time.perf_counter() - start


def _replay_seconds(log: Path) -> float:
    start = time.perf_counter()
    with LogReader.open(log) as reader, python_codec():
        load_image(reader)
    return time.perf_counter() - start


def _flatness(seconds: dict[int, list[float]]) -> list[Result]:
    smallest = _SIZES_MB[0]
    return [
        Result(
            name=f"open a log of {size} MB / of {smallest} MB",
            ours=milliseconds(seconds[size]),
            peer=milliseconds(seconds[smallest]),
            ratio=statistics.median(seconds[size]) / statistics.median(seconds[smallest]),
            target=1.5,
            at_most=True,
        )
        for size in _SIZES_MB[1:]
    ]


def _share_of_replay(size: int, seconds: list[float], replay: float) -> Result:
    return Result(
        name=f"open a log of {size} MB / replay it by the codec in Python",
        ours=milliseconds(seconds),
        peer=milliseconds([replay]),
        ratio=statistics.median(seconds) / replay,
        target=0.05,
        at_most=True,
    )
