"""Runs Alembic's migrations: in the caller's transaction, or for the command `alembic`.

    alembic -n history -x database=URL upgrade head
    alembic -n history -x database=URL -x drop=yes downgrade 0008

The command also works in one transaction. Without `drop=yes` a downgrade changes nothing, and ends
with an error that says what each step would drop.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import getdoc
from typing import Any

from alembic import context
from alembic.util import CommandError
from sqlalchemy import Connection

from records.errors import MetadataLogError
from replay.snapshot.database import open_database, writing
from replay.snapshot.revision import HISTORY_VERSION_TABLE, VERSION_TABLE
from replay.snapshot.schema import HISTORY, Schema


def run_migrations(schema: Schema, **options: Any) -> None:
    """Run the migrations of an Alembic command, such as `upgrade` or `downgrade`.

    Args:
        options: More arguments of `EnvironmentContext.configure`.

    Raises:
        CommandError: the database is not named or cannot be used, or a downgrade would drop
            something and `drop=yes` is missing.
    """
    given = context.config.attributes.get("connection")
    if given is not None:
        _run(schema, given, options)
        return
    asked = context.get_x_argument(as_dictionary=True)
    dropped: list[str] = []

    def note(step: Any, **_: Any) -> None:
        if not step.is_upgrade:
            module = step.up_revision.module
            dropped.append(f"{module.revision}: {getdoc(module.downgrade)}")

    with _database(schema, asked.get("database")) as connection:
        _run(schema, connection, {**options, "on_version_apply": note})
        if dropped and asked.get("drop") != "yes":
            # The transaction is rolled back.
            raise CommandError(
                "nothing has changed; with `-x drop=yes` this downgrade would do:\n  "
                + "\n  ".join(dropped)
            )


def _run(
    schema: Schema,
    connection: Connection,
    options: dict[str, Any],
) -> None:
    context.configure(connection=connection, version_table=schema.version_table, **options)
    with context.begin_transaction():
        context.run_migrations()


@contextmanager
def _database(schema: Schema, url: str | None) -> Iterator[Connection]:
    if url is None:
        raise CommandError("name the database: `-x database=URL`, before the command's name")
    try:
        engine = open_database(
            url,
            wal=schema is HISTORY,
            missing=(schema.absent, schema.made_by),
            never_beside=VERSION_TABLE if schema is HISTORY else HISTORY_VERSION_TABLE,
        )
        try:
            with writing(engine) as connection:
                yield connection
        finally:
            engine.dispose()
    except MetadataLogError as error:
        raise CommandError(str(error)) from error
