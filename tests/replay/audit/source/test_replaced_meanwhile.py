"""A log that is cut, replaced, archived or restored while a stream reads it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from records.errors import RequestError, UnknownHistoryError
from replay.audit.source.options import STREAMED
from replay.care.retain import retain
from tests.metadata_log.test_mirror import mirror
from tests.own_logs import write_history
from tests.replay.audit.source.reading import ALL, read, stream, triggers
from tests.replay.audit.test_log_source import levels

pytestmark = pytest.mark.spark

BATCHES = 40


async def replaced(log: Path) -> None:
    """Put another history of the same cluster in the log's place."""
    shutil.rmtree(log)
    await write_history(log, seed=6, batches=BATCHES + 10)


async def cut(log: Path) -> None:
    """Put an earlier state of the log in its place, as a restored backup has."""
    shutil.rmtree(log)
    await write_history(log, seed=5, batches=BATCHES // 2)


@pytest.mark.parametrize("relation", STREAMED)
@pytest.mark.parametrize("happens", [replaced, cut])
async def test_a_task_whose_log_was_replaced_since_it_was_planned_fails(
    tmp_path: Path, relation: str, happens: Callable[[Path], Any]
) -> None:
    log = await write_history(tmp_path / "log", seed=5, batches=BATCHES)
    reader = stream(log, relation=relation)
    start = reader.initialOffset()
    task, *_ = reader.partitions(start, reader.latestOffset(start, ALL))
    await happens(log)
    with pytest.raises(RequestError, match="the log was replaced or restored") as refused:
        list(reader.read(task))
    assert refused.value.code == "WRONG_LOG"


@pytest.mark.parametrize("relation", STREAMED)
async def test_a_task_whose_records_were_deleted_since_it_was_planned_fails(
    tmp_path: Path, relation: str
) -> None:
    log = await write_history(tmp_path / "log", seed=5, batches=BATCHES)
    reader = stream(log, relation=relation)
    start = reader.initialOffset()
    task, *_ = reader.partitions(start, reader.latestOffset(start, ALL))
    retain(log, 100, check_dropped=lambda segments: None)
    with pytest.raises(UnknownHistoryError, match="offset 0 is not kept: history starts at"):
        list(reader.read(task))


def test_a_task_whose_unconfirmed_records_kafka_replaced_fails(tmp_path: Path) -> None:
    log = mirror(tmp_path / "log", levels(1, 2, 3), confirmed_end=2)
    after = mirror(tmp_path / "after", levels(1, 2, 4, 5), confirmed_end=3)
    for relation in STREAMED:
        reader = stream(log, relation=relation, includeUnconfirmed="true")
        start = reader.initialOffset()
        (task,) = reader.partitions(start, reader.latestOffset(start, ALL))
        log.rename(tmp_path / "before")
        after.rename(log)
        with pytest.raises(RequestError, match="the unconfirmed end of a mirror was replaced"):
            list(reader.read(task))
        log.rename(after)
        (tmp_path / "before").rename(log)


@pytest.mark.parametrize("relation", STREAMED)
async def test_a_stream_that_fell_behind_goes_on_in_the_archive_and_the_log_restored_together(
    tmp_path: Path, relation: str
) -> None:
    log, cold, whole = (str(tmp_path / name) for name in ("log", "cold", "whole"))
    await write_history(Path(log), seed=5, batches=BATCHES)
    expected = read(log, relation=relation).to_pylist()
    options = {"relation": relation, "maxRecordsPerTrigger": "40"}
    start = stream(log, **options).initialOffset()
    first, rows = next(triggers(Path(log), start, **options))
    assert run(["archive", log, cold]) == 0
    assert run(["retain", log, "--before", "100"]) == 0
    with pytest.raises(UnknownHistoryError, match="are no longer kept and were not read"):
        next(triggers(Path(log), first, **options))
    assert run(["restore", cold, whole, "--tail", log]) == 0
    # The last triggers read the log again, which has been written to.
    for position, more in triggers(Path(whole), first, **options):
        rows += more
        if position["end_offset"] > 110:
            break
    for _, more in triggers(Path(log), position, **options):
        rows += more
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))
