"""Schema versions of the databases, for readers that do not import SQLAlchemy."""

SCHEMA_REVISION = "0003"
"""The newest migration of the snapshots, which gives the tables defined in `tables`."""

VERSION_TABLE = "metalog_alembic_version"
"""Table for the snapshots' revision: a name of our own, as other programs may use the database."""

FORMAT = 5
"""Format of a snapshot that is stored whole, with the parts and values of `parts`."""

LAYERED_FORMAT = 6
"""Format of a snapshot with the same parts and values, their digests, and possibly layers."""

FORMATS = frozenset({1, 2, FORMAT, LAYERED_FORMAT})
"""The formats that this release reads: 1 and 2 have partitions whole instead of in columns. No
release wrote 3 and 4.

Snapshots of another format are skipped.
"""

HISTORY_REVISION = "0013"
"""The newest migration of the SQL history, which gives the tables in `sql_history.tables`."""

HISTORY_VERSION_TABLE = "metalog_history_alembic_version"
"""Table in which Alembic stores the revision of the SQL history."""

SHARED_LOG_REVISION = "0001"
"""The newest migration of a shared log, which gives the tables that `shared.postgres` uses."""

SHARED_LOG_VERSION_TABLE = "metalog_shared_log_alembic_version"
"""Table in which Alembic stores the revision of a shared log."""
