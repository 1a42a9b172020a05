"""Database schemas: created by Alembic's migrations, and checked before use."""

from pathlib import Path

import msgspec
from sqlalchemy import Connection, Engine, column, inspect, select, table

from records.errors import RequestError
from replay.snapshot.database import reading, shown_url, writing
from replay.snapshot.revision import (
    HISTORY_REVISION,
    HISTORY_VERSION_TABLE,
    SCHEMA_REVISION,
    SHARED_LOG_REVISION,
    SHARED_LOG_VERSION_TABLE,
    VERSION_TABLE,
)


class Schema(msgspec.Struct, frozen=True):
    """The schema of one kind of database.

    Attributes:
        migrations: The folder of the migrations. Found beside this package's own files and never
            imported, because an application may have a package `migrations`.
        revision: The newest migration.
        version_table: Table in which Alembic stores the revision. Each schema has its own, because
            a database may be shared.
        made_by: The command that applies the migrations.
        tables: Some tables that the first migration creates.
        what: Description of the tables' content, for messages.
        absent: Error code if the tables do not exist yet.
    """

    migrations: Path
    revision: str
    version_table: str
    made_by: str
    tables: tuple[str, ...]
    what: str
    absent: str


_REPLAY = Path(__file__).resolve().parents[1]
_INSTALLED = _REPLAY / "migrations"
_MIGRATIONS = _INSTALLED if _INSTALLED.is_dir() else _REPLAY.with_name("migrations")

SNAPSHOTS = Schema(
    migrations=_MIGRATIONS,
    revision=SCHEMA_REVISION,
    version_table=VERSION_TABLE,
    made_by="metalog snapshot create",
    tables=("snapshot", "snapshot_manifest", "snapshot_chunk"),
    what="snapshots",
    absent="SNAPSHOT_NOT_FOUND",
)
HISTORY = Schema(
    migrations=_MIGRATIONS / "history",
    revision=HISTORY_REVISION,
    version_table=HISTORY_VERSION_TABLE,
    made_by="metalog sql sync",
    tables=("history_position", "change"),
    what="tables of the SQL history",
    absent="HISTORY_NOT_FOUND",
)
SHARED_LOG = Schema(
    migrations=_MIGRATIONS / "shared",
    revision=SHARED_LOG_REVISION,
    version_table=SHARED_LOG_VERSION_TABLE,
    made_by="metalog nodes create",
    tables=("shared_log", "shared_group", "shared_lease", "shared_member"),
    what="shared log",
    absent="SHARED_LOG_NOT_FOUND",
)


def upgrade(engine: Engine, schema: Schema = SNAPSHOTS) -> None:
    """Migrate the database to this release's schema; on failure, nothing changes.

    Raises:
        RequestError: UNSUPPORTED_VERSION, a newer release has migrated the database;
            INVALID_REQUEST, the database has tables of the same names from another program.
        UnavailableError: the database cannot be reached or written.
    """
    with reading(engine) as connection:
        revision = revision_of(connection, engine, schema)
        if revision == schema.revision:
            return
        if revision is None:
            _check_not_foreign(connection, engine, schema)
    # Takes a second to import, and is needed once in a database's life.
    from alembic import command
    from alembic.config import Config

    with writing(engine) as connection:
        config = Config()
        config.set_main_option("script_location", str(schema.migrations).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def check(engine: Engine, schema: Schema = SNAPSHOTS) -> None:
    """Check that the database has this release's schema.

    Raises:
        RequestError: SNAPSHOT_NOT_FOUND or HISTORY_NOT_FOUND, the database is empty;
            SCHEMA_OUT_OF_DATE, the database must be upgraded first; UNSUPPORTED_VERSION, a newer
            release has migrated it.
        UnavailableError: the database cannot be reached.
    """
    with reading(engine) as connection:
        revision = revision_of(connection, engine, schema)
    if revision is None:
        raise RequestError(
            schema.absent,
            f"{shown_url(engine.url)} holds no {schema.what}; run `{schema.made_by}`",
        )
    if revision != schema.revision:
        raise RequestError(
            "SCHEMA_OUT_OF_DATE",
            f"{shown_url(engine.url)}: the schema is at revision {revision}, "
            f"this release needs {schema.revision}; upgrade it with `{schema.made_by}`",
        )


def _check_not_foreign(connection: Connection, engine: Engine, schema: Schema) -> None:
    foreign = set(schema.tables) & set(inspect(connection).get_table_names())
    if foreign:
        raise RequestError(
            "INVALID_REQUEST",
            f"{shown_url(engine.url)}: the table {min(foreign)!r} there was not made by metalog; "
            "name another database, or in PostgreSQL a schema of its own: "
            "?options=-csearch_path%3DSCHEMA",
        )


def revision_of(connection: Connection, engine: Engine, schema: Schema) -> str | None:
    """Return the revision of the database's schema, None if no migration was applied yet.

    Raises:
        RequestError: UNSUPPORTED_VERSION, a newer release has migrated the database.
    """
    if not inspect(connection).has_table(schema.version_table):
        return None
    version = table(schema.version_table, column("version_num"))
    revision = connection.scalar(select(version.c.version_num))
    # Revisions are numbers of four digits.
    if revision is not None and revision > schema.revision:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"{shown_url(engine.url)}: the schema is at revision {revision}, this release "
            f"knows {schema.revision}; use a newer release",
        )
    return revision
