"""Add tables for the gaps of a recording and for what was found after them."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_TIME = sa.BigInteger().with_variant(TIMESTAMP(timezone=True), "postgresql")
_UNIT = ", in SQLite as ms since 1970"

# A time within a gap is of no offset, and one between the snapshot and the first record after it
# is of the snapshot's.
_OFFSET_AT = """
CREATE OR REPLACE FUNCTION offset_at(at timestamp with time zone) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT CASE
  WHEN EXISTS (SELECT FROM gap WHERE from_time < at AND at < to_time) THEN NULL
  ELSE greatest(
    (SELECT max("offset") FROM change WHERE time <= at),
    (SELECT max(to_offset) - 1 FROM gap WHERE to_time <= at)
  ) END)
"""
_OFFSET_AT_BEFORE = """
CREATE OR REPLACE FUNCTION offset_at(at timestamp with time zone) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT max("offset") FROM change WHERE time <= at)
"""


def _column(
    name: str, type_: sa.types.TypeEngine[Any], comment: str, *, nullable: bool = True
) -> sa.Column[Any]:
    return sa.Column(name, type_, comment=comment, nullable=nullable)


def upgrade() -> None:
    """Create the tables, and let `offset_at` know of gaps."""
    number, text = sa.BigInteger(), sa.Text()
    op.create_table(
        "gap",
        _column("from_offset", number, "The first offset that is missing.", nullable=False),
        _column("from_epoch", number, "Leader epoch of the last record before.", nullable=False),
        _column("from_time", _TIME, f"Time of that record{_UNIT}; null: there is none."),
        _column("to_offset", number, "The first offset after the gap.", nullable=False),
        _column(
            "to_epoch", number, "Leader epoch of the snapshot that follows the gap.", nullable=False
        ),
        _column("to_time", _TIME, f"Time of that snapshot{_UNIT}.", nullable=False),
        _column("found_time", _TIME, f"When the gap was found{_UNIT}.", nullable=False),
        _column("source", text, "The leader that lacked the records.", nullable=False),
        _column("log_start_offset", number, "Where that leader's log started.", nullable=False),
        _column("leader_epoch", number, "That leader's epoch.", nullable=False),
        _column("reason", text, "Why the records are missing.", nullable=False),
        sa.PrimaryKeyConstraint("from_offset", name="pk_gap"),
        comment="Offsets that were not recorded: no state is valid there.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "found_after_gap",
        _column("from_offset", number, "The gap, in gap.from_offset.", nullable=False),
        _column("number", number, "Place in the list of the gap.", nullable=False),
        _column("object", text, "The object that differs.", nullable=False),
        _column("field", text, "The field that differs.", nullable=False),
        _column("fate", text, "The object is new, gone or changed.", nullable=False),
        _column("before", text, "The value before the gap, as JSON, without secrets."),
        _column("after", text, "The value after the gap, as JSON, without secrets."),
        sa.PrimaryKeyConstraint("from_offset", "number", name="pk_found_after_gap"),
        comment="What differs after a gap; when, in which order and by whom is not known.",
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_OFFSET_AT)


def downgrade() -> None:
    """Drop the tables."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_OFFSET_AT_BEFORE)
    op.drop_table("found_after_gap")
    op.drop_table("gap")
