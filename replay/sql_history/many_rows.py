"""Bulk inserts that bypass SQLAlchemy, which takes three times as long as SQLite itself."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Executable, Table
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import DBAPIError

from records.errors import RequestError

Row = Sequence[Any]

# By name, because psycopg names parameters unless told otherwise.
_POSITIONAL = {
    "sqlite": DefaultDialect(paramstyle="qmark"),
    "postgresql": DefaultDialect(paramstyle="format"),
}

_ROWS_A_STATEMENT = 50
"""SQLite takes so many rows fastest, and 32,766 values at most."""


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]
) -> None:
    """Insert rows, each given as the values of `columns` in this order."""
    prepared = connection.dialect.identifier_preparer
    target = f"{prepared.format_table(table)} ({', '.join(map(prepared.quote, columns))})"
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {target} FROM STDIN", rows)
    else:
        _insert(connection, f"INSERT INTO {target} VALUES ", len(columns), rows)


def execute_rows(
    connection: Connection, statement: Executable, parameters: Sequence[str], rows: Sequence[Row]
) -> None:
    """Execute a statement once per row, each given as the values of `parameters` in this order."""
    dialect = _POSITIONAL[connection.dialect.name]
    compiled: Any = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    in_order = itemgetter(*(parameters.index(name) for name in compiled.positiontup))
    _execute(connection, str(compiled), list(map(in_order, rows)))


def _insert(connection: Connection, insert: str, width: int, rows: Sequence[Row]) -> None:
    """Insert many rows per statement; one row per statement would take 1.5 times as long."""
    row = f"({', '.join('?' * width)})"
    last = len(rows) % _ROWS_A_STATEMENT
    in_full = (rows[i : i + _ROWS_A_STATEMENT] for i in range(last, len(rows), _ROWS_A_STATEMENT))
    many = insert + ", ".join([row] * _ROWS_A_STATEMENT)
    _execute(connection, insert + row, rows[:last])
    _execute(connection, many, (list(chain.from_iterable(each)) for each in in_full))


def _execute(connection: Connection, statement: str, rows: Iterable[Row]) -> None:
    made: Any = connection.connection.cursor()
    with _as_sqlalchemy(connection, statement), closing(made) as cursor:
        cursor.executemany(statement, rows)


def _copy(connection: Connection, statement: str, rows: Sequence[Row]) -> None:
    """Insert rows by PostgreSQL's COPY.

    Raises:
        RequestError: INVALID_REQUEST, a text has the character NUL, or a character that the
            encoding of the database lacks.
    """
    driver: Any = connection.connection.driver_connection
    dbapi: Any = connection.dialect.loaded_dbapi
    try:
        with (
            _as_sqlalchemy(connection, statement),
            driver.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            for row in rows:
                copy.write_row(row)
    except DBAPIError as error:
        if not isinstance(error.orig, dbapi.DataError):
            raise
        # More lines follow, with the value, which may be secret.
        reason = str(error.orig).partition("\n")[0]
        raise RequestError(
            "INVALID_REQUEST",
            f"a value in the log cannot be kept in PostgreSQL: {reason}; sync into SQLite"
            + (", or into a database with encoding UTF8" if error.orig.sqlstate else ""),
        ) from error


@contextmanager
def _as_sqlalchemy(connection: Connection, statement: str) -> Iterator[None]:
    """Convert the driver's errors to SQLAlchemy's, so that all errors are reported alike."""
    base: Any = connection.dialect.loaded_dbapi.Error
    try:
        yield
    except base as error:
        raise DBAPIError.instance(
            statement, None, error, base, dialect=connection.dialect
        ) from error
