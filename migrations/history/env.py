"""Alembic's environment for the SQL history; works as `migrations/env.py` does."""

import replay.snapshot.sqlite_comments  # noqa: F401 - comments in SQLite's schema text
from replay.snapshot.plain_alembic import run_migrations
from replay.snapshot.schema import HISTORY

run_migrations(HISTORY)
