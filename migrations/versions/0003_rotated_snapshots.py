"""Add the column `rotated`: True for snapshots of which only the newest are kept.

It is False for existing snapshots.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column `rotated`."""
    op.add_column(
        "snapshot",
        sa.Column("rotated", sa.Boolean(), nullable=False, server_default=sa.false()),
    )


def downgrade() -> None:
    """Drop the column `rotated`."""
    op.drop_column("snapshot", "rotated")
