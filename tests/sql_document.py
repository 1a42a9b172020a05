"""The queries in docs/sql.md, each with the output of a database in the block below it.

`python -m tests.sql_document` runs them in SQLite and writes the results into the document; a test
compares them, and runs the same queries in PostgreSQL.
"""

import re
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from api.cli.main import run

DOCUMENT = Path(__file__).parents[1] / "docs" / "sql.md"

Answer = tuple[list[str], list[Sequence[Any]]]
"""Names of columns, and rows."""

_QUERY = re.compile(
    r"^```sql\n(?P<query>.*?)^```\n(\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL
)


_SECONDS = r"'YYYY-MM-DD HH24:MI:SS'"
# What is written differently: times.
_POSTGRESQL = (
    (r"datetime\((\S+) / 1000, 'unixepoch'\)", rf"to_char(\1 AT TIME ZONE 'UTC', {_SECONDS})"),
    (
        r"datetime\((\S+) / 3600000 \* 3600, 'unixepoch'\)",
        rf"to_char(date_trunc('hour', \1) AT TIME ZONE 'UTC', {_SECONDS})",
    ),
    (r"\((\S+_time - \S+_time)\) / 1000", r"trunc(extract(epoch FROM \1))"),
    (r"unixepoch\('([^']+)'\) \* 1000", r"timestamptz '\1Z'"),
)


def demo_history(directory: Path, *options: str) -> Path:
    """Write the log that the document queries, and its history; return the log."""
    log = directory / "log"
    assert run(["demo", str(log), "--topics", "20", "--changes", "400", "--json"]) == 0
    assert run(["sql", "sync", str(log), "--json", *options]) == 0
    return log


def answered(text: str, ask: Callable[[str], Answer]) -> str:
    """Return a document with the results of its queries."""
    return _QUERY.sub(lambda found: _block(found["query"], *ask(found["query"])), text)


def sqlite_answers(database: Path) -> Callable[[str], Answer]:
    """Return a function that queries a SQLite file."""

    def ask(query: str) -> Answer:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            cursor = connection.execute(query)
            return [column[0] for column in cursor.description], cursor.fetchall()

    return ask


def for_postgresql(query: str) -> str:
    """Return a query of the document in the SQL dialect of PostgreSQL."""
    for sqlite, postgresql in _POSTGRESQL:
        query = re.sub(sqlite, postgresql, query)
    return query


def _block(query: str, names: list[str], found: list[Sequence[Any]]) -> str:
    rows = [names, *([_text(value) for value in row] for row in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return f"```sql\n{query}```\n\n```text\n" + "\n".join(lines) + "\n```\n"


def _text(value: object) -> str:
    return "-" if value is None else str(value)


def main() -> None:
    """Write the results into the document."""
    with tempfile.TemporaryDirectory() as directory:
        ask = sqlite_answers(demo_history(Path(directory)) / "history.db")
        DOCUMENT.write_text(answered(DOCUMENT.read_text("utf-8"), ask), "utf-8")


if __name__ == "__main__":
    main()
