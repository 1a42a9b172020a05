"""Snapshots say exactly what they were made of: position, rules, and what was not understood.

Rows from before keep null: what they were made under is not known.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS = ("last_crc32c", "rules", "not_understood", "not_understood_from")


def upgrade() -> None:
    """Add the columns."""
    for name in _COLUMNS:
        op.add_column("snapshot", sa.Column(name, sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Drop the columns, and with them the snapshots that the release before cannot check."""
    op.execute("DELETE FROM snapshot WHERE rules IS NOT NULL")
    for name in reversed(_COLUMNS):
        op.drop_column("snapshot", name)
