"""A PostgreSQL whose commits are durable."""

from collections.abc import Iterator

import pytest
from sqlalchemy import URL

from tests.postgres import new_database, postgres_server, text_of


@pytest.fixture(scope="module")
def durable_postgres() -> Iterator[URL]:
    """A server whose commits are durable, as `serve --shared` requires."""
    with postgres_server(durable=True) as url:
        yield url


@pytest.fixture
def url(durable_postgres: URL) -> Iterator[str]:
    with new_database(durable_postgres) as found:
        yield text_of(found)
