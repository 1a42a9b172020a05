"""PostgreSQL: connections with timeouts, and the conversion of its errors.

A reader sees one consistent state (REPEATABLE READ): rows that another process prunes between two
of the reader's queries stay visible. Writers wait for each other, as in SQLite, at an advisory lock
that is used for nothing else; readers never wait.
"""

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from records.errors import MetadataLogError, RequestError, UnavailableError

# How long to wait for another writer.
LOCK_TIMEOUT_S = 30

# No statement of ours takes nearly as long; one that does will not end.
STATEMENT_TIMEOUT_S = 300

# As libpq's parameters; what the URL says comes first. A server that vanished is noticed after a
# minute; by default Linux would wait for two hours.
_CONNECTION = {
    "application_name": "metalog",
    # By default that of the database, which may be unable to express a value.
    "client_encoding": "utf8",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}

# A comma after the user and the password, before the database or in the parameter `host`.
_SEVERAL = re.compile(r"postgres(ql)?://([^/?]*@)?([^/?@]*,|[^?]*\?(.*&)?host=[^&]*(,|%2C))", re.I)

_NAMED_IN_URL = ("user", "password", "dbname")
_PORT = 5432

_WRITES = "postgresql_writes"
_AUTOCOMMIT = "AUTOCOMMIT"

# Any number that other programs in the database do not use: "metalog" in ASCII.
_WRITER_LOCK = int.from_bytes(b"metalog", "big")

_PASSWORD_ADVICE = "check user and password; ~/.pgpass and PGPASSWORD keep it out of sight"

# By the beginning of SQLSTATE: what is wrong with the request, so that a retry does not help.
_REFUSED = {
    "25006": "this server is read only, a standby perhaps: name the primary",
    "28": _PASSWORD_ADVICE,
    "3D": "create the database first",
    "3F": "create the schema first",
    "42501": "grant this role what it needs",
    "54": "a value in the log is too long for PostgreSQL; keep it in SQLite",
    "42": "the tables are not those that metalog makes; name a database of its own",
}

# libpq gives no SQLSTATE for a failed connection.
_REFUSED_CONNECTION = {
    "password": _PASSWORD_ADVICE,
    "authentication failed": _PASSWORD_ADVICE,
    "no pg_hba.conf entry": "the server's pg_hba.conf must let this host and user in",
    "does not exist": "create the database or role first",
    "permission denied for database": "grant this role CONNECT",
    "invalid connection option": "the URL may have the parameters of libpq",
    "invalid port number": "ports are 1 to 65535",
    "SSL was required": "turn it on at the server, or change sslmode in the URL",
}


def open_postgresql(url: URL, options: Mapping[str, Any]) -> Engine:
    """Return an engine, without connecting yet.

    Args:
        options: Execution options of the engine.

    Raises:
        ImportError: the driver is not installed.
    """
    engine = create_engine(
        url,
        isolation_level="REPEATABLE READ",
        # A server that was restarted has closed the connections that wait in the pool.
        pool_pre_ping=True,
        connect_args={name: value for name, value in _CONNECTION.items() if name not in url.query},
        execution_options=dict(options),
    )
    event.listen(engine, "begin", _begin)
    return engine


def url_of_several(url: str | URL) -> URL | None:
    """Convert libpq's URL of several servers to SQLAlchemy's form; None for any other URL.

    With `target_session_attrs=read-write`, libpq takes the server that is the primary now.

    Raises:
        ImportError: the driver is not installed.
        ArgumentError: libpq cannot parse the URL.
    """
    if isinstance(url, URL) or not _SEVERAL.match(url):
        return None
    import psycopg

    try:
        parameters = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise ArgumentError(str(error)) from error
    user, password, database = (parameters.pop(each, None) for each in _NAMED_IN_URL)
    hosts = str(parameters["host"]).split(",")
    ports = str(parameters.get("port", _PORT)).split(",")
    parameters["port"] = ",".join(ports * len(hosts) if len(ports) == 1 else ports)
    return URL.create(
        "postgresql",
        None if user is None else str(user),
        None if password is None else str(password),
        database=None if database is None else str(database),
        query={name: str(value) for name, value in parameters.items()},
    )


def writer(engine: Engine) -> Engine:
    """Return the engine for writers: each statement sees all transactions committed before it."""
    return engine.execution_options(isolation_level="READ COMMITTED", **{_WRITES: True})


def outside_transactions(engine: Engine) -> Engine:
    """Return the engine for statements that must not be in a transaction, such as VACUUM."""
    return engine.execution_options(isolation_level=_AUTOCOMMIT)


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") == _AUTOCOMMIT:
        return
    # Per transaction and not per connection: poolers give connections away in between.
    limits = {"statement_timeout": STATEMENT_TIMEOUT_S, "lock_timeout": LOCK_TIMEOUT_S}
    statements = [f"SET LOCAL {name} = '{seconds}s'" for name, seconds in limits.items()]
    if connection.get_execution_options().get(_WRITES):
        statements.append(f"SELECT pg_advisory_xact_lock({_WRITER_LOCK})")
    else:
        statements.append("SET TRANSACTION READ ONLY")
    connection.exec_driver_sql("; ".join(statements))


def named_error(where: str, error: DBAPIError) -> MetadataLogError | None:
    """Return the error of this project for a PostgreSQL error; None for a programming error."""
    # More lines follow, with the values concerned.
    reason = str(error.orig).partition("\n")[0]
    sqlstate = getattr(error.orig, "sqlstate", None)
    if sqlstate is None:
        advice = next((what for text, what in _REFUSED_CONNECTION.items() if text in reason), None)
    else:
        advice = next((what for code, what in _REFUSED.items() if sqlstate.startswith(code)), None)
    if advice is not None:
        return RequestError("INVALID_REQUEST", f"{where}: {reason}; {advice}")
    if isinstance(error, OperationalError):
        return UnavailableError(f"{where}: {reason}; try again")
    return None
