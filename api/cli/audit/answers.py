"""Formats and stores answers of both engines, for the commands `audit` and `audit shell`."""

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from api.cli.audit.engine import ENGINES, Engine
from api.cli.audit.parts import PartAnswer
from api.cli.terminal.output import print_line, print_table, value_text
from metadata_log.files.names import MANIFEST
from records.errors import RequestError

if TYPE_CHECKING:
    from api.documents.audits import AuditRows, RowsWritten

PART = "recording_part"
"""The column that names the folder of a part, in answers about several parts of a recording."""


def rows_of(answer: Any, limit: int) -> "AuditRows":
    """Return at most `limit` rows of an answer; for a data frame, this runs the query."""
    from api.documents.audits import AuditRows

    is_table = _is_table(answer)
    found = _arrow_rows(answer, limit + 1) if is_table else answer.limit(limit + 1).collect()
    columns = answer.column_names if is_table else answer.columns
    rows = [[_plain(value) for value in row] for row in found[:limit]]
    return AuditRows(truncated=len(found) > limit, columns=columns, rows=rows)


def rows_across(answers: Sequence[PartAnswer], limit: int) -> "AuditRows":
    """Return at most `limit` rows of the answers of all parts, oldest first, with a column for
    the part if the question was about several.
    """
    from api.documents.audits import AuditRows

    if answers[0].part is None:
        return rows_of(answers[0].rows, limit)
    rows: list[Sequence[Any]] = []
    for part, answer in answers:
        found = rows_of(answer, limit - len(rows))
        rows += [[part, *row] for row in found.rows]
        if found.truncated:
            break
    return AuditRows(truncated=found.truncated, columns=[PART, *found.columns], rows=rows)


def _table_across(answers: Sequence[PartAnswer]) -> Any:
    """Return all rows of the answers of all parts as one Arrow table."""
    import pyarrow

    tables = []
    for part, answer in answers:
        table = answer if _is_table(answer) else answer.toArrow()
        if part is not None:
            table = table.add_column(0, PART, pyarrow.array([part] * len(table), "string"))
        tables.append(table)
    # A sum may be narrower in one part than in another.
    return pyarrow.concat_tables(tables, promote_options="permissive")


def _is_table(answer: Any) -> bool:
    """True for an Arrow table, false for a data frame of Spark."""
    import pyarrow

    # A frame of Spark Connect takes any attribute for a column.
    return isinstance(answer, pyarrow.Table)


def _arrow_rows(table: Any, count: int) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.slice(0, count).columns]
    return [tuple(map(_without_nulls, row)) for row in zip(*columns, strict=True)]


def _without_nulls(value: Any) -> Any:
    """Return a value with the null fields of its structures left out, as in Spark's answers."""
    match value:
        case dict():
            return {n: _without_nulls(each) for n, each in value.items() if each is not None}
        case list():
            return [_without_nulls(each) for each in value]
    return value


def write_rows(answers: Sequence[PartAnswer], name: str, to: str) -> "RowsWritten":
    """Write all rows of the answers of all parts to `NAME.parquet`, replacing an older file.

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
    table = _table_across(answers)
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
def refusing(engine: Engine) -> Iterator[None]:
    """Convert an engine's errors about a user's query, raised in the body, to RequestError."""
    with _refusing_duckdb() if engine is Engine.DUCKDB else _refusing_spark():
        yield


@contextmanager
def _refusing_duckdb() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise RequestError("INVALID_REQUEST", str(error).split("\n")[0]) from error


@contextmanager
def _refusing_spark() -> Iterator[None]:
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
    """Convert a value of an answer to a JSON value."""
    from records.text import bytes_text

    match value:
        case datetime.datetime():
            return value.replace(tzinfo=datetime.UTC).isoformat().replace("+00:00", "Z")
        case bytes() | bytearray():
            return bytes_text(bytes(value))
        case tuple() if hasattr(value, "asDict"):  # a Row of Spark
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
    """Print the names of all queries with their descriptions and engines."""
    from replay.audit.queries import QUERIES

    rows = [(query.name, query.description) for query in QUERIES.values()]
    rows.append(("sql", "a query of your own over views: log, changes, topics, ..."))
    print_table(("name", "answers", "engines"), [(*row, ", ".join(ENGINES)) for row in rows])
