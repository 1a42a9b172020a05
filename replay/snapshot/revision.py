"""Version numbers of the snapshot database, for readers without SQLAlchemy."""

SCHEMA_REVISION = "0003"
"""The newest migration, which leads to the tables of `tables`."""

VERSION_TABLE = "metalog_alembic_version"
"""Where Alembic notes the revision; a name of its own, for databases shared with others."""

FORMAT = 1
"""Version of the parts and values in `parts`, written whole."""

LAYERED_FORMAT = 2
"""The same parts and values, with the digests of the parts, and perhaps in layers (`layers`)."""

FORMATS = frozenset({FORMAT, LAYERED_FORMAT})
"""All that this release reads. Snapshots of another format are skipped."""

HISTORY_REVISION = "0010"
"""The newest migration of the history, which leads to the tables of `sql_history.tables`."""

HISTORY_VERSION_TABLE = "metalog_history_alembic_version"
"""Where Alembic notes that one."""

SHARED_LOG_REVISION = "0001"
"""The newest migration of a shared log, which leads to the tables that `shared.postgres` uses."""

SHARED_LOG_VERSION_TABLE = "metalog_shared_log_alembic_version"
"""Where Alembic notes that one."""
