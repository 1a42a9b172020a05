"""Reads the SQL history in a database given by its URL, such as PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from sqlalchemy import URL, Engine, text

from records.errors import UnavailableError
from replay.loader import BatchSource
from replay.snapshot.database import reading, shown_url
from replay.sql_history.index import HistoryIndex
from replay.sql_history.record_offsets import Ask
from replay.sql_history.store import HistoryStore


class HistoryDatabase(HistoryIndex):
    """The SQL history of a log in a database; each query opens a connection.

    The schema is checked when the database is first reached.
    """

    def __init__(self, url: str | URL, source: BatchSource) -> None:
        super().__init__(shown_url(url), source)
        self._url = url
        self._is_down = False
        # Set when the schema was checked. A new engine would ask for version and settings again.
        self._engine: Engine | None = None

    def exists(self) -> bool:
        """True unless the server was unreachable before; a better answer needs a connection."""
        return not self._is_down

    @contextmanager
    def reading(self) -> Iterator[Ask]:
        """Yield a function that queries the tables in one transaction."""
        if self._engine is None:
            with HistoryStore.open(self._url) as store:
                self._engine = store.engine
        try:
            with reading(self._engine) as connection:
                yield lambda query, values: connection.execute(
                    text(query), {name: _typed(value) for name, value in values.items()}
                )
        finally:
            self._engine.dispose()

    def _pass_over(self, error: Exception) -> None:
        # An answer asks several times, and a connection may wait for ten seconds.
        self._is_down |= isinstance(error, UnavailableError)
        super()._pass_over(error)


def _typed(value: Any) -> Any:
    return UUID(bytes=value) if isinstance(value, bytes) else value
