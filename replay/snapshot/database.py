"""Opens a database, with settings that make commits durable.

Unless a write-ahead log is requested, SQLite uses its rollback journal, so that the database is a
single file that can be read in a directory without write permission. `synchronous` is FULL: a
commit returns when its data is on stable storage. Snapshots are written rarely, so the cost does
not matter.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    StatementError,
)
from sqlalchemy.pool import ConnectionPoolEntry

from metadata_log.files.fs import FILE_MODE
from records.errors import CorruptLogError, MetadataLogError, RequestError, UnavailableError
from replay.snapshot.ports import SNAPSHOTS_NAME
from replay.snapshot.postgresql import (
    named_error,
    open_postgresql,
    outside_transactions,
    url_of_several,
    writer,
)
from replay.snapshot.revision import HISTORY_VERSION_TABLE

# How long to wait for another writer.
_LOCK_TIMEOUT_S = 30

_BEGIN = "sqlite_begin"

_MADE_BY = "made_by"

# What follows shows the value.
_NOT_DECODED = "Could not decode to UTF-8"

# Where a password may be in a URL, however malformed: before the host, and in the query.
_PASSWORD = re.compile(r":(?!//).*@", re.DOTALL)
# Or, if the host was forgotten, where its port would be.
_NO_PORT = re.compile(r"(://[^/?]*:)(?!\d+(?:[/?]|$)).+", re.DOTALL)
_QUERY_PASSWORD = re.compile(r"(pass(?!file)\w*=)[^&]*")

# What to do next, by what SQLite's names of errors begin with.
_ADVICE = {
    "SQLITE_FULL": "free space, then try again",
    "SQLITE_READONLY": "the file and its directory must be writable, for readers of a write-ahead "
    "log too",
}


def default_url(directory: Path) -> URL:
    """Return the URL of the default database for a log's snapshots."""
    return URL.create("sqlite", database=str(directory.absolute() / SNAPSHOTS_NAME))


def open_database(
    url: str | URL,
    *,
    create: bool = False,
    wal: bool = False,
    missing: tuple[str, str] = ("SNAPSHOT_NOT_FOUND", "metalog snapshot create"),
    never_beside: str = HISTORY_VERSION_TABLE,
) -> Engine:
    """Return an engine; a missing SQLite file is created only if `create` is set.

    Args:
        wal: Let SQLite use a write-ahead log, so that readers and a writer never wait for each
            other. Readers then need write permission in the directory.
        missing: Error code if the database does not exist, and the command that creates it.
        never_beside: A table that must not be in the same SQLite file: snapshots must be readable
            in a read-only directory, but the history uses a write-ahead log.

    Raises:
        RequestError: `url` cannot be opened as a database, the database does not exist, or it has
            the table `never_beside`.
    """
    url = url if isinstance(url, URL) else str(url)  # of a Path, the error is about the text
    try:
        parsed = url_of_several(url) or make_url(url)
        if parsed.get_backend_name() == "sqlite":
            path = _sqlite_path(parsed, create, missing)
            _check_alone(path, never_beside)
            return _open_sqlite(parsed, path, wal, missing[1])
        if parsed.drivername == "postgres":
            parsed = parsed.set(drivername="postgresql")  # libpq knows both names
        if parsed.get_backend_name() == "postgresql":
            if "@" in (parsed.host or ""):
                raise ArgumentError("write @ in a password as %40")
            return open_postgresql(parsed, {_MADE_BY: missing[1]})
        raise ArgumentError("unknown kind of database")
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        # What is read as a port is a password when the host was forgotten.
        why = "its port is not a number" if isinstance(error, ValueError) else error
        raise RequestError(
            "INVALID_REQUEST",
            f"{shown_url(url)} is not a database URL; expected sqlite:///FILE or "
            f"postgresql://USER@HOST/DB: {why}",
        ) from error
    except ImportError as error:
        raise RequestError(
            "INVALID_REQUEST",
            f"{shown_url(url)}: PostgreSQL needs the extra `postgres`: "
            f"pip install 'metadata-log[postgres]' ({error})",
        ) from error


def shown_url(url: str | URL) -> str:
    """Return a database URL, which may be malformed, without its passwords."""
    if isinstance(url, URL):
        shown = url.render_as_string(hide_password=True)
    elif "@" in url:
        shown = _PASSWORD.sub(":***@", url)
    else:
        shown = _NO_PORT.sub(r"\1***", url)
    return _QUERY_PASSWORD.sub(r"\1***", shown)


def without_password(url: str) -> str:
    """Return a well-formed URL, of any scheme, without its passwords."""
    kept = _PASSWORD.sub("@", url, count=1) if "@" in url else url
    place, _, query = kept.partition("?")
    pairs = [pair for pair in query.split("&") if pair and not _QUERY_PASSWORD.match(pair)]
    return "?".join([place, *(["&".join(pairs)] if pairs else [])])


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a read-only transaction with a consistent view.

    Raises:
        UnavailableError: the database cannot be reached, or stays locked.
        RequestError: INVALID_REQUEST, the server refuses this user or database.
        CorruptLogError: the file is damaged, or is not a database.
    """
    with _named_errors(engine), engine.begin() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction, committed unless an error is raised.

    Writers wait for each other; each sees everything that earlier writers have committed.

    Raises:
        UnavailableError: the database cannot be reached, stays locked or is full, or another writer
            was faster.
        RequestError: INVALID_REQUEST, the server refuses this user, database or change.
        CorruptLogError: the file is damaged, or is not a database.
    """
    # Two transactions that read first and write later can deadlock, so lock at the start.
    if engine.dialect.name == "postgresql":
        locking = writer(engine)
    else:
        locking = engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
    with _named_errors(engine), locking.begin() as connection:
        yield connection


@contextmanager
def without_transaction(engine: Engine) -> Iterator[Connection]:
    """Yield a connection to PostgreSQL on which each statement is its own transaction.

    Raises:
        UnavailableError, RequestError: as for `writing`.
    """
    with _named_errors(engine), outside_transactions(engine).connect() as connection:
        yield connection


def _sqlite_path(url: URL, create: bool, missing: tuple[str, str]) -> Path:
    if url.database in (None, "", ":memory:"):
        raise ArgumentError("no file is named")
    path = Path(str(url.database)).absolute()
    if path.is_fifo():
        raise RequestError("INVALID_REQUEST", f"{path} is a FIFO, not a database")
    if create:
        _create_file(path)
    elif not path.exists():
        code, command = missing
        raise RequestError(code, f"{path} does not exist yet; make it with `{command}`")
    return path


def _check_alone(path: Path, other: str) -> None:
    # Before the first connection that may write: turning on a write-ahead log changes the file.
    query = "SELECT 1 FROM sqlite_master WHERE name = ?"
    # Whatever else is wrong with the file is named when it is used.
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection,
    ):
        if connection.execute(query, (other,)).fetchone() is not None:
            kept = "the SQL history" if other == HISTORY_VERSION_TABLE else "snapshots"
            raise RequestError(
                "INVALID_REQUEST",
                f"{path} already holds {kept}; snapshots and history need a file each",
            )


def _open_sqlite(url: URL, path: Path, wal: bool, made_by: str) -> Engine:
    uri = f"file:{quote(str(path))}?mode=rw"
    engine = create_engine(
        url,
        creator=lambda: sqlite3.connect(
            uri, uri=True, timeout=_LOCK_TIMEOUT_S, check_same_thread=False
        ),
        execution_options={_MADE_BY: made_by},
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
        verb = "write" if path.exists() else "create"
        raise RequestError("INVALID_REQUEST", f"cannot {verb} {path}: {error.strerror}") from error


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
    """Convert the database's errors to errors of this project."""
    try:
        yield
    except DBAPIError as error:
        where = shown_url(engine.url)
        if isinstance(error, IntegrityError):
            named: MetadataLogError | None = UnavailableError(
                f"{where}: another writer was faster, try again: {_reason(error)}"
            )
        elif engine.dialect.name == "postgresql":
            named = named_error(where, error)
        else:
            named = _sqlite_error(where, error, engine.get_execution_options()[_MADE_BY])
        if named is None:
            raise
        raise named from error
    except StatementError as error:
        # A value that has no form in the database, as its type says.
        if isinstance(error.orig, MetadataLogError):
            raise error.orig from None
        raise


def _sqlite_error(where: str, error: DBAPIError, made_by: str) -> MetadataLogError | None:
    # A blob whose type was damaged is a text, which Python cannot decode.
    reason, decodes, _ = _reason(error).partition(_NOT_DECODED)
    if isinstance(error, OperationalError) and not decodes:
        return UnavailableError(f"{where}: {reason}; {_advice(error)}")
    if decodes or type(error) is DatabaseError:
        return CorruptLogError(
            f"{where}: {reason}{decodes}; the database is made from the log: move the file away "
            f"and make it anew with `{made_by}`"
        )
    return None


def _advice(error: DBAPIError) -> str:
    name = getattr(error.orig, "sqlite_errorname", "")
    return next((what for start, what in _ADVICE.items() if name.startswith(start)), "try again")


def _reason(error: DBAPIError) -> str:
    # PostgreSQL adds lines with the values concerned.
    return str(error.orig).partition("\n")[0]
