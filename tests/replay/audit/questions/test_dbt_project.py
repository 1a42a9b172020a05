"""docs/dbt: its models have the same rows in DuckDB, over exported changes, and in PostgreSQL."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy import URL

from api.cli.main import run
from tests.postgres import new_database, text_of
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.audit.questions.events import read
from tests.replay.audit.questions.logs import export_changes, imported

ROOT = Path(__file__).parents[4]
DBT = ROOT / ".venv" / "dbt" / "bin" / "dbt"
MARTS = ("availability_by_team", "access_reviews", "change_volume")
TARGETS = ("duckdb", "postgres")

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]


@pytest.fixture(autouse=True)
def _dbt() -> None:
    if not DBT.exists():
        assert "METALOG_REQUIRE_CLIENTS" not in os.environ, "make .venv/dbt/installed"
        pytest.skip("dbt is not installed: make .venv/dbt/installed")


def test_marts_of_an_own_log(own_log: tuple[Path, int], postgres: URL, tmp_path: Path) -> None:
    log, _ = own_log
    marts = built(log, postgres, tmp_path)
    assert len(marts["access_reviews"]) == 5
    assert {row["granted_by"] for row in marts["access_reviews"]} != {None}
    asked = read(log, 0, "", "")
    changed = {
        each.offset
        for each in asked.of(
            *("TopicRecord", "MoveTopicRecord", "RemoveTopicRecord", "ConfigRecord"),
            *("AccessControlEntryRecord", "RemoveAccessControlEntryRecord"),
        )
    }
    # Some records set a config to the value that it has.
    assert 0.9 * len(changed) < sum(row["records"] for row in marts["change_volume"])
    assert sum(row["records"] for row in marts["change_volume"]) <= len(changed)


@each_data_set_where(
    lambda each: str(each) == "ogs59-3node-history/data_kafka-2", is_heavy=lambda each: True
)
def test_marts_of_a_real_log(postgres: URL, tmp_path: Path, data_set: DataSet) -> None:
    marts = built(imported(data_set, tmp_path), postgres, tmp_path)
    assert sum(row["unavailable_ms"] for row in marts["availability_by_team"]) > 0


def built(log: Path, postgres: URL, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Build the project in both databases, and return the rows of its marts, which are equal."""
    export_changes(log, folder / "changes")
    project = folder / "dbt"
    shutil.copytree(ROOT / "docs" / "dbt", project)
    with new_database(postgres) as url:
        synced = ["sql", "sync", str(log), "--database", text_of(url), "--include-unconfirmed"]
        assert run(synced) == 0
        environment = {
            "METALOG_CHANGES": str(folder / "changes"),
            "METALOG_DBT_DUCKDB": str(folder / "marts.duckdb"),
            "PGHOST": str(url.host),
            "PGPORT": str(url.port),
            "PGUSER": str(url.username),
            "PGPASSWORD": str(url.password),
            "PGDATABASE": str(url.database),
        }
        for target in TARGETS:
            _dbt_runs(project, target, environment, "build")
            _dbt_runs(project, target, environment, "source", "freshness")
        newest = [_newest(project / target / "sources.json") for target in TARGETS]
        assert newest[0] == newest[1]
        with psycopg.connect(text_of(url)) as server:
            return {mart: _equal_rows(server, folder / "marts.duckdb", mart) for mart in MARTS}


def _dbt_runs(project: Path, target: str, environment: Mapping[str, str], *words: str) -> None:
    places = ("--profiles-dir", ".", "--target", target, "--target-path", target)
    done = subprocess.run(
        [str(DBT), "--no-use-colors", *words, *places],
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def _newest(path: Path) -> str:
    """Return the time of the newest record, as `dbt source freshness` found it."""
    (found,) = json.loads(path.read_text())["results"]
    return str(found["max_loaded_at"])


def _equal_rows(server: psycopg.Connection[Any], file: Path, mart: str) -> list[dict[str, Any]]:
    import duckdb

    found = server.execute(SQL("SELECT * FROM marts.{}").format(Identifier(mart)))
    names = [each.name for each in found.description or ()]
    rows = found.fetchall()
    with duckdb.connect(str(file)) as local:
        others = local.execute(f"SELECT {', '.join(names)} FROM {mart}").fetchall()
    assert sorted(map(repr, map(_texts, rows))) == sorted(map(repr, map(_texts, others)))
    return [dict(zip(names, row, strict=True)) for row in rows]


def _texts(row: tuple[Any, ...]) -> list[str]:
    return [str(value) for value in row]
