"""Index the states without a leader, and those that hold by their lists of replicas."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_LEADERLESS = "ix_partition_version_leaderless"
_CURRENT_SETS = "ix_partition_version_current_sets"


def upgrade() -> None:
    """Create the indexes, and the view of outages that uses the first."""
    where = sa.text("leader = -1")
    op.create_index(
        _LEADERLESS,
        "partition_version",
        ["topic_id", "partition_id", "record_offset"],
        postgresql_where=where,
        sqlite_where=where,
    )
    if not _is_sqlite():
        op.create_index(
            _CURRENT_SETS,
            "partition_version",
            ["replica_set"],
            postgresql_where=sa.text("valid_to_offset IS NULL"),
        )
    kinds = [_of_kind(_OUTAGES, kind, states) for kind, states in _STATES.items()]
    _replace(" UNION ALL ".join(kinds))


def downgrade() -> None:
    """Drop the indexes, and create the view as it was."""
    kinds = [_of_kind(_OUTAGES, kind, _BY_VIEW) for kind in _STATES]
    _replace(" UNION ALL ".join(kinds))
    if not _is_sqlite():
        op.drop_index(_CURRENT_SETS, "partition_version")
    op.drop_index(_LEADERLESS, "partition_version")


def _replace(query: str) -> None:
    if _is_sqlite():
        op.execute("DROP VIEW outages")
        op.execute(f"CREATE VIEW outages AS {query}")
    else:
        # The view has the same columns, and so keeps its comments and rights.
        op.execute(f"CREATE OR REPLACE VIEW outages AS {query}")


def _of_kind(query: str, kind: str, states: str) -> str:
    ms = "{0} - {1}" if _is_sqlite() else "(extract(epoch FROM {0} - {1}) * 1000)::bigint"
    return query.format(
        states=states.format(kind=kind),
        kind=kind,
        ended=ms.format("i.to_time", "i.from_time"),
        ongoing=ms.format("now.end_time", "i.from_time"),
    )


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


_BY_VIEW = "partition_states h WHERE {kind} = 1"

_STATES = {
    "leaderless": "partition_version h WHERE leader = -1",
    "under_replicated": """
        partition_version h JOIN replica_set s ON s.replica_set = h.replica_set
        WHERE s.isr_count < s.replica_count - s.adding_count
    """,
}

# Times may go back, but no outage lasted less than nothing.
_OUTAGES = """
SELECT '{kind}' AS kind, t.topic, i.topic_id, i.partition_id, i.from_offset, i.to_offset,
  i.from_time, i.to_time,
  CASE
    WHEN i.to_offset IS NOT NULL AND i.to_time < i.from_time THEN 0
    WHEN i.to_offset IS NOT NULL THEN {ended}
    WHEN now.end_time < i.from_time THEN 0
    ELSE {ongoing}
  END AS duration_ms,
  CASE WHEN i.to_offset IS NULL THEN 1 ELSE 0 END AS ongoing, i.confirmed
FROM (
  SELECT topic_id, partition_id,
    MIN(valid_from_offset) AS from_offset,
    CASE WHEN COUNT(valid_to_offset) = COUNT(*) THEN MAX(valid_to_offset) END AS to_offset,
    CASE WHEN COUNT(valid_from_time) = COUNT(*) THEN MIN(valid_from_time) END AS from_time,
    CASE WHEN COUNT(valid_to_time) = COUNT(*) THEN MAX(valid_to_time) END AS to_time,
    MIN(CASE WHEN confirmed THEN 1 ELSE 0 END) AS confirmed
  FROM (
    SELECT s.*, SUM(CASE WHEN before_to = valid_from_offset THEN 0 ELSE 1 END)
      OVER (PARTITION BY topic_id, partition_id ORDER BY record_offset) AS number
    FROM (
      SELECT h.topic_id, h.partition_id, h.record_offset, h.valid_from_offset, h.valid_from_time,
        h.valid_to_offset, h.valid_to_time, h.confirmed, LAG(h.valid_to_offset)
        OVER (PARTITION BY h.topic_id, h.partition_id ORDER BY h.record_offset) AS before_to
      FROM {states} AND (h.valid_to_offset IS NULL OR h.valid_to_offset > h.valid_from_offset)
    ) s
  ) numbered
  GROUP BY topic_id, partition_id, number
) i
JOIN topic_states t ON t.topic_id = i.topic_id
  AND t.valid_from_offset <= i.from_offset
  AND (t.valid_to_offset IS NULL OR t.valid_to_offset > i.from_offset)
CROSS JOIN history_position now
"""
