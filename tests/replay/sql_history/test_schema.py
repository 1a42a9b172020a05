"""Migrations create the tables and views that the code and the documents use."""

from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect
from sqlalchemy import text as sql

from records.errors import RequestError
from replay.image.parts import PARTS
from replay.image.rules import RULES_VERSION
from replay.snapshot.database import writing
from replay.snapshot.revision import HISTORY_REVISION, HISTORY_VERSION_TABLE
from replay.snapshot.schema import HISTORY, upgrade
from replay.sql_history.store import HistoryStore
from replay.sql_history.tables import VERSION_TABLES, metadata
from replay.sql_sync import sync
from replay.timeline import Timeline
from tests.replay.builders import FakeLog, batches, topic
from tests.replay.sql_history.conftest import ON_BOTH

# Indexes that SQLite lacks: it has no BRIN, and reads current states by their key.
OF_POSTGRESQL = ("_blocks", "_current_sets")


@ON_BOTH
def test_migrations_make_the_tables_the_code_uses(store: HistoryStore) -> None:
    with store.engine.connect() as connection:
        is_sqlite = connection.dialect.name == "sqlite"

        def is_here(_item: Any, name: str | None, kind: str, *_: Any) -> bool:
            return not (is_sqlite and kind == "index" and str(name).endswith(OF_POSTGRESQL))

        context = MigrationContext.configure(
            connection,
            opts={"version_table": HISTORY_VERSION_TABLE, "include_object": is_here},
        )
        assert compare_metadata(context, metadata) == []
        assert is_sqlite or len(_brin(connection)) == 3
        look = inspect(connection)
        for table in metadata.tables.values():
            key = look.get_pk_constraint(table.name)
            assert key["constrained_columns"] == [c.name for c in table.primary_key.columns]


def _brin(connection: Connection) -> list[str]:
    query = "SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%USING brin%'"
    return list(connection.scalars(sql(query)))


def test_every_part_of_an_image_has_a_table() -> None:
    assert VERSION_TABLES.keys() == PARTS.keys()


def test_every_column_and_table_is_explained() -> None:
    for table in metadata.tables.values():
        assert table.comment
        assert all(column.comment for column in table.columns), table.name


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_every_table_view_and_column_in_postgresql_is_explained(store: HistoryStore) -> None:
    look = inspect(store.engine)
    views = look.get_view_names()
    assert len(views) == 10
    for name in {*views, *metadata.tables}:
        assert look.get_table_comment(name)["text"], name
        columns = {each["name"]: each["comment"] for each in look.get_columns(name)}
        assert columns
        assert all(columns.values()), (name, columns)


def test_the_schema_text_of_sqlite_explains_every_table_and_column(store: HistoryStore) -> None:
    with store.engine.connect() as connection:
        found = connection.execute(sql("SELECT name, sql FROM sqlite_master"))
        schemas = {row.name: row.sql for row in found}
    for name, table in metadata.tables.items():
        for each in (table, *table.columns):
            assert f"/* {each.comment} */" in schemas[name], each


def alembic_config() -> Config:
    """Return a configuration of Alembic for the history's migrations."""
    config = Config()
    config.set_main_option("script_location", str(HISTORY.migrations))
    return config


@pytest.mark.parametrize("revision", ["0001", HISTORY_REVISION])
@pytest.mark.parametrize(
    ("rules", "todo"), [(RULES_VERSION - 1, "remove the database"), (10**6, "a newer release")]
)
@ON_BOTH
def test_tables_of_other_rules_get_one_answer_whatever_their_schema(
    store: HistoryStore, revision: str, rules: int, todo: str
) -> None:
    log = FakeLog(batches((topic("orders"),)))
    sync(Timeline(log), log, store)
    url, config = store.engine.url, alembic_config()
    with writing(store.engine) as connection:
        config.attributes["connection"] = connection
        connection.execute(sql(f"UPDATE history_position SET rules = {rules}"))
        command.downgrade(config, revision)
    for create in (False, True, False):
        with (
            pytest.raises(RequestError, match=f"version {rules} of the replay rules.*{todo}"),
            HistoryStore.open(url, create=create),
        ):
            pass
    # For the tests that use the same PostgreSQL database.
    upgrade(store.engine, HISTORY)
    with writing(store.engine) as connection:
        connection.execute(sql("DELETE FROM history_position"))


@ON_BOTH
def test_downgrade_leads_back_to_nothing_and_upgrade_to_all(store: HistoryStore) -> None:
    config = alembic_config()
    assert ScriptDirectory.from_config(config).get_heads() == [HISTORY_REVISION]
    with writing(store.engine) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert inspect(store.engine).get_table_names() == [HISTORY_VERSION_TABLE]
    assert inspect(store.engine).get_view_names() == []
    upgrade(store.engine, HISTORY)
    assert {*inspect(store.engine).get_table_names()} == {*metadata.tables, HISTORY_VERSION_TABLE}
