"""A streaming query of Spark, killed with SIGKILL while a writer appends and segments roll.

After the kills one more run reads up to the log's end; then the sink must have every record of the
log once. The seed determines the times of the kills; the progress of the query at these times
depends on the machine.
"""

import asyncio
import contextlib
import os
import random
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections import Counter
from pathlib import Path

import msgspec
import pyarrow.parquet

from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from records.envelope import Envelope
from records.json import to_json
from records.secrets import redact_record
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place

NAME = "streams"
TEST = "Spark streams the log into Parquet, kill -9"
TARGET = 20
SEEDS_MIN = 4
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (*LOG_SOURCES, "replay/audit")

_KILLS_A_PIECE = 5
_SECONDS_MAX = 6.0
_SEGMENT_SIZE_BYTES_MAX = 16 * 1024
_PAUSE_S = 0.02


def run(seed: int) -> Outcome:
    """Kill a query some times."""
    return asyncio.run(kill_some_times(seed, _KILLS_A_PIECE))


def reproduce(place: Place) -> Outcome:
    """Kill at the same times again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: another run has another timing."""
    return failure


async def kill_some_times(seed: int, kills: int) -> Outcome:
    """Kill a query some times while its log grows, then let it finish and compare."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="metalog-streams-") as name:
        folder = Path(name)
        log = folder / "log"
        create_log(log, "streamed-cluster")
        for _ in range(kills):
            query = await _start(log, folder)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rng.uniform(0.2, _SECONDS_MAX)):
                    await _append_until_cancelled(log, rng)
            os.killpg(query.pid, signal.SIGKILL)
            await query.communicate()
        query = await _start(log, folder, "--finish")
        _, said = await query.communicate()
        broken = differences(log, folder) if query.returncode == 0 else [said.decode()]
        with LogReader.open(log) as reader:
            note = f"{reader.end_offset} records in {len(reader.segment_paths)} segments"
    failures = (Failure(campaign=NAME, place=Place(seed=seed), message=text) for text in broken)
    return Outcome(
        done=kills, distinct=kills, failures=tuple(failures), notes=(f"seed {seed}: {note}",)
    )


async def _append_until_cancelled(directory: Path, rng: random.Random) -> None:
    log = await MetadataLog.open(directory, segment_size_bytes_max=_SEGMENT_SIZE_BYTES_MAX)
    try:
        while True:
            texts = [f"{rng.random()}" for _ in range(rng.randint(1, 30))]
            notes = tuple(NoteRecord(at_offset=0, author="ada", text=text) for text in texts)
            await log.append(NewBatch(records=notes))
            await asyncio.sleep(_PAUSE_S)
    finally:
        await log.close()


async def _start(log: Path, folder: Path, *more: str) -> Process:
    """Start the query in its own process group; wait until it runs."""
    query = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.torture.killed.stream", str(log), str(folder), *more),
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    assert query.stdout is not None
    await query.stdout.readline()
    return query


def differences(log: Path, folder: Path) -> list[str]:
    """Return the records that the sink lacks, and those that it should not have."""
    table = pyarrow.parquet.read_table(folder / "found.parquet")
    found = Counter((row["offset"], row["type"], row["data"]) for row in table.to_pylist())
    with LogReader.open(log) as reader:
        rows = (row for batch in reader.batches() for row in batch.rows)
        expected = Counter(map(expected_row, rows))
    missing, surplus = expected - found, found - expected
    return [f"missing: {row}" for row in list(missing)[:5]] + [
        f"surplus: {row}, {count} times" for row, count in surplus.most_common(5)
    ]


def expected_row(row: Envelope) -> tuple[int, str, str]:
    """Return the offset, type and data of a row as the sink should have them."""
    name = type(row.payload).__name__
    data = redact_record(name, to_json(row.payload))
    return row.offset, name, msgspec.json.encode(data).decode()
