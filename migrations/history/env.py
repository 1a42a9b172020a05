"""Alembic's environment for the SQL history; works as `migrations/env.py` does."""

from alembic import context

import replay.snapshot.sqlite_comments  # noqa: F401 - comments in SQLite's schema text
from replay.snapshot.revision import HISTORY_VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=HISTORY_VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
