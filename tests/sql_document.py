"""The queries of docs/sql.md, each with what SQLite prints, in a block below it.

`python -m tests.sql_document` runs them and writes the answers into the document; a test compares.
"""

import re
import sqlite3
import tempfile
from pathlib import Path

from api.cli.main import run

DOCUMENT = Path(__file__).parents[1] / "docs" / "sql.md"

_QUERY = re.compile(
    r"^```sql\n(?P<query>.*?)^```\n(\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL
)


def answered(text: str, directory: Path) -> str:
    """Return a document with the answers to its queries on a demo's history."""
    log = str(directory / "log")
    assert run(["demo", log, "--topics", "20", "--changes", "400", "--json"]) == 0
    assert run(["sql", "sync", log, "--json"]) == 0
    connection = sqlite3.connect(f"file:{log}/history.db?mode=ro", uri=True)
    try:
        return _QUERY.sub(lambda found: _block(connection, found["query"]), text)
    finally:
        connection.close()


def _block(connection: sqlite3.Connection, query: str) -> str:
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    rows = [names, *([_text(value) for value in row] for row in cursor)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return f"```sql\n{query}```\n\n```text\n" + "\n".join(lines) + "\n```\n"


def _text(value: object) -> str:
    return "-" if value is None else str(value)


def main() -> None:
    """Write the answers into the document."""
    with tempfile.TemporaryDirectory() as directory:
        DOCUMENT.write_text(answered(DOCUMENT.read_text("utf-8"), Path(directory)), "utf-8")


if __name__ == "__main__":
    main()
