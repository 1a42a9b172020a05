"""Alembic runs this to carry migrations out, inside the transaction of the connection it is given.

That transaction makes an upgrade all or nothing, where the database can take table definitions
back: SQLite and PostgreSQL can.
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
