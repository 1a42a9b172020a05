"""Bulk inserts without SQLAlchemy, which would take three times as long as SQLite itself."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Executable, Table
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from records.errors import RequestError
from replay.sql_history.types import native

Row = Sequence[Any]

# By name, because psycopg names parameters unless told otherwise.
_POSITIONAL = {
    "sqlite": DefaultDialect(paramstyle="qmark"),
    "postgresql": DefaultDialect(paramstyle="format"),
}

_ROWS_A_STATEMENT = 50
"""Rows per INSERT: the fastest number for SQLite, which allows at most 32,766 values."""


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]
) -> None:
    """Insert rows, each given as the values of `columns` in this order."""
    target = _target(connection, table, columns)
    if connection.dialect.name == "postgresql":
        types = [table.c[name].type for name in columns]
        _copy(connection, f"COPY {target} FROM STDIN", _written(connection, types, rows))
    else:
        _insert(connection, f"INSERT INTO {target} VALUES ", len(columns), rows)


def insert_new_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]
) -> None:
    """Insert the rows whose key (the first column) is not in the table yet.

    Nothing else may write the table meanwhile.
    """
    if connection.dialect.name != "postgresql":
        target = _target(connection, table, columns)
        _insert(connection, f"INSERT OR IGNORE INTO {target} VALUES ", len(columns), rows)
        return
    query = f"SELECT {columns[0]} FROM {table.name} WHERE {columns[0]} = ANY(%s)"
    known = set(connection.exec_driver_sql(query, ([row[0] for row in rows],)).scalars())
    new = [row for row in rows if row[0] not in known]
    if new:
        insert_rows(connection, table, columns, new)


def execute_rows(
    connection: Connection, statement: Executable, parameters: Sequence[str], rows: Sequence[Row]
) -> None:
    """Execute a statement once per row, each given as the values of `parameters` in this order."""
    dialect = _POSITIONAL[connection.dialect.name]
    compiled: Any = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    in_order = itemgetter(*(parameters.index(name) for name in compiled.positiontup))
    types = [compiled.binds[name].type for name in compiled.positiontup]
    _execute(connection, str(compiled), list(_written(connection, types, map(in_order, rows))))


def _target(connection: Connection, table: Table, columns: Sequence[str]) -> str:
    prepared = connection.dialect.identifier_preparer
    return f"{prepared.format_table(table)} ({', '.join(map(prepared.quote, columns))})"


def _written(
    connection: Connection, types: Sequence[TypeEngine[Any]], rows: Iterable[Row]
) -> Iterable[Row]:
    """Yield rows with their values converted for the database."""
    found = ((i, native(each, connection.dialect)) for i, each in enumerate(types))
    writes = [(i, each.write) for i, each in found if each is not None]
    return _converted(writes, rows) if writes else rows


def _converted(
    writes: Sequence[tuple[int, Callable[[Any], Any]]], rows: Iterable[Row]
) -> Iterator[Row]:
    for row in rows:
        values = list(row)
        for i, write in writes:
            if values[i] is not None:
                values[i] = write(values[i])
        yield values


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


def _copy(connection: Connection, statement: str, rows: Iterable[Row]) -> None:
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
