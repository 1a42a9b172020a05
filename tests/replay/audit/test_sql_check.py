"""The statements that `audit sql` refuses, before Spark looks up any table or function."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from api.cli.main import run
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError, UnavailableError
from replay.audit.audit import Audit
from replay.audit.client_parser import client_parser
from replay.audit.committed_files import committed_files
from replay.audit.queries.asking import Range
from replay.audit.session import activated, separate_session
from replay.audit.sql_check import (
    as_frame,
    check_analyzed,
    check_parsed,
    check_server_functions,
    parse_query,
)
from replay.audit.sql_kinds import FUNCTIONS, TABLE_FUNCTIONS
from replay.audit.view_names import VIEWS
from tests.replay.audit.statements import QUERIES, STATEMENTS, UNSUPPORTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_REFUSED = """
    java_method reflect try_reflect
    from_avro schema_of_avro to_avro from_protobuf to_protobuf
    from_xml schema_of_xml to_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long
    xpath_number xpath_short xpath_string
    input_file_block_length input_file_block_start input_file_name
    measure st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid
"""
REFUSED_FUNCTIONS = frozenset(_REFUSED.split())
"""They run code, read files that they name (descriptors, document types), tell where files lie, or
belong to data that a log does not have."""
REFUSED_TABLE_FUNCTIONS = frozenset({"collations", "python_worker_logs", "sql_keywords"})

ALLOWED = (
    "SELECT type, count(*) AS n FROM log GROUP BY type HAVING n > 1 ORDER BY n DESC LIMIT 3",
    "SELECT name, row_number() OVER (PARTITION BY 1 ORDER BY name) AS n FROM topics QUALIFY n = 1",
    "WITH a AS (SELECT * FROM log), LOG AS (SELECT 1 AS x FROM a) SELECT * FROM log, a",
    "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) FROM r",
    "SELECT * FROM topics t LEFT JOIN configs c ON t.name = c.resource_name AND c.value IS UNKNOWN",
    "SELECT * FROM partitions LATERAL VIEW OUTER posexplode(isr) AS place, broker_id",
    "SELECT * FROM topics, LATERAL (SELECT count(*) FROM partitions p WHERE p.topic_id = topic_id)",
    "SELECT * FROM (SELECT type, 1 AS x FROM log) PIVOT (sum(x) FOR type IN ('TopicRecord' AS t))",
    "SELECT * FROM (SELECT offset, timestamp FROM log) UNPIVOT (v FOR n IN (offset, timestamp))",
    "FROM log |> WHERE offset > 3 |> AGGREGATE count(*) AS n GROUP BY type |> ORDER BY n",
    "SELECT /*+ COALESCE(1) */ transform(isr, x -> x + 1)[0] FROM partitions TABLESAMPLE (9 ROWS)",
    "SELECT 1 UNION SELECT 2 EXCEPT (SELECT 3 INTERSECT VALUES (4))",
    "SELECT try_cast('a' AS INT), date_trunc('HOUR', time), INTERVAL '1' DAY + time FROM log",
    "SELECT 1 FROM log a WHERE offset = (SELECT max(offset) FROM log b WHERE a.type = b.type)",
    "SELECT * FROM range(3), LATERAL explode(array(1, 2)), VALUES ('a', 2) AS t(x, y)",
    "TABLE topics",
    "DESCRIBE log",
)


@pytest.fixture
def own(spark: "SparkSession") -> "Iterator[SparkSession]":
    with separate_session(spark) as session, activated(session):
        yield session


def refusal(session: "SparkSession", text: str) -> str:
    """Return the reason why a statement is refused, by us or by Spark's parser."""
    from pyspark.errors import ParseException

    try:
        check_parsed(parse_query(session, text), VIEWS)
    except (RequestError, ParseException) as error:
        return str(error)
    return ""


def test_no_kind_of_statement_but_a_query_is_accepted(own: "SparkSession") -> None:
    for kind, texts in STATEMENTS.items():
        for text in texts:
            why = refusal(own, text)
            assert "not allowed here" in why or (kind in UNSUPPORTED and why), text


def test_every_kind_of_statement_in_the_grammar_is_tried(own: "SparkSession") -> None:
    """If a release of Spark adds a statement, this fails until an example of it is added."""
    grammar = "org.apache.spark.sql.catalyst.parser.SqlBaseParser"
    classes = own._jvm.java.lang.Class
    statement = classes.forName(f"{grammar}$StatementContext")
    kinds = {
        kind.getSimpleName().removesuffix("Context")
        for kind in classes.forName(grammar).getDeclaredClasses()
        if statement.isAssignableFrom(kind)
    }
    # The query itself is what is allowed.
    assert kinds - set(STATEMENTS) == {"Statement", "StatementDefault"}


def test_query_that_does_more_than_read_the_views_is_refused(own: "SparkSession") -> None:
    for text in QUERIES:
        assert "not allowed here" in refusal(own, text), text


def test_every_function_that_is_not_listed_is_refused(own: "SparkSession") -> None:
    """If a release of Spark adds a function, this fails until the function has been reviewed."""
    analysis = own._jvm.org.apache.spark.sql.catalyst.analysis
    scalars = names_in(analysis.FunctionRegistry.builtin())
    tables = names_in(analysis.TableFunctionRegistry.builtin())
    assert scalars - FUNCTIONS == REFUSED_FUNCTIONS
    assert tables - TABLE_FUNCTIONS == REFUSED_TABLE_FUNCTIONS
    assert scalars >= FUNCTIONS
    assert tables >= TABLE_FUNCTIONS
    for name in REFUSED_FUNCTIONS:
        assert "is not allowed here" in refusal(own, f"SELECT {name}('a', 'b')"), name
    for name in REFUSED_TABLE_FUNCTIONS | REFUSED_FUNCTIONS | {"abs"}:
        assert "is not allowed here" in refusal(own, f"SELECT * FROM {name}('a')"), name


def names_in(registry: object) -> set[str]:
    names = registry.listFunction().iterator()  # type: ignore[attr-defined]
    found = set()
    while names.hasNext():
        found.add(names.next().funcName())
    return found


def test_query_that_reads_the_views_is_accepted(own: "SparkSession") -> None:
    for text in ALLOWED:
        assert refusal(own, text) == "", text


def test_analyzed_plan_of_a_query_over_views_is_accepted(own: "SparkSession") -> None:
    own.sql(
        "SELECT 'x' AS type, 1 AS offset, 1 AS timestamp, now() AS time"
    ).createOrReplaceTempView("log")
    for text in (t for t in ALLOWED if check_parsed(parse_query(own, t), VIEWS).views <= {"log"}):
        check_analyzed(as_frame(own, parse_query(own, text)))


def test_analyzed_plan_that_leads_elsewhere_is_refused(own: "SparkSession", tmp_path: Path) -> None:
    """The second check, of the analyzed plan, also works alone: here no name was refused."""
    own.sql("SELECT 1 AS x").createOrReplaceTempView("log")
    own.udf.register("mine", lambda: "x")
    (tmp_path / "secret").write_text("x")
    elsewhere = own.read.text(str(tmp_path / "secret"))
    for frame in (
        elsewhere,
        own.sql("SELECT mine() FROM log"),
        own.sql("SELECT 1 FROM log WHERE EXISTS (SELECT mine())"),
        own.sql("SELECT reflect('java.lang.Math', 'random') FROM log"),
        own.table("log").join(elsewhere),
    ):
        with pytest.raises(RequestError, match="is not allowed here"):
            check_analyzed(frame)


def test_function_of_a_server_that_is_called_like_one_of_spark_is_refused(
    own: "SparkSession",
) -> None:
    check_server_functions(own)
    own.sql("CREATE TEMPORARY FUNCTION upper(x STRING) RETURNS STRING RETURN x")
    with pytest.raises(UnavailableError, match="Spark's built-in functions: upper;"):
        check_server_functions(own)


def test_server_of_another_release_is_refused_with_what_to_do() -> None:
    server = SimpleNamespace(version="4.2.0")
    with pytest.raises(UnavailableError, match=r"install pyspark==4\.2\.0 here, or run"):
        client_parser(cast("SparkSession", server))


def test_refusal_names_what_is_refused_and_what_is_allowed(own: "SparkSession") -> None:
    assert refusal(own, "SELECT reflect('a', 'b')").startswith(
        "function reflect is not allowed here: a query may call Spark's built-in functions"
    )
    path = refusal(own, "SELECT * FROM text.`/etc/passwd`")
    assert path.startswith("relation text.`/etc/passwd` is not allowed here: ")
    assert all(view in path for view in VIEWS)


def test_caller_keeps_its_views_functions_and_settings(
    spark: "SparkSession", demo_log: Path
) -> None:
    spark.sql("SELECT 'mine' AS x").createOrReplaceTempView("log")
    spark.sql("SELECT 'mine' AS x").createOrReplaceTempView("elsewhere")
    spark.udf.register("least", lambda *values: "mine")
    try:
        with LogReader.open(demo_log) as reader:
            files, offsets = committed_files(reader), Range(0, 9)
        query = "SELECT count(*), least(2, 1), '${env:HOME}' FROM log"
        with Audit(spark, files) as audit:
            frame = audit.sql(query, offsets)
            assert tuple(frame.first()) == (10, 1, "${env:HOME}")
            with pytest.raises(RequestError, match="relation elsewhere"):
                audit.sql("SELECT * FROM elsewhere", offsets)
        assert spark.table("log").first()["x"] == "mine"
        assert spark.getActiveSession()._jsparkSession.equals(spark._jsparkSession)
    finally:
        spark.catalog.dropTempView("log")
        spark.catalog.dropTempView("elsewhere")
        spark.sql("DROP TEMPORARY FUNCTION IF EXISTS least")


def test_kept_frames_are_freed(spark: "SparkSession", demo_log: Path) -> None:
    with LogReader.open(demo_log) as reader:
        files = committed_files(reader)
    query = "SELECT count(*) FROM changes"
    with Audit(spark, files, keep=True) as audit:
        audit.sql(query, Range(0, files.end_offset - 1)).collect()
        assert spark._jsc.getPersistentRDDs().size() > 0
    assert spark._jsc.getPersistentRDDs().size() == 0


def test_command_that_would_overwrite_the_log_leaves_it_whole(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    assert run(["demo", str(log), "--topics", "2", "--changes", "10", "--json"]) == 0
    before = {path.name: path.read_bytes() for path in log.iterdir()}
    attack = f"INSERT OVERWRITE DIRECTORY '{log}' USING parquet SELECT 1 AS x"
    capsys.readouterr()
    assert run(["audit", "sql", str(log), attack, "--json"]) == 3
    said = capsys.readouterr()
    error = json.loads(said.err)
    assert error["code"] == "INVALID_REQUEST"
    assert error["message"].startswith("InsertIntoDir is not allowed here: ")
    assert said.out == ""
    assert {path.name: path.read_bytes() for path in log.iterdir()} == before
    assert run(["verify", str(log), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
