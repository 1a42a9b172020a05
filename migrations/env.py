"""Alembic's environment: runs migrations inside the transaction of the given connection.

The transaction makes an upgrade atomic on databases with transactional DDL: SQLite and PostgreSQL.
"""

from alembic import context

from replay.snapshot.revision import VERSION_TABLE
from replay.snapshot.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
