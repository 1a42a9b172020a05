"""Add comments to the views and their columns, in PostgreSQL."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_VIEWS = {
    "topic_states": "States of topics, with full names.",
    "topics_now": "Topics that exist, with full names.",
    "partition_states": "States of partitions, with the topic's name at the start of the state.",
    "partitions_now": "Partitions that exist, with the topic's name.",
    "under_replicated": "Partitions that have fewer in-sync replicas than replicas.",
    "outages": "Times in which a partition had no leader or was under-replicated.",
    "changes_by_principal": "Number of records by principal, command and type.",
    "config_states": "States of configs, without secret values.",
    "scram_states": "States of SCRAM credentials, without their keys.",
    "delegation_token_states": "States of delegation tokens, without their ids.",
}

# Columns that no table has.
_COLUMNS = {
    "topic": "The topic's full name.",
    "leaderless": "1 if it has no leader, else 0.",
    "under_replicated": "1 if replicas that are not being added are out of sync, else 0.",
    "kind": "leaderless or under_replicated.",
    "from_offset": "It began at this offset.",
    "from_time": "Time of that; null: unknown, before the kept history.",
    "to_offset": "It ended at this offset; null: it is ongoing.",
    "to_time": "Time of that.",
    "duration_ms": "Up to its end, or to the last record in the tables; null: unknown.",
    "ongoing": "1 if it has no end, else 0.",
    "changes": "Number of records.",
    "first_time": "Time of the first of them.",
    "last_time": "Time of the last of them.",
}

# Columns with other values than those of the tables.
_OTHERS = {
    ("config_states", "value"): "The value; (redacted) if it may be secret.",
    ("outages", "confirmed"): "0: Kafka may still replace a record that it is made of; else 1.",
    ("outages", "topic"): "The topic's full name when it began.",
}


def upgrade() -> None:
    """Add the comments."""
    if op.get_bind().dialect.name == "sqlite":
        return
    look = sa.inspect(op.get_bind())
    tables = (table for table in look.get_table_names() if not table.startswith("metalog"))
    of_tables = {
        (table, c["name"]): c["comment"] for table in tables for c in look.get_columns(table)
    }
    for view, comment in _VIEWS.items():
        _comment(f"VIEW {view}", comment)
        for column in look.get_columns(view):
            name = column["name"]
            found = (
                _OTHERS.get((view, name))
                or _COLUMNS.get(name)
                or next(
                    of_tables[table, name]
                    for table in _tables_of(view)
                    if (table, name) in of_tables
                )
            )
            _comment(f'COLUMN {view}."{name}"', found)


def downgrade() -> None:
    """Drop the comments of views."""
    if op.get_bind().dialect.name == "sqlite":
        return
    look = sa.inspect(op.get_bind())
    for view in _VIEWS:
        op.execute(f"COMMENT ON VIEW {view} IS NULL")
        for column in look.get_columns(view):
            op.execute(f'COMMENT ON COLUMN {view}."{column["name"]}" IS NULL')


def _tables_of(view: str) -> tuple[str, ...]:
    match view:
        case "topic_states" | "topics_now":
            return ("topic_version",)
        case "changes_by_principal":
            return ("change",)
        case "config_states" | "scram_states" | "delegation_token_states":
            return (view.replace("states", "version"),)
        case _:
            return ("partition_version", "replica_set")


def _comment(of: str, comment: str | None) -> None:
    assert comment is not None, "every column of a table has one"
    quoted = comment.replace("'", "''").replace(":", r"\:")
    op.execute(f"COMMENT ON {of} IS '{quoted}'")
