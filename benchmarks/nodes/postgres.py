"""PostgreSQL servers for the benches: durable, with autovacuum, and with synchronous standbys."""

import contextlib
import time
from collections.abc import Iterator

import psycopg
from sqlalchemy import URL

from tests.postgres import PostgresServer, new_database, postgres_directory, text_of

_SETTINGS = ("autovacuum=on",)
_START_TIMEOUT_S = 60


@contextlib.contextmanager
def servers(count: int = 1) -> Iterator[list[URL]]:
    """Run new servers; yield the URLs of their administrative databases."""
    with postgres_directory() as directory, contextlib.ExitStack() as stopped:
        found = []
        for number in range(count):
            server = PostgresServer(directory, f"server-{number}", durable=True, settings=_SETTINGS)
            server.make()
            _start(server, stopped)
            found.append(server.url)
        yield found


@contextlib.contextmanager
def replicated_server(standbys: int) -> Iterator[URL]:
    """Run a server whose commits wait for each of its standbys; yield its URL."""
    with postgres_directory() as directory, contextlib.ExitStack() as stopped:
        primary = PostgresServer(directory, durable=True, settings=_SETTINGS)
        primary.make()
        _start(primary, stopped)
        names = [f"standby_{number}" for number in range(1, standbys + 1)]
        for name in names:
            standby = PostgresServer(directory, name, durable=True, settings=_SETTINGS)
            standby.copy_of(primary, standby=name)
            _start(standby, stopped)
        _wait_for(primary.url, names)
        yield primary.url


@contextlib.contextmanager
def database(server: URL) -> Iterator[str]:
    """Make an empty database on a server; yield its URL, and drop it afterwards."""
    with new_database(server) as url:
        yield text_of(url)


def _start(server: PostgresServer, stopped: contextlib.ExitStack) -> None:
    server.start()
    stopped.callback(server.stop)


def _wait_for(url: URL, names: list[str]) -> None:
    """Let commits wait for all of these standbys."""
    with psycopg.connect(text_of(url), autocommit=True) as connection:
        setting = f"FIRST {len(names)} ({', '.join(names)})"
        connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{setting}'".encode())
        connection.execute("SELECT pg_reload_conf()")
        until = time.monotonic() + _START_TIMEOUT_S
        while _synchronous(connection) != len(names):
            assert time.monotonic() < until, "the standbys do not confirm"
            time.sleep(0.05)


def _synchronous(connection: "psycopg.Connection[tuple[int]]") -> int:
    """Return how many standbys confirm each commit."""
    query = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]
