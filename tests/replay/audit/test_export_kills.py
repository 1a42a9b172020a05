"""`metalog audit export` is killed while the log grows; each change is exported once.

Heavy, so run by `make heavy` only. Half of the kills come at a random time, the others after some
files of the run were published.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset
import pytest

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ConfigRecord
from tests.replay.audit.test_export_to_bucket import bucket
from tests.s3 import counted, environment

pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.timeout(1_800)]

_KILLS = 4
_DAYS = 30
"""Of the records that are added before each run: so many files does it publish."""
_DAY_MS = 86_400_000
_POLL_S = 0.001


@dataclass(frozen=True)
class Exports:
    """Exports of a log to a location, each in a separate process.

    Attributes:
        published: Returns the number of files that engines see there, including replaced ones.
    """

    log: Path
    location: str
    environment: Mapping[str, str]
    published: Callable[[], int]

    def run_killed(self, is_time: Callable[[], bool]) -> bool:
        """Start an export, and kill it with its Java process at a time; False if it ended
        before.
        """
        with self._started() as process:
            while process.poll() is None:
                if is_time():
                    os.killpg(process.pid, signal.SIGKILL)
                    process.communicate()
                    return True
                time.sleep(_POLL_S)
            _, errors = process.communicate()
            assert process.returncode == 0, errors
        return False

    def run(self) -> int:
        """Run an export to its end; return the end offset of the exported changes."""
        with self._started() as process:
            said, errors = process.communicate()
            assert process.returncode == 0, errors
        return int(json.loads(said)["to"])

    @contextmanager
    def _started(self) -> "Iterator[subprocess.Popen[bytes]]":
        arguments = "audit", "export", str(self.log), "--to", self.location, "--json"
        process = subprocess.Popen(
            [sys.executable, "-m", "api.cli", *arguments],
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


class GrowingLog:
    """A log to which each call appends a record per day, continuing after the last day."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.changes: list[tuple[int, str]] = []
        """Offset and new value of each change."""
        create_log(path, "test-cluster")

    async def grow(self) -> None:
        """Append records, each of which changes the same config."""
        writer = await MetadataLog.open(self.path)
        for _ in range(_DAYS):
            number = len(self.changes)
            value = str(number)
            record = ConfigRecord(
                resource_type=4, resource_name="1", name="log.retention.ms", value=value
            )
            # The last day of a run is the first one of the next.
            day = 40_000 + number - number // _DAYS
            await writer.append(NewBatch(records=(record,), timestamp=day * _DAY_MS))
            self.changes.append((writer.end_offset - 1, value))
        await writer.close()


async def kill_some_times(exports: Exports, log: GrowingLog, seed: int) -> list[int]:
    """Kill exports while the log grows, then export to its end.

    Returns:
        Number of new files after each killed run.
    """
    rng = random.Random(seed)
    await log.grow()
    start = time.monotonic()
    exports.run()
    run_s = time.monotonic() - start
    left = []
    for number in range(_KILLS):
        await log.grow()
        before = exports.published()
        end, files = time.monotonic() + rng.uniform(0, run_s), rng.randint(1, _DAYS // 2)

        def is_late(end: float = end) -> bool:
            return time.monotonic() > end

        def has_published(files: int = before + files) -> bool:
            return exports.published() >= files

        if exports.run_killed(has_published if number % 2 else is_late):
            left.append(exports.published() - before)
    while exports.run() <= log.changes[-1][0]:
        pass
    return left


def exported(files: "pyarrow.dataset.Dataset") -> list[tuple[int, str]]:
    rows = files.to_table(columns=["offset", "after"]).to_pylist()
    return sorted((row["offset"], row["after"]) for row in rows)


async def test_killed_exports_into_a_directory_leave_each_change_once(tmp_path: Path) -> None:
    log, place = GrowingLog(tmp_path / "log"), tmp_path / "changes"

    def published() -> int:
        return len(list(place.glob("day=*/*.parquet")))

    exports = Exports(log.path, str(place), {}, published)
    left = await kill_some_times(exports, log, seed=6)
    assert any(0 < files < _DAYS for files in left), left
    assert exported(pyarrow.dataset.dataset(place, partitioning="hive")) == log.changes


async def test_killed_exports_into_a_bucket_leave_each_change_once(
    tmp_path: Path, s3_url: str, s3_place: str
) -> None:
    log = GrowingLog(tmp_path / "log")
    with counted(s3_url) as requests:

        def published() -> int:
            made = list(requests.made)
            return sum(name.endswith(".parquet") and how == "PUT" for how, name, _ in made)

        exports = Exports(log.path, s3_place, environment(requests.url), published)
        left = await kill_some_times(exports, log, seed=7)
    assert any(0 < files < _DAYS for files in left), left
    assert exported(bucket(s3_url, s3_place)) == log.changes
