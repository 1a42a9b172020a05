"""Migrations by the plain `alembic` command, with the file `alembic.ini`."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import URL, create_engine, inspect

from replay.snapshot.schema import HISTORY, SHARED_LOG, SNAPSHOTS, Schema
from tests.docs_console import ROOT
from tests.forked_commands import ALEMBIC
from tests.postgres import text_of

CHAINS = {"snapshots": SNAPSHOTS, "history": HISTORY, "shared_log": SHARED_LOG}


def alembic(*arguments: str, command: Sequence[str] = ALEMBIC) -> tuple[int, str]:
    """Run the command, forked or started; return its exit code and its output."""
    words = [*command, "-c", str(ROOT / "alembic.ini"), *arguments]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        (tmp_path / "made.db").touch()
        return f"sqlite:///{tmp_path}/made.db"
    empty: URL = request.getfixturevalue("postgres_url")
    return text_of(empty)


def tables(url: str) -> set[str]:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        return set(inspect(engine).get_table_names())
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    ("chain", "url"),
    [(chain, kind) for chain in CHAINS for kind in ("sqlite", "postgresql")
     if (chain, kind) != ("shared_log", "sqlite")],
    indirect=["url"],
)  # fmt: skip
def test_up_and_down(chain: str, url: str) -> None:
    schema: Schema = CHAINS[chain]
    named = ("-n", chain, "-x", f"database={url}")
    code, said = alembic(*named, "upgrade", "head")
    assert code == 0, said
    made = tables(url)
    assert {*schema.tables, schema.version_table} <= made
    assert f"{schema.revision} (head)" in alembic(*named, "current")[1]

    code, said = alembic(*named, "downgrade", "base")
    assert code != 0
    assert "nothing has changed; with `-x drop=yes` this downgrade would do:" in said
    steps = [f"{number:04}" for number in range(int(schema.revision), 0, -1)]
    assert re.findall(r"^  (\d{4}): [A-Z].*\.$", said, re.MULTILINE) == steps
    assert tables(url) == made
    assert f"{schema.revision} (head)" in alembic(*named, "current")[1]

    code, said = alembic(*named, "-x", "drop=yes", "downgrade", "base")
    assert code == 0, said
    assert tables(url) == {schema.version_table}


def test_a_database_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    started = [sys.executable, "-m", "alembic"]
    code, said = alembic("-n", "history", "current", command=started)
    assert code != 0
    assert "FAILED: name the database: `-x database=URL`" in said
    missing = f"sqlite:///{tmp_path}/none.db"
    code, said = alembic("-n", "history", "-x", f"database={missing}", "upgrade", "head")
    assert code != 0
    assert "none.db does not exist yet; make it with `metalog sql sync`" in said
    assert not list(tmp_path.iterdir())
