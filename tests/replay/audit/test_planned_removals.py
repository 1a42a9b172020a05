"""The audit counts what the commands count: planned removals are no outages."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from records.text import uuid_text
from replay.audit.audit import Audit
from replay.audit.duck.engine import DuckAudit
from replay.audit.log_files import LogFiles
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.incidents.health import LEADERLESS, UNDER_REPLICATED
from replay.incidents.outages import find_outages
from tests.replay.audit.log_on_disk import write_log
from tests.replay.builders import FakeLog, batches, uid
from tests.replay.planned_removal import REMOVED, SHRUNK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = FakeLog(batches(*SHRUNK, (REMOVED,)))

Sums = dict[tuple[str, str], tuple[int, int]]
"""How often and how long, by the partition's id and the kind of outage."""

EXPECTED: Sums = {
    (f"{uuid_text(uid('orders'))}/{number}", kind): sums
    for number, kind, sums in (
        (0, LEADERLESS, (1, 9_000)),
        (2, LEADERLESS, (1, 6_000)),
        (2, UNDER_REPLICATED, (1, 6_000)),
        (3, UNDER_REPLICATED, (1, 8_000)),
    )
}


@pytest.fixture
def files(tmp_path: Path) -> LogFiles:
    return write_log(tmp_path, LOG.log)


def everything(files: LogFiles) -> Range:
    return Range(files.history_start, files.end_offset - 1)


def test_outages_by_replay() -> None:
    found: Counter[tuple[str, str]] = Counter()
    lengths: Counter[tuple[str, str]] = Counter()
    for each in find_outages(LOG, LOG.end_offset).intervals:
        assert each.topic_id is not None
        key = (f"{uuid_text(each.topic_id)}/{each.object.rpartition('/')[2]}", each.kind)
        found[key] += 1
        lengths[key] += each.duration_ms
    assert {key: (count, lengths[key]) for key, count in found.items()} == EXPECTED


def test_availability_in_duckdb(files: LogFiles) -> None:
    with DuckAudit(files) as audit:
        found = audit.query(QUERIES["availability"], everything(files))
    assert sums(found.to_pylist()) == EXPECTED


@pytest.mark.spark
def test_availability_in_spark(spark: "SparkSession", files: LogFiles) -> None:
    with Audit(spark, files) as audit:
        found = audit.query(QUERIES["availability"], everything(files)).collect()
    assert sums([row.asDict() for row in found]) == EXPECTED


def test_a_range_that_begins_with_the_removal_has_only_the_other_outage(files: LogFiles) -> None:
    with DuckAudit(files) as audit:
        found = audit.query(QUERIES["availability"], Range(13, files.end_offset - 1))
    (id_,) = {row["id"] for row in found.to_pylist()}
    assert id_.endswith("/0")


def sums(rows: list[dict[str, object]]) -> dict[tuple[object, str], tuple[object, object]]:
    columns = {
        LEADERLESS: ("outages", "unavailable_ms"),
        UNDER_REPLICATED: ("shortages", "under_replicated_ms"),
    }
    return {
        (row["id"], kind): (row[count], row[ms])
        for row in rows
        for kind, (count, ms) in columns.items()
        if row[count]
    }
