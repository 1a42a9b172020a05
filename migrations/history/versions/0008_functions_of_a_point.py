"""Add functions that return the state at a point, for PostgreSQL."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_STATES = {
    "topics_at": "topic_states",
    "partitions_at": "partition_states",
    "configs_at": "config_states",
    "brokers_at": "broker_version",
    "acls_at": "acl_version",
}
_TYPES = ("bigint", "timestamp with time zone")


def upgrade() -> None:
    """Create the functions; SQLite has none."""
    if op.get_bind().dialect.name != "postgresql":
        return
    # The last record up to a time, as every command takes it. A state at its offset is that of the
    # time, because records that are not in the table change nothing.
    op.execute(
        """
        CREATE FUNCTION offset_at(at timestamp with time zone) RETURNS bigint
        LANGUAGE sql STABLE PARALLEL SAFE
        RETURN (SELECT max("offset") FROM change
                WHERE time_ms <= floor(extract(epoch FROM at) * 1000)::bigint)
        """
    )
    for name, relation in _STATES.items():
        _create(name, relation)


def downgrade() -> None:
    """Drop the functions."""
    if op.get_bind().dialect.name != "postgresql":
        return
    for name in reversed(_STATES):
        for type_ in reversed(_TYPES):
            op.execute(f"DROP FUNCTION {name}({type_})")
    op.execute("DROP FUNCTION offset_at(timestamp with time zone)")


def _create(name: str, relation: str) -> None:
    op.execute(
        f"""
        CREATE FUNCTION {name}(at bigint) RETURNS SETOF {relation}
        LANGUAGE sql STABLE PARALLEL SAFE
        BEGIN ATOMIC {_query(name, relation)}; END
        """
    )
    op.execute(
        f"""
        CREATE FUNCTION {name}(at timestamp with time zone) RETURNS SETOF {relation}
        LANGUAGE sql STABLE PARALLEL SAFE
        BEGIN ATOMIC SELECT * FROM {name}(offset_at(at)); END
        """
    )


def _query(name: str, relation: str) -> str:
    holds = (
        "s.valid_from_offset <= at AND (s.valid_to_offset IS NULL OR s.valid_to_offset > at) "
        # Before the tables' start nothing is known, and after their end nothing yet.
        "AND at < (SELECT end_offset FROM history_position)"
    )
    if name != "partitions_at":
        # The row as a whole: a list of its columns would lack those of later releases.
        return f"SELECT s FROM {relation} s WHERE {holds}"
    # The view has the topic's name at the start of the state; it may have moved since.
    columns = [each["name"] for each in sa.inspect(op.get_bind()).get_columns(relation)]
    rest = ", ".join(f"s.{each}" for each in columns if each != "topic")
    return (
        f"SELECT t.topic, {rest} FROM {relation} s "
        f"JOIN topics_at(at) t ON t.topic_id = s.topic_id WHERE {holds}"
    )
