"""Alembic's environment for snapshots: where the migrations run is up to `plain_alembic`.

The transaction makes an upgrade atomic on databases with transactional DDL: SQLite and PostgreSQL.
"""

from replay.snapshot.plain_alembic import run_migrations
from replay.snapshot.schema import SNAPSHOTS
from replay.snapshot.tables import metadata

run_migrations(SNAPSHOTS, target_metadata=metadata)
