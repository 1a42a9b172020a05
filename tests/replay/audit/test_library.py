"""The audit used as a library, and the programs in docs/audit.md."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from records.errors import RequestError
from replay import audit
from tests.audit_document import DOCUMENT, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_log_is_asked_from_a_session_of_the_caller(spark: "SparkSession", demo_log: Path) -> None:
    mine = spark.sql("SELECT 'User:bob' AS principal, 'Bob' AS person")
    with audit.open(demo_log, spark) as log:
        records = log.log(10, 19)
        assert records.selectExpr("min(offset)", "max(offset)", "count(*)").first() == (10, 19, 10)
        people = log.log().join(mine, "principal").select("person").distinct().collect()
        assert [tuple(row) for row in people] == [("Bob",)]
        first = log.log(40, 40).selectExpr("timestamp").first()
        assert first is not None
        time = datetime.datetime.fromtimestamp(first[0] / 1_000, datetime.UTC)
        assert log.log(time, time).where("offset = 40").count() == 1
        assert log.log(time.isoformat(), "40").where("offset = 40").count() == 1
        assert log.state("topics", at="40").count() == log.state("topics", at=40).count()
        with pytest.raises(RequestError, match="'noon' is neither an offset nor a time"):
            log.state("topics", at="noon")
        with pytest.raises(RequestError, match="has no time zone"):
            log.log(time.replace(tzinfo=None))
        with pytest.raises(RequestError, match="'topic' is no part of the state; write acls, "):
            log.state("topic")
    assert spark._jsc.getPersistentRDDs().size() == 0
    assert spark.sql("SELECT 1").first() == (1,)


def test_a_query_with_an_unknown_column_is_refused_in_a_line(
    spark: "SparkSession", demo_log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from pyspark.errors import AnalysisException

    with audit.open(demo_log, spark) as log:
        for ask in (log.sql, log.log().selectExpr):
            with pytest.raises(AnalysisException, match="`nope` cannot be resolved"):
                ask("SELECT nope FROM changes" if ask == log.sql else "nope").collect()
    assert capfd.readouterr().err == ""


# Every query in Spark, one after the other: minutes on a busy machine.
@pytest.mark.timeout(1_200)
def test_document_has_every_query_with_its_answer_and_a_notebook_that_runs(
    spark: "SparkSession", demo_log: Path, tmp_path: Path
) -> None:
    text = DOCUMENT.read_text("utf-8")
    assert written(text, spark, demo_log, tmp_path) == text
