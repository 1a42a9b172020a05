"""Add tables for the voters of a dynamic quorum and for the finalized kraft.version."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of voters and kraft.version."""
    op.create_table(
        "voter_version",
        sa.Column("voter_id", sa.BigInteger(), nullable=False, comment="Node id of the voter."),
        *_validity(),
        sa.Column(
            "voter_directory_id",
            sa.String(22),
            nullable=False,
            comment="Id of the voter's metadata log directory.",
        ),
        sa.Column("endpoints", sa.Text(), nullable=False, comment="Where it is reached."),
        sa.Column(
            "kraft_version_feature",
            sa.Text(),
            nullable=False,
            comment="The range of kraft.version it supports.",
        ),
        sa.PrimaryKeyConstraint("voter_id", "record_offset", name="pk_voter_version"),
        comment="Voters of a dynamic quorum.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "kraft_version_version",
        *_validity(),
        sa.Column(
            "kraft_version",
            sa.BigInteger(),
            nullable=False,
            comment="The finalized kraft.version.",
        ),
        sa.PrimaryKeyConstraint("record_offset", name="pk_kraft_version_version"),
        comment="The finalized kraft.version.",
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Drop the tables of voters and kraft.version."""
    op.drop_table("kraft_version_version")
    op.drop_table("voter_version")


def _validity() -> tuple[sa.Column[int], ...]:
    return (
        sa.Column(
            "record_offset",
            sa.BigInteger(),
            nullable=False,
            comment="The record that made this state, in change.offset.",
        ),
        sa.Column(
            "valid_from_offset",
            sa.BigInteger(),
            nullable=False,
            comment="It holds from this offset on.",
        ),
        sa.Column(
            "valid_from_ms",
            sa.BigInteger(),
            nullable=True,
            comment="Time of that, ms since 1970; null: unknown, before the kept history.",
        ),
        sa.Column(
            "valid_to_offset",
            sa.BigInteger(),
            nullable=True,
            comment="It holds up to this offset, exclusive; null: it still does.",
        ),
        sa.Column("valid_to_ms", sa.BigInteger(), nullable=True, comment="Time of that."),
    )
