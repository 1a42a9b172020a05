"""Mark rows that Kafka may still replace, and outages in progress."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_CHANGE_COMMENT = "False: Kafka may still replace the record (the end of a mirror)."
_STATE_COMMENT = "False: Kafka may still replace the record that began or ended this state."
_POSITION = {
    "confirmed_end": "Kafka may still replace what is from this offset on; null: nothing.",
    "confirmed_leader_epoch": "Of the last record before confirmed_end.",
    "confirmed_last_crc32c": "As last_crc32c, before confirmed_end.",
}

_VERSIONS = (
    "topic_version",
    "partition_version",
    "config_version",
    "namespace_version",
    "broker_version",
    "controller_version",
    "feature_version",
    "acl_version",
    "client_quota_version",
    "scram_version",
    "delegation_token_version",
    "pending_removal_version",
    "replica_deletion_version",
    "note_version",
    "producer_ids_version",
    "zk_migration_version",
    "voter_version",
    "kraft_version_version",
)


def upgrade() -> None:
    """Add the columns and their indexes, and show them in the views."""
    _drop_views()
    for name, comment in _POSITION.items():
        _add_number("history_position", name, comment)
    for table in ("change", *_VERSIONS):
        comment = _CHANGE_COMMENT if table == "change" else _STATE_COMMENT
        _add_mark(table, comment)
        where = sa.text("NOT confirmed")
        key = "offset" if table == "change" else "record_offset"
        op.create_index(
            f"ix_{table}_unconfirmed", table, [key], postgresql_where=where, sqlite_where=where
        )
    _create_views(_OUTAGES)


def downgrade() -> None:
    """Drop the marks of unconfirmed rows; the end of a mirror must not be in the tables."""
    _drop_views()
    for table in ("change", *_VERSIONS):
        op.drop_index(f"ix_{table}_unconfirmed", table)
        op.drop_column(table, "confirmed")
    for name in _POSITION:
        op.drop_column("history_position", name)
    _create_views(_OUTAGES_BEFORE)


def _add_number(table: str, name: str, comment: str) -> None:
    if _is_sqlite():
        # Through Alembic the comment would not be in the schema's text.
        op.execute(f"ALTER TABLE {table} ADD COLUMN {name} BIGINT /* {comment} */")
        return
    op.add_column(table, sa.Column(name, sa.BigInteger(), comment=comment))


def _add_mark(table: str, comment: str) -> None:
    if _is_sqlite():
        text = f"confirmed BOOLEAN /* {comment} */ DEFAULT 1 NOT NULL"
        op.execute(f"ALTER TABLE {table} ADD COLUMN {text}")
        return
    mark: sa.Column[bool] = sa.Column(
        "confirmed", sa.Boolean(), nullable=False, server_default=sa.true(), comment=comment
    )
    op.add_column(table, mark)


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _drop_views() -> None:
    for name in ("outages", *reversed(_VIEWS)):
        op.execute(f"DROP VIEW {name}")


def _create_views(outages: str) -> None:
    # In PostgreSQL a view has the columns that its tables had when it was made.
    array = "p.{}" if _is_sqlite() else "p.{}::json"
    lists = ("isr", "replicas", "adding_replicas")
    sizes = {f"{each}_size": f"json_array_length({array.format(each)})" for each in lists}
    for name, query in _VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query.format(**sizes)}")
    kinds = [outages.format(kind=kind) for kind in ("leaderless", "under_replicated")]
    op.execute(f"CREATE VIEW outages AS {' UNION ALL '.join(kinds)}")


_PARTITIONS = """
SELECT t.topic, p.*,
  CASE WHEN p.leader = -1 THEN 1 ELSE 0 END AS leaderless,
  CASE WHEN {isr_size} < {replicas_size} - {adding_replicas_size} THEN 1 ELSE 0 END
    AS under_replicated
FROM partition_version p
"""

_VIEWS = {
    "topic_states": """
        SELECT CASE WHEN n.name IS NULL THEN t.name ELSE n.name || ':' || t.name END AS topic, t.*
        FROM topic_version t
        LEFT JOIN namespace_version n ON n.namespace_id = t.namespace_id
          AND n.valid_from_offset <= t.valid_from_offset
          AND (n.valid_to_offset IS NULL OR n.valid_to_offset > t.valid_from_offset)
    """,
    "topics_now": "SELECT * FROM topic_states WHERE valid_to_offset IS NULL",
    "partition_states": _PARTITIONS
    + """
        JOIN topic_states t ON t.topic_id = p.topic_id
          AND t.valid_from_offset <= p.valid_from_offset
          AND (t.valid_to_offset IS NULL OR t.valid_to_offset > p.valid_from_offset)
    """,
    # A topic may have moved since the partition's state began.
    "partitions_now": _PARTITIONS
    + "JOIN topics_now t ON t.topic_id = p.topic_id WHERE p.valid_to_offset IS NULL",
    "under_replicated": "SELECT * FROM partitions_now WHERE under_replicated = 1",
}

# Times may go back, but no outage lasted less than nothing.
_DURATION = """
  CASE
    WHEN i.to_offset IS NOT NULL AND i.to_ms < i.from_ms THEN 0
    WHEN i.to_offset IS NOT NULL THEN i.to_ms - i.from_ms
    WHEN now.end_ms < i.from_ms THEN 0
    ELSE now.end_ms - i.from_ms
  END AS duration_ms
"""

# Of intervals that follow each other without a gap, one row, with the topic's name of its begin.
# A state that its own transaction replaced held nowhere.
_INTERVALS = """
FROM (
  SELECT topic_id, partition_id,
    MIN(valid_from_offset) AS from_offset,
    CASE WHEN COUNT(valid_to_offset) = COUNT(*) THEN MAX(valid_to_offset) END AS to_offset,
    CASE WHEN COUNT(valid_from_ms) = COUNT(*) THEN MIN(valid_from_ms) END AS from_ms,
    CASE WHEN COUNT(valid_to_ms) = COUNT(*) THEN MAX(valid_to_ms) END AS to_ms{more}
  FROM (
    SELECT s.*, SUM(CASE WHEN before_to = valid_from_offset THEN 0 ELSE 1 END)
      OVER (PARTITION BY topic_id, partition_id ORDER BY record_offset) AS number
    FROM (
      SELECT h.*, LAG(valid_to_offset)
        OVER (PARTITION BY topic_id, partition_id ORDER BY record_offset) AS before_to
      FROM partition_states h
      WHERE {kind} = 1 AND (valid_to_offset IS NULL OR valid_to_offset > valid_from_offset)
    ) s
  ) numbered
  GROUP BY topic_id, partition_id, number
) i
JOIN topic_states t ON t.topic_id = i.topic_id
  AND t.valid_from_offset <= i.from_offset
  AND (t.valid_to_offset IS NULL OR t.valid_to_offset > i.from_offset)
CROSS JOIN history_position now
"""
_COLUMNS = "SELECT '{kind}' AS kind, t.topic, i.topic_id, i.partition_id, i.from_offset, "
_COLUMNS += "i.to_offset, i.from_ms, i.to_ms, " + _DURATION

_OUTAGES_BEFORE = _COLUMNS + _INTERVALS.replace("{more}", "")
_OUTAGES = (
    _COLUMNS
    + ", CASE WHEN i.to_offset IS NULL THEN 1 ELSE 0 END AS ongoing, i.confirmed"
    + _INTERVALS.replace("{more}", ", MIN(CASE WHEN confirmed THEN 1 ELSE 0 END) AS confirmed")
)
