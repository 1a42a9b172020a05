"""Which engine answers `metalog audit`, and what it says about it."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from api.cli.audit import engine
from api.cli.audit.engine import Engine, chosen_engine
from api.cli.main import run
from metadata_log.reader.log_reader import LogReader
from replay.audit import session


@pytest.fixture
def reader(demo_log: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in engine._CLUSTER:
        monkeypatch.delenv(name, raising=False)
    with LogReader.open(demo_log) as opened:
        yield opened


@pytest.mark.parametrize("names", [["who"], ["who", "state"]])
def test_duckdb_answers_named_queries_about_a_small_log(
    reader: LogReader, names: list[str]
) -> None:
    assert chosen_engine(None, names, reader) is Engine.DUCKDB


@pytest.mark.parametrize("name", ["sql", "shell", "export"])
def test_spark_takes_sql_and_exports(reader: LogReader, name: str) -> None:
    assert chosen_engine(None, [name], reader) is Engine.SPARK
    assert chosen_engine(Engine.DUCKDB, [name], reader) is Engine.DUCKDB


@pytest.mark.parametrize("name", engine._CLUSTER)
def test_spark_answers_where_a_cluster_is_given(
    reader: LogReader, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "spark://master:7077")
    assert chosen_engine(None, ["who"], reader) is Engine.SPARK


@pytest.mark.parametrize(
    ("missing", "is_small", "expected"),
    [
        ((), False, Engine.SPARK),
        (("duckdb",), True, Engine.SPARK),
        (("pyspark",), False, Engine.DUCKDB),
        (("duckdb", "pyspark"), True, Engine.SPARK),  # which says what to install
    ],
)
def test_size_of_the_log_and_what_is_installed_decide(
    reader: LogReader,
    monkeypatch: pytest.MonkeyPatch,
    missing: tuple[str, ...],
    is_small: bool,
    expected: Engine,
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(engine, "find_spec", lambda name: None if name in missing else find(name))
    monkeypatch.setattr(session, "is_small", lambda reader: is_small)
    assert chosen_engine(None, ["who"], reader) is expected


def test_answer_names_its_engine(
    reader: LogReader, demo_log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "who", str(demo_log), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["engine"] == "duckdb"


def test_duckdbs_answers_are_printed_and_stored(
    reader: LogReader, demo_log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet

    text = "SELECT time, data FROM log ORDER BY offset LIMIT 1"
    assert run(["audit", "sql", str(demo_log), text, "--engine", "duckdb"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["time", "data"]
    assert run(["audit", "who", "deletions", str(demo_log), "--to", str(tmp_path / "out")]) == 0
    table = pyarrow.parquet.read_table(tmp_path / "out" / "who.parquet")
    assert table["changes"][0].as_py() > 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("sql", "{log}", "SELECT nothing FROM log", "--engine", "duckdb"),
        ("out-of-hours", "{log}", "--set", "zone=Nowhere"),
        ("who", "{log}", "--engine", "other"),
        ("export", "{log}", "--to", "elsewhere", "--engine", "duckdb"),
    ],
)
def test_what_duckdb_cannot_do_is_an_error_of_the_caller(
    reader: LogReader,
    demo_log: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    assert run(["audit", *[each.replace("{log}", str(demo_log)) for each in arguments]]) in (2, 3)
    assert capsys.readouterr().err.startswith(("error: INVALID_REQUEST", "error: USAGE"))
