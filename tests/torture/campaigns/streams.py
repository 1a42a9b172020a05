"""Streaming queries of Spark, killed with SIGKILL while a writer appends and segments roll.

One copies the records and one the changes into Parquet files; one adds the changes to a table of
Delta and one of Iceberg. After the kills one more run reads up to the log's end; then the sinks
must have every record and every change of the log once. The seed determines the times of the kills;
the progress of the queries at these times depends on the machine.
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
from collections.abc import Sequence
from itertools import chain
from operator import gt
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
import pyarrow.parquet

from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.configs import ConfigRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoteRecord,
)
from records.envelope import Envelope, Origin
from records.json import to_json
from records.secrets import redact_record
from replay.audit.committed_files import committed_files
from replay.audit.duck.engine import DuckAudit
from replay.audit.queries.asking import Range
from tests.torture.campaign import LOG_SOURCES, Failure, Outcome, Place

NAME = "streams"
TEST = "Spark streams records and changes into Parquet, Delta, Iceberg, kill -9"
TARGET = 20
SEEDS_MIN = 4
SEEDS_MAX: int | None = None
SOURCES: tuple[str, ...] = (*LOG_SOURCES, "replay/audit")

_KILLS_A_PIECE = 5
_SECONDS_MAX = 4.0
_SHARE_WITH_TRIGGERS = 0.8
_SEGMENT_SIZE_BYTES_MAX = 16 * 1024
_PAUSE_S = 0.05
_BATCHES_A_KILL = 100

QUERIES = ("records", "changes", "tables")
SINKS = {"tables": ("delta", "iceberg")}
"""By query; the others have one of their own name."""

Row = tuple[Any, ...]


def run(seed: int) -> Outcome:
    """Kill a query some times."""
    return asyncio.run(kill_some_times(seed, _KILLS_A_PIECE, QUERIES))


def reproduce(place: Place) -> Outcome:
    """Kill at the same times again."""
    return run(place.seed)


def shrink(failure: Failure) -> Failure:
    """Return the failure unchanged: another run has another timing."""
    return failure


async def kill_some_times(seed: int, kills: int, queries: Sequence[str]) -> Outcome:
    """Kill queries some times while their log grows, then let them finish and compare."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="metalog-streams-") as name:
        folder = Path(name)
        log = folder / "log"
        create_log(log, "streamed-cluster")
        for _ in range(kills):
            await kill_once(log, folder, queries, rng)
        query = await _start(log, folder, *queries, "--finish")
        _, said = await query.communicate()
        broken = differences(log, folder, queries) if query.returncode == 0 else [said.decode()]
        with LogReader.open(log) as reader:
            note = f"{reader.end_offset} records in {len(reader.segment_paths)} segments"
    failures = (Failure(campaign=NAME, place=Place(seed=seed), message=text) for text in broken)
    return Outcome(
        done=kills, distinct=kills, failures=tuple(failures), notes=(f"seed {seed}: {note}",)
    )


async def kill_once(log: Path, folder: Path, queries: Sequence[str], rng: random.Random) -> None:
    """Start queries and kill them while their log grows: mostly after each has begun a trigger."""
    known = _triggers(folder, queries)
    query = await _start(log, folder, *queries)
    appending = asyncio.create_task(_append(log, rng))
    if rng.random() < _SHARE_WITH_TRIGGERS:
        while query.returncode is None and not all(map(gt, _triggers(folder, queries), known)):
            await asyncio.sleep(_PAUSE_S)
    await asyncio.sleep(rng.uniform(0.2, _SECONDS_MAX))
    appending.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await appending
    assert query.returncode is None, (await query.communicate())[1].decode()
    os.killpg(query.pid, signal.SIGKILL)
    await query.communicate()


def _triggers(folder: Path, queries: Sequence[str]) -> list[int]:
    """Return the number of the last trigger that each query has begun; -1: none."""
    begun = ((folder / each).glob("checkpoint/offsets/[0-9]*") for each in queries)
    return [max((int(path.name) for path in paths), default=-1) for paths in begun]


async def _append(directory: Path, rng: random.Random) -> None:
    log = await MetadataLog.open(directory, segment_size_bytes_max=_SEGMENT_SIZE_BYTES_MAX)
    try:
        for _ in range(_BATCHES_A_KILL):
            await log.append(NewBatch(records=_some_records(rng), origin=Origin(principal="ada")))
            await asyncio.sleep(_PAUSE_S)
    finally:
        await log.close()


def _some_records(rng: random.Random) -> tuple[Record, ...]:
    """Return notes and a transaction, whose changes take effect at its end or never."""
    texts = [f"{rng.random()}" for _ in range(rng.randint(1, 30))]
    notes = (NoteRecord(at_offset=0, author="ada", text=text) for text in texts)
    configs = (
        ConfigRecord(resource_type=4, resource_name=f"{rng.randint(1, 5)}", name=name, value=value)
        for name, value in zip(("num.io.threads", "log.retention.ms"), texts, strict=False)
    )
    end = rng.choice((EndTransactionRecord(), AbortTransactionRecord(reason="drill")))
    return (*notes, BeginTransactionRecord(name="drill"), *configs, end)


async def _start(log: Path, folder: Path, *more: str) -> Process:
    """Start queries in a process group of their own; wait until they run."""
    query = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.torture.killed.stream", str(log), str(folder), *more),
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    assert query.stdout is not None
    await query.stdout.readline()
    return query


def differences(log: Path, folder: Path, queries: Sequence[str]) -> list[str]:
    """Return the rows that the sinks lack, and those that they should not have."""
    with LogReader.open(log) as reader:
        records = Counter(expected_row(row) for batch in reader.batches() for row in batch.rows)
        with DuckAudit(committed_files(reader)) as opened:
            changes = _rows(opened.view("changes", Range(0, reader.end_offset - 1)))
    found: list[str] = []
    for sink in chain.from_iterable(SINKS.get(each, (each,)) for each in queries):
        copied = pyarrow.parquet.read_table(folder / f"{sink}.parquet")
        if sink == "records":
            found += _different(_rows(copied.select(["offset", "type", "data"])), records)
        else:
            found += _different(_rows(copied.drop_columns("confirmed")), changes)
    return found


def _rows(table: pyarrow.Table) -> "Counter[Row]":
    return Counter(tuple(row.values()) for row in table.to_pylist())


def _different(found: "Counter[Row]", expected: "Counter[Row]") -> list[str]:
    missing, surplus = expected - found, found - expected
    return [f"missing: {row}" for row in list(missing)[:5]] + [
        f"surplus: {row}, {count} times" for row, count in surplus.most_common(5)
    ]


def expected_row(row: Envelope) -> tuple[int, str, str]:
    """Return the offset, type and data of a row as the sink should have them."""
    name = type(row.payload).__name__
    data = redact_record(name, to_json(row.payload))
    return row.offset, name, msgspec.json.encode(data).decode()
