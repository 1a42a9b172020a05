"""Add a column for the cordoned log directories of brokers."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_COMMENT = "Ids of the log directories that get no new partitions; null is none."


def upgrade() -> None:
    """Add the column for cordoned log directories."""
    if op.get_bind().dialect.name == "sqlite":
        # Through Alembic the comment would not be in the schema's text.
        op.execute(
            "ALTER TABLE broker_version ADD COLUMN "
            f"cordoned_log_dirs TEXT /* {_COMMENT} */ DEFAULT '[]' NOT NULL"
        )
        return
    op.add_column(
        "broker_version",
        sa.Column(
            "cordoned_log_dirs", sa.Text(), nullable=False, server_default="[]", comment=_COMMENT
        ),
    )


def downgrade() -> None:
    """Drop the column for cordoned log directories."""
    op.drop_column("broker_version", "cordoned_log_dirs")
