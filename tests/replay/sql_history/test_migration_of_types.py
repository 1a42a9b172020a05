"""Tables of each released revision become those of this one, and lead back, without loss."""

import random
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, inspect, text

from replay.image.digest import image_digest
from replay.snapshot.database import writing
from replay.sql_history.store import HistoryStore
from replay.sql_history.tables import metadata
from replay.sql_sync import sync
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import FakeLog
from tests.replay.sql_history.conftest import ON_BOTH
from tests.replay.sql_history.test_schema import alembic_config

REVISIONS = ["0009", "0008", "0007", "0006", "0005", "0004", "0003"]
"""Revisions whose tables have every object of this release."""

TABLES = sorted({*metadata.tables} - {"public_config"})


def contents(connection: Connection, tables: list[str] = TABLES) -> dict[str, Any]:
    """Return the rows of tables, by their columns' names."""
    return {
        each: sorted(repr(sorted(row.items())) for row in connection.execute(
            text(f"SELECT * FROM {each}")).mappings())
        for each in tables
    }  # fmt: skip


@pytest.mark.parametrize("revision", REVISIONS)
@ON_BOTH
def test_tables_of_a_release_become_those_of_this_one(revision: str, store: HistoryStore) -> None:
    log = FakeLog(random_history(random.Random(7), 60))
    end = sync(Timeline(log), log, store).to_offset
    config = alembic_config()
    with writing(store.engine) as connection:
        before = contents(connection)
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
        command.upgrade(config, "head")
        after = contents(connection)
    assert after == before
    for at in (0, end // 2, end - 1):
        assert store.digest(at) == image_digest(Timeline(log).image(at))


@ON_BOTH
def test_the_release_before_finds_its_own_forms(store: HistoryStore) -> None:
    log = FakeLog(random_history(random.Random(7), 60))
    sync(Timeline(log), log, store)
    config = alembic_config()
    with writing(store.engine) as connection:
        expected = {
            (row["topic_id"], row["partition_id"], row["record_offset"]): row
            for row in connection.execute(
                text("SELECT * FROM partition_version JOIN replica_set USING (replica_set)")
            ).mappings()
        }
        config.attributes["connection"] = connection
        command.downgrade(config, "0008")
        columns = inspect(connection).get_columns("partition_version")
        assert {str(each["type"]) for each in columns} <= {
            *("VARCHAR(22)", "BIGINT", "TEXT", "BOOLEAN")
        }
        rows = connection.execute(text("SELECT * FROM partition_version")).mappings().all()
        # The values are those that Python has of PostgreSQL's types.
        for row in rows:
            now = expected.pop((row["topic_id"], row["partition_id"], row["record_offset"]))
            old = {name.replace("_ms", "_time"): value for name, value in row.items()}
            assert {**now, **old} == now
        assert rows
        assert not expected
        command.upgrade(config, "head")
