"""Create the tables of a shared log: identity, groups, the leader's lease, and nodes."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "shared_log",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False, comment="Always 1."),
        sa.Column("cluster_id", sa.Text(), nullable=False, comment="Of the log that is shared."),
        sa.Column(
            "log_id",
            sa.Text(),
            nullable=False,
            comment="Random digits: tell this shared log from another of the same cluster.",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_shared_log"),
        comment="One row: which log this is.",
    )
    op.create_table(
        "shared_group",
        sa.Column(
            "number",
            sa.BigInteger(),
            nullable=False,
            autoincrement=False,
            comment="From 0 without gaps; the first ones may be trimmed.",
        ),
        sa.Column("epoch", sa.BigInteger(), nullable=False, comment="Of the leader that wrote it."),
        sa.Column(
            "nonce",
            sa.LargeBinary(),
            nullable=False,
            comment="16 random bytes by which a writer knows its own group.",
        ),
        sa.Column(
            "end_offset",
            sa.BigInteger(),
            nullable=False,
            comment="Offset of the next record after the group.",
        ),
        sa.Column(
            "crc32c",
            sa.BigInteger(),
            nullable=False,
            comment="CRC-32C of the log's last block up to here, chained to all before it.",
        ),
        sa.Column(
            "entries",
            sa.LargeBinary(),
            nullable=False,
            comment="What each node writes to its folder, as MessagePack; empty in a claim.",
        ),
        sa.PrimaryKeyConstraint("number", name="pk_shared_group"),
        comment="Groups of blocks, committed as a whole, and claims of leaders.",
    )
    op.create_table(
        "shared_lease",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False, comment="Always 1."),
        sa.Column("nonce", sa.LargeBinary(), nullable=False, comment="Of the last renewal."),
        sa.Column("lease", sa.LargeBinary(), nullable=False, comment="Its content, MessagePack."),
        sa.PrimaryKeyConstraint("id", name="pk_shared_lease"),
        comment="At most one row: who should lead.",
    )
    op.create_table(
        "shared_member",
        sa.Column("node_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column(
            "registered_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When the node told last that it lives, by the server's clock.",
        ),
        sa.Column(
            "content",
            sa.LargeBinary(),
            nullable=False,
            comment="What the node says of itself, as MessagePack.",
        ),
        sa.PrimaryKeyConstraint("node_id", name="pk_shared_member"),
        comment="One row a node: role, log end, release and addresses.",
    )
    # Blocks are compressed already.
    op.execute("ALTER TABLE shared_group ALTER COLUMN entries SET STORAGE EXTERNAL")


def downgrade() -> None:
    """Drop the tables with everything in them: only for a shared log that nobody uses."""
    for name in ("shared_member", "shared_lease", "shared_group", "shared_log"):
        op.drop_table(name)
