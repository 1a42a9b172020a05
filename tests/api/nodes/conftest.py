"""A PostgreSQL whose commits are durable."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL

from tests.postgres import (
    PostgresServer,
    new_database,
    postgres_directory,
    postgres_server,
    text_of,
)


@pytest.fixture(scope="session")
def durable_postgres() -> Iterator[URL]:
    """A server whose commits are durable, as `serve --shared` requires."""
    with postgres_server(durable=True) as url:
        yield url


@pytest.fixture
def url(durable_postgres: URL) -> Iterator[str]:
    with new_database(durable_postgres) as found:
        yield text_of(found)


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for servers that a test stops, copies and exchanges."""
    with postgres_directory() as found:
        yield found


@pytest.fixture
def primary(directory: Path) -> Iterator[PostgresServer]:
    """A durable server for one test."""
    server = PostgresServer(directory, durable=True)
    server.make()
    server.start()
    try:
        yield server
    finally:
        server.stop()
