"""Texts from a log do nothing to a terminal when an engine answers: rows, headings, errors."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from api.cli.main import run
from replay.audit.queries import QUERIES
from tests.hostile_log import HOSTILE, OBEYED, write_hostile_log

pytestmark = pytest.mark.spark

_QUERIES_OF_A_LOG = [name for name, query in QUERIES.items() if not query.parameters]
_HEADING = f"select 1 as `{HOSTILE.replace('`', '``')}`"
_FAILING = "select raise_error(name) from topics where name like '%script%'"
_DUCKDB = ("--engine", "duckdb")
_DUCKDB_HEADING = 'select 1 as "{}"'.format(HOSTILE.replace('"', '""'))
_DUCKDB_FAILING = "select error(name) from topics where name like '%script%'"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which every text is hostile."""
    log = tmp_path_factory.mktemp("hostile") / "log"
    write_hostile_log(log)
    return log


@pytest.mark.parametrize(
    "arguments",
    [
        (*_QUERIES_OF_A_LOG, "{log}", "--engine", "spark"),
        ("sql", "{log}", "select * from log"),
        ("sql", "{log}", "select map(name, array(name)) as found from topics"),
        ("sql", "{log}", _HEADING),
        ("sql", "{log}", _FAILING),
        (*_QUERIES_OF_A_LOG, "{log}", *_DUCKDB),
        ("sql", *_DUCKDB, "{log}", "select * from log"),
        ("sql", *_DUCKDB, "{log}", "select map {name: [name]} as found from topics"),
        ("sql", *_DUCKDB, "{log}", _DUCKDB_HEADING),
        ("sql", *_DUCKDB, "{log}", _DUCKDB_FAILING),
    ],
    ids=[
        *("queries", "log", "nested", "heading", "error"),
        *("duckdb-queries", "duckdb-log", "duckdb-nested", "duckdb-heading", "duckdb-error"),
    ],
)
def test_no_answer_has_what_a_terminal_obeys(
    capsys: pytest.CaptureFixture[str], log: Path, arguments: Sequence[str]
) -> None:
    command = ["audit", *[argument.replace("{log}", str(log)) for argument in arguments]]
    for options in ([], ["--json"]):
        code = run([*command, *options])
        answer = capsys.readouterr()
        assert (code == 0) == (arguments[-1] not in (_FAILING, _DUCKDB_FAILING)), answer.err
        told = answer.err if code else answer.out
        assert "img src=x" in told
        assert [hex(ord(char)) for char in OBEYED.findall(answer.out + answer.err)] == []
        assert "\n\t" not in told, "a name forged a line"
    assert json.loads(told)
