"""Add columns to the snapshots: CRC at the position, version of the replay rules, unknown records.

In existing rows the columns stay null, because the rules that made these snapshots are not known.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS = ("last_crc32c", "rules", "not_understood", "not_understood_from")


def upgrade() -> None:
    """Add the columns for CRC, replay rules and unknown records."""
    for name in _COLUMNS:
        op.add_column("snapshot", sa.Column(name, sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Drop the added columns, and the snapshots that the previous release cannot check."""
    op.execute("DELETE FROM snapshot WHERE rules IS NOT NULL")
    for name in reversed(_COLUMNS):
        op.drop_column("snapshot", name)
