"""The database schema: applied by Alembic's migrations, checked by everything else."""

from sqlalchemy import Connection, Engine, column, inspect, select, table

from records.errors import RequestError
from replay.snapshot.database import reading, writing
from replay.snapshot.revision import SCHEMA_REVISION, VERSION_TABLE

_MIGRATIONS = "migrations:"

_version = table(VERSION_TABLE, column("version_num"))


def upgrade(engine: Engine) -> None:
    """Migrate the schema to this release's; on an error nothing changes.

    Raises:
        RequestError: UNSUPPORTED_VERSION, a newer release has migrated it.
        UnavailableError: the database cannot be reached or written.
    """
    with reading(engine) as connection:
        if _revision(connection, engine) == SCHEMA_REVISION:
            return
    # Takes a second to import, and is needed once in a database's life.
    from alembic import command
    from alembic.config import Config

    with writing(engine) as connection:
        config = Config()
        config.set_main_option("script_location", _MIGRATIONS)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def check(engine: Engine) -> None:
    """Check that the schema is this release's.

    Raises:
        RequestError: SCHEMA_OUT_OF_DATE, it must be upgraded first; UNSUPPORTED_VERSION, a newer
            release has migrated it.
        UnavailableError: the database cannot be reached.
    """
    with reading(engine) as connection:
        revision = _revision(connection, engine)
    if revision != SCHEMA_REVISION:
        raise RequestError(
            "SCHEMA_OUT_OF_DATE",
            f"{engine.url.render_as_string()}: the schema is at revision {revision or 'none'}, "
            f"this release needs {SCHEMA_REVISION}; upgrade it with `metalog snapshot create`",
        )


def _revision(connection: Connection, engine: Engine) -> str | None:
    """Return the revision of the schema, None before the first."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    revision = connection.scalar(select(_version.c.version_num))
    # Revisions are numbers of four digits.
    if revision is not None and revision > SCHEMA_REVISION:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"{engine.url.render_as_string()}: the schema is at revision {revision}, this release "
            f"knows {SCHEMA_REVISION}; use a newer release",
        )
    return revision
