"""Alembic's environment for a shared log; works as `migrations/env.py` does."""

from alembic import context

from replay.snapshot.revision import SHARED_LOG_VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=SHARED_LOG_VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
