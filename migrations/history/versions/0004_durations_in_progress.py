"""Count outages in progress up to the end of the log, as `metalog outages` does."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_COMMENT = "Time of the last record before end_offset, ms since 1970."


def upgrade() -> None:
    """Add the time of the tables' end, and use it in the view of outages."""
    if op.get_bind().dialect.name == "sqlite":
        # Through Alembic the comment would not be in the schema's text.
        op.execute(f"ALTER TABLE history_position ADD COLUMN end_ms BIGINT /* {_COMMENT} */")
    else:
        op.add_column("history_position", sa.Column("end_ms", sa.BigInteger(), comment=_COMMENT))
    # The next sync writes the time itself, also of records that change nothing.
    op.execute("UPDATE history_position SET end_ms = (SELECT MAX(time_ms) FROM change)")
    _replace_outages(_DURATION)


def downgrade() -> None:
    """Leave outages in progress without a duration again."""
    _replace_outages("i.to_ms - i.from_ms AS duration_ms")
    op.drop_column("history_position", "end_ms")


def _replace_outages(duration: str) -> None:
    op.execute("DROP VIEW outages")
    kinds = [
        _INTERVALS.format(kind=kind, duration=duration)
        for kind in ("leaderless", "under_replicated")
    ]
    op.execute(f"CREATE VIEW outages AS {' UNION ALL '.join(kinds)}")


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
SELECT '{kind}' AS kind, t.topic, i.*, {duration}
FROM (
  SELECT topic_id, partition_id,
    MIN(valid_from_offset) AS from_offset,
    CASE WHEN COUNT(valid_to_offset) = COUNT(*) THEN MAX(valid_to_offset) END AS to_offset,
    CASE WHEN COUNT(valid_from_ms) = COUNT(*) THEN MIN(valid_from_ms) END AS from_ms,
    CASE WHEN COUNT(valid_to_ms) = COUNT(*) THEN MAX(valid_to_ms) END AS to_ms
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
