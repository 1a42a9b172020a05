"""Frees the space of replaced rows in PostgreSQL during a long sync.

Setting the end of a state replaces its row, and the old row takes space until VACUUM frees it.
Autovacuum starts once a minute, but a sync adds a million records in less time.
"""

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import Engine, text

from replay.snapshot.database import without_transaction

_DEAD_SHARE = 0.05
"""Share of a table's rows that may be dead. VACUUM reads all indexes, so it must not run often."""

_DEAD_MIN = 1_000


class DeadRows:
    """Counts replaced rows by table, and vacuums a table that has too many."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._dead: Counter[str] = Counter()
        self._rows: Counter[str] = Counter()

    def count(self, replaced: Mapping[str, int], added: Mapping[str, int]) -> None:
        """Count the rows that a transaction replaced and added; vacuum tables with many dead rows.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        if self._engine.dialect.name != "postgresql":
            return
        self._dead.update(replaced)
        self._rows.update(added)
        for table, dead in self._dead.items():
            if dead > max(_DEAD_MIN, _DEAD_SHARE * self._rows[table]):
                self._vacuum(table, dead)

    def _vacuum(self, table: str, dead: int) -> None:
        with without_transaction(self._engine) as connection:
            # Of earlier syncs too, as far as the server knows.
            query = text("SELECT reltuples FROM pg_class WHERE oid = CAST(:table AS regclass)")
            if dead > _DEAD_SHARE * float(connection.scalar(query, {"table": table}) or 0):
                connection.exec_driver_sql(f"VACUUM (SKIP_LOCKED, TRUNCATE FALSE) {table}")
                self._dead[table] = 0
