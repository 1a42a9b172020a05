"""An empty history to sync into."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL

from replay.sql_history.store import HistoryStore, default_url


@pytest.fixture
def url(tmp_path: Path) -> URL:
    """Where the history of a log in a new directory goes."""
    return default_url(tmp_path)


@pytest.fixture
def store(url: URL) -> Iterator[HistoryStore]:
    """Tables without rows."""
    with HistoryStore.open(url, create=True) as opened:
        yield opened
