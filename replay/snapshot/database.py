"""Opens a database, with settings that make commits durable.

Unless a write-ahead log is wanted, SQLite keeps its rollback journal, so that the database is one
file that can be read in a directory without write permission. `synchronous` is FULL: a commit is on
stable storage when it returns. Snapshots are written rarely, so the cost does not matter.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.pool import ConnectionPoolEntry

from metadata_log.fs import FILE_MODE
from records.errors import CorruptLogError, RequestError, UnavailableError
from replay.snapshot.ports import SNAPSHOTS_NAME

# How long to wait for another writer.
_LOCK_TIMEOUT_S = 30

_BEGIN = "sqlite_begin"

_MADE_BY = "made_by"

_PASSWORD = re.compile(":[^:@]*@")

# What to do next, by what SQLite's names of errors begin with.
_ADVICE = {
    "SQLITE_FULL": "free space, then try again",
    "SQLITE_READONLY": "the file and its directory must be writable, for readers of a write-ahead "
    "log too",
}


def default_url(directory: Path) -> URL:
    """Return the default database of a log's snapshots."""
    return URL.create("sqlite", database=str(directory.absolute() / SNAPSHOTS_NAME))


def open_database(
    url: str | URL,
    *,
    create: bool = False,
    wal: bool = False,
    missing: tuple[str, str] = ("SNAPSHOT_NOT_FOUND", "metalog snapshot create"),
) -> Engine:
    """Return an engine; only `create` creates a missing SQLite file.

    Args:
        wal: Let SQLite keep a write-ahead log, so that readers and a writer never wait for each
            other. Readers then need to write in the directory.
        missing: The code of the error if there is none, and the command that makes one.

    Raises:
        RequestError: `url` is not a database that can be opened, or it does not exist.
    """
    # Even a malformed URL may hold a password.
    shown = _PASSWORD.sub(":***@", str(url))
    try:
        parsed = make_url(url)
        shown = parsed.render_as_string(hide_password=True)
        if parsed.get_backend_name() == "sqlite":
            return _open_sqlite(parsed, create, wal, missing)
        if parsed.get_backend_name() == "postgresql":
            # Snapshot isolation: another process must not prune rows between two reads.
            return create_engine(
                parsed,
                isolation_level="REPEATABLE READ",
                execution_options={_MADE_BY: missing[1]},
            )
        raise ArgumentError("unknown kind of database")
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise RequestError(
            "INVALID_REQUEST",
            f"{shown} is not a database URL; expected sqlite:///FILE or postgresql://...: {error}",
        ) from error
    except ImportError as error:
        raise RequestError(
            "INVALID_REQUEST", f"{shown}: the driver of this database is not installed: {error}"
        ) from error


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a read-only transaction with a consistent view.

    Raises:
        UnavailableError: the database cannot be reached, or stays locked.
        CorruptLogError: the file is damaged, or is not a database.
    """
    with _named_errors(engine), engine.begin() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction, committed unless an error is raised.

    Raises:
        UnavailableError: the database cannot be reached, stays locked or is full, or another
            writer was faster.
        CorruptLogError: the file is damaged, or is not a database.
    """
    # Two transactions that read first and write later can deadlock, so lock at the start.
    writer = engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
    with _named_errors(engine), writer.begin() as connection:
        yield connection


def _open_sqlite(url: URL, create: bool, wal: bool, missing: tuple[str, str]) -> Engine:
    if url.database in (None, "", ":memory:"):
        raise ArgumentError("no file is named")
    path = Path(str(url.database)).absolute()
    if create:
        _create_file(path)
    elif not path.exists():
        code, command = missing
        raise RequestError(code, f"{path} does not exist yet; make it with `{command}`")
    uri = f"file:{quote(str(path))}?mode=rw"
    engine = create_engine(
        url,
        creator=lambda: sqlite3.connect(
            uri, uri=True, timeout=_LOCK_TIMEOUT_S, check_same_thread=False
        ),
        execution_options={_MADE_BY: missing[1]},
    )
    event.listen(engine, "connect", _configure_sqlite)
    if wal:
        event.listen(engine, "connect", _write_ahead)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _create_file(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))
    except OSError as error:
        raise RequestError("INVALID_REQUEST", f"cannot create {path}: {error.strerror}") from error


def _configure_sqlite(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    # Python's sqlite3 would begin transactions late, and none at all for table definitions.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")


def _write_ahead(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # After a power loss the newest transactions may be gone, whole; they are made from a log again.
    connection.execute("PRAGMA synchronous = NORMAL")
    # In KiB. The default of 2 MiB writes the same pages again and again.
    connection.execute("PRAGMA cache_size = -65536")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))


@contextmanager
def _named_errors(engine: Engine) -> Iterator[None]:
    """Turn the database's errors into ours."""
    where = engine.url.render_as_string()
    try:
        yield
    except IntegrityError as error:
        raise UnavailableError(
            f"{where}: another writer was faster, try again: {_reason(error)}"
        ) from error
    except OperationalError as error:
        raise UnavailableError(f"{where}: {_reason(error)}; {_advice(error)}") from error
    except DatabaseError as error:
        if type(error) is not DatabaseError:
            raise
        made_by = engine.get_execution_options()[_MADE_BY]
        raise CorruptLogError(
            f"{where}: {_reason(error)}; it is made from the log: move the file away and make it "
            f"anew with `{made_by}`"
        ) from error


def _advice(error: DatabaseError) -> str:
    name = getattr(error.orig, "sqlite_errorname", "")
    return next((what for start, what in _ADVICE.items() if name.startswith(start)), "try again")


def _reason(error: DatabaseError) -> str:
    # PostgreSQL adds lines with the values concerned.
    return str(error.orig).partition("\n")[0]
