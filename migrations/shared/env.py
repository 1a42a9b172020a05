"""Alembic's environment for a shared log; works as `migrations/env.py` does."""

from replay.snapshot.plain_alembic import run_migrations
from replay.snapshot.schema import SHARED_LOG

run_migrations(SHARED_LOG)
