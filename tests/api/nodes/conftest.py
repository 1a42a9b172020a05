"""A PostgreSQL whose commits are durable."""

from collections.abc import Iterator

import pytest
from sqlalchemy import URL

from tests import postgres as servers
from tests.postgres import new_database, text_of


@pytest.fixture(scope="module")
def durable_postgres() -> Iterator[URL]:
    """A server whose commits are durable, as `serve --shared` requires."""
    with pytest.MonkeyPatch.context() as patch:
        kept = [each for each in servers._SETTINGS if not each.startswith(("fsync", "full_page"))]
        patch.setattr(servers, "_SETTINGS", (*kept, "max_connections=60"))
        with servers.postgres_server() as url:
            yield url


@pytest.fixture
def url(durable_postgres: URL) -> Iterator[str]:
    with new_database(durable_postgres) as found:
        yield text_of(found)
