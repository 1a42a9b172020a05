"""Add indexes for questions, and views without secrets."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# Of current states only, so that a long history does not make them larger.
_CURRENT = {
    "topic_version": ["topic_id"],
    "partition_version": ["topic_id", "partition_id"],
    "config_version": ["resource_type", "resource_name", "name"],
    "broker_version": ["broker_id"],
    "acl_version": ["id"],
}
# Rows are written in the order of these columns, so a few bytes for each 128 pages are enough.
_BLOCKS = {
    "change": ["offset", "time_ms"],
    "partition_version": ["record_offset", "valid_from_offset", "valid_from_ms"],
    "config_version": ["record_offset", "valid_from_offset", "valid_from_ms"],
}
_NAMES_COMMENT = "Names of configs whose values are no secrets."


def upgrade() -> None:
    """Create the indexes, the table of public configs, and the views."""
    where = sa.text("valid_to_offset IS NULL")
    for table, columns in _CURRENT.items():
        op.create_index(
            f"ix_{table}_current", table, columns, postgresql_where=where, sqlite_where=where
        )
    op.create_index("ix_change_principal", "change", ["principal"])
    if op.get_bind().dialect.name == "postgresql":
        for table, columns in _BLOCKS.items():
            op.create_index(f"ix_{table}_blocks", table, columns, postgresql_using="brin")
    op.create_table(
        "public_config",
        sa.Column("name", sa.Text(), nullable=False, comment="The config's name."),
        sa.PrimaryKeyConstraint("name", name="pk_public_config"),
        comment=_NAMES_COMMENT,
        sqlite_with_rowid=False,
    )
    for name, query in _VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query}")


def downgrade() -> None:
    """Drop the indexes, the names of public configs, and the views without secrets."""
    for name in _VIEWS:
        op.execute(f"DROP VIEW {name}")
    op.drop_table("public_config")
    if op.get_bind().dialect.name == "postgresql":
        for table in _BLOCKS:
            op.drop_index(f"ix_{table}_blocks", table)
    op.drop_index("ix_change_principal", "change")
    for table in _CURRENT:
        op.drop_index(f"ix_{table}_current", table)


_STATE = "record_offset, valid_from_offset, valid_from_ms, valid_to_offset, valid_to_ms, confirmed"
_HIDDEN = "'(redacted)'"

# Without the tables' other columns: a later release may add one that is secret.
_VIEWS = {
    "config_states": f"""
        SELECT resource_type, resource_name, name, {_STATE},
          CASE WHEN name IN (SELECT name FROM public_config) THEN value ELSE {_HIDDEN} END AS value
        FROM config_version
    """,
    "scram_states": f"SELECT name, mechanism, {_STATE}, iterations FROM scram_version",
    "delegation_token_states": f"""
        SELECT {_STATE}, owner, requester, renewers,
          issue_timestamp, max_timestamp, expiration_timestamp
        FROM delegation_token_version
    """,
}
