"""Formats and stores Spark's answers, for the commands `audit` and `audit shell`."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from api.cli.terminal.output import print_line, print_table, value_text
from metadata_log.files.names import MANIFEST
from records.errors import RequestError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from api.documents.audits import AuditRows, RowsWritten


def rows_of(frame: "DataFrame", limit: int) -> "AuditRows":
    """Run a query and return at most `limit` rows of its answer."""
    from api.documents.audits import AuditRows

    found = frame.limit(limit + 1).collect()
    rows = [[_plain(value) for value in row] for row in found[:limit]]
    return AuditRows(truncated=len(found) > limit, columns=frame.columns, rows=rows)


def write_rows(frame: "DataFrame", name: str, to: str) -> "RowsWritten":
    """Run a query and write all rows of its answer to `NAME.parquet`, replacing an older file.

    Args:
        to: A directory, created if necessary, or `s3://bucket/prefix`.

    Raises:
        RequestError: INVALID_REQUEST: `to` is a log or not a directory.
        UnavailableError: another process writes there.
    """
    import pyarrow
    from pyarrow.parquet import write_table

    from api.documents.audits import RowsWritten
    from metadata_log.stores.store import open_store

    store = open_store(to.removeprefix("file://"))
    if MANIFEST in store.names():
        raise RequestError("INVALID_REQUEST", f"{to} is a log; name another directory")
    table = frame.toArrow()
    content = pyarrow.BufferOutputStream()
    write_table(table, content)
    lock = store.prepare()
    try:
        store.put(f"{name}.parquet", [content.getvalue().to_pybytes()])
    finally:
        if lock is not None:
            lock.release()
    return RowsWritten(file=f"{store.directory / name}.parquet", row_count=table.num_rows)


@contextmanager
def refusing() -> Iterator[None]:
    """Convert Spark's errors about a user's query, raised in the body, to RequestError."""
    from pyspark import errors

    try:
        yield
    except (
        errors.AnalysisException,
        errors.ArithmeticException,
        errors.ArrayIndexOutOfBoundsException,
        errors.DateTimeException,
        errors.IllegalArgumentException,
        errors.NumberFormatException,
        errors.ParseException,
        errors.SparkRuntimeException,
    ) as error:
        what = error.getMessage() if hasattr(error, "getMessage") else str(error)
        raise RequestError("INVALID_REQUEST", what.split(";")[0]) from error


def _plain(value: Any) -> Any:
    """Convert a value from Spark to a JSON value."""
    from pyspark.sql import Row

    from records.text import bytes_text

    match value:
        case datetime.datetime():
            return value.replace(tzinfo=datetime.UTC).isoformat().replace("+00:00", "Z")
        case bytes() | bytearray():
            return bytes_text(bytes(value))
        case Row():
            return {name: _plain(item) for name, item in value.asDict().items() if item is not None}
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
    return value


def print_rows(answer: "AuditRows") -> None:
    """Print an answer as a table."""
    print_table(answer.columns, [[value_text(value) for value in row] for row in answer.rows])
    if answer.truncated:
        print_line(f"... only the first {len(answer.rows):,} rows: --limit")


def print_queries() -> None:
    """Print the names of all queries with their descriptions."""
    from replay.audit.queries import QUERIES

    rows = [(query.name, query.description) for query in QUERIES.values()]
    rows.append(("sql", "a query of your own over views: log, changes, topics, ..."))
    print_table(("name", "answers"), rows)
