"""Name the code of namespaces in the comments of resource types: it is 100."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_CONFIGS = "2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group, {} namespace."
_ACLS = "2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user{}."


def upgrade() -> None:
    """Correct the comments."""
    _replace("config_version", _CONFIGS.format(64), _CONFIGS.format(100))
    _replace("acl_version", _ACLS.format(""), _ACLS.format(", 100 namespace"))


def downgrade() -> None:
    """Restore the comments of the release before."""
    _replace("config_version", _CONFIGS.format(100), _CONFIGS.format(64))
    _replace("acl_version", _ACLS.format(", 100 namespace"), _ACLS.format(""))


def _replace(table: str, old: str, new: str) -> None:
    bind = op.get_bind()
    if bind.dialect.name != "sqlite":
        op.alter_column(table, "resource_type", comment=new)
        return
    # In SQLite a comment is a part of the schema's text; a new table would copy all rows.
    op.execute("PRAGMA writable_schema = ON")
    bind.execute(
        sa.text("UPDATE sqlite_master SET sql = replace(sql, :old, :new) WHERE name = :table"),
        {"old": old, "new": new, "table": table},
    )
    op.execute("PRAGMA writable_schema = OFF")
