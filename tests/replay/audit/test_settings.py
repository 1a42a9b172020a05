"""The SQL settings of a caller's application do not change the answers."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from replay.audit.audit import Audit
from replay.audit.queries.asking import Range
from replay.audit.session import activated, separate_session
from tests.histories import random_history
from tests.replay.audit.log_on_disk import write_log
from tests.replay.audit.test_agreement import lines_by_replay
from tests.replay.builders import FakeLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ODD = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.files.maxPartitionNum": "1",
    "spark.sql.files.openCostInBytes": "1",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}
"""Each of them is allowed, and with some an audit in the caller's session fails."""


@contextmanager
def odd_session(spark: "SparkSession") -> "Iterator[SparkSession]":
    """A session of an application with unusual settings, as from spark-defaults.conf."""
    application = spark._jsparkSession.sharedState().conf()
    before = {name: application.get(name) for name in ODD if application.contains(name)}
    for name, value in ODD.items():
        application.set(name, value)
    session = spark.newSession()
    for name, value in ODD.items():
        session.conf.set(name, value)
    try:
        with activated(session):
            yield session
    finally:
        for name in ODD:
            application.remove(name)
        for name, value in before.items():
            application.set(name, value)


def test_settings_of_the_application_change_no_answer(
    spark: "SparkSession", tmp_path: Path
) -> None:
    history = random_history(random.Random(1), 120)
    files, log = write_log(tmp_path, history, batches_a_segment=15), FakeLog(history)
    every = Range(0, log.end_offset - 1)
    with Audit(spark, files) as audit:
        expected = sorted(audit.view("changes", every).selectExpr(*_COMPARED).collect())
    with odd_session(spark) as odd, Audit(odd, files) as audit:
        assert odd.newSession().conf.get("spark.sql.files.maxPartitionNum") == "1"
        parts = audit.view("part_digests", every).collect()
        found = sorted(audit.view("changes", every).selectExpr(*_COMPARED).collect())
    assert found == expected
    lines = {f"{' '.join(map(str, part))}\n" for part in parts}
    assert lines == set(lines_by_replay(log, every.last))


_COMPARED = (
    *("offset", "unix_millis(hour) AS hour", "kind", "id", "field", "record", "in_effect"),
    *("coalesce(before, 'null') AS before", "coalesce(after, 'null') AS after"),
)


def test_audits_of_an_application_share_its_python_workers(spark: "SparkSession") -> None:
    name = "spark.sql.artifact.isolation.enabled"
    assert spark.conf.get(name) == "false"
    with separate_session(spark) as own:
        assert own.conf.get(name) == "false"
