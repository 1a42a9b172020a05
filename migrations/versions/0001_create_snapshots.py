"""Create the tables of snapshots: their description, their chunks, and the content."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of snapshots."""
    op.create_table(
        "snapshot",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("cluster_id", sa.String(255), nullable=False),
        sa.Column("end_offset", sa.BigInteger(), nullable=False),
        sa.Column("leader_epoch", sa.BigInteger(), nullable=False),
        sa.Column("timestamp_ms", sa.BigInteger(), nullable=False),
        sa.Column("mid_batch", sa.Boolean(), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("format", sa.Integer(), nullable=False),
        sa.Column("checksum", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_snapshot"),
        sa.UniqueConstraint("cluster_id", "end_offset", name="uq_snapshot_cluster_id_end_offset"),
    )
    op.create_table(
        "snapshot_chunk",
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("encoding", sa.String(32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_snapshot_chunk"),
    )
    op.create_table(
        "snapshot_manifest",
        sa.Column(
            "snapshot_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("part", sa.String(64), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("chunk_hash", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("snapshot_id", "part", "ordinal", name="pk_snapshot_manifest"),
        sa.ForeignKeyConstraint(
            ["snapshot_id"],
            ["snapshot.id"],
            name="fk_snapshot_manifest_snapshot_id_snapshot",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["chunk_hash"],
            ["snapshot_chunk.hash"],
            name="fk_snapshot_manifest_chunk_hash_snapshot_chunk",
        ),
    )
    op.create_index("ix_snapshot_manifest_chunk_hash", "snapshot_manifest", ["chunk_hash"])


def downgrade() -> None:
    """Drop the tables of snapshots, with all snapshots in them."""
    op.drop_table("snapshot_manifest")
    op.drop_table("snapshot_chunk")
    op.drop_table("snapshot")
