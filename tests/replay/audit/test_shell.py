"""`metalog audit shell`: queries from a pipe, with one start of Spark."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from api.cli.audit.shell import query_with_parameters, statements
from api.cli.main import run
from records.errors import RequestError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

INPUT = """
who
SHOW TABLES;
SELECT count(*) AS n
FROM log
WHERE offset BETWEEN 10 AND 19;
out-of-hours zone=Asia/Tokyo from_hour=0 to_hour=24
leader-churn everything
"""


def test_shell_answers_until_an_error(
    spark: "SparkSession",
    demo_log: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(INPUT))
    assert run(["audit", "shell", str(demo_log), "--json", "--limit", "2"]) == 3
    shown = capsys.readouterr()
    who, tables, counted, late = (json.loads(line) for line in shown.out.splitlines())
    assert (who["query"], len(who["rows"]), who["truncated"]) == ("who", 2, True)
    assert tables["columns"] == ["view", "about"]
    assert counted["rows"] == [[10]]
    assert late["query"] == "out-of-hours"
    assert "'everything' is not NAME=VALUE" in shown.err


def test_value_of_a_parameter_may_be_in_a_file(tmp_path: Path) -> None:
    zone = tmp_path / "zone"
    zone.write_text("Asia/Tokyo")
    query, parameters = query_with_parameters(["out-of-hours", f"zone=@{zone}", "to_hour=7"])
    assert (query.name, parameters) == ("out-of-hours", {"zone": "Asia/Tokyo", "to_hour": 7})
    with pytest.raises(RequestError, match=r"missing: .*No such file"):
        query_with_parameters(["out-of-hours", f"zone=@{tmp_path}/missing"])


def test_statements_end_with_a_line_or_a_semicolon() -> None:
    lines = ["who", "", "list;", "SELECT 1", "  FROM log;", "objects", "VALUES 1", "exit", ""]
    assert list(statements(lines)) == [
        "who",
        "list",
        "SELECT 1\n  FROM log",
        "objects",
        "VALUES 1\nexit",
    ]
    assert list(statements(["exit", "who"])) == []
