"""PostgreSQL's functions of a point return the state that replay computes there."""

import datetime
import random
from typing import Any

import pytest
from sqlalchemy import text

from replay.image.digest import digest_of_rows, row_text
from replay.image.parts import PARTS
from replay.snapshot.database import writing
from replay.sql_history.columns import row_decoder
from replay.sql_history.store import HistoryStore
from replay.sql_history.tables import VERSION_TABLES
from replay.sql_sync import sync
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import FakeLog

pytestmark = pytest.mark.parametrize("url", ["postgresql"], indirect=True)

LOG = FakeLog(random_history(random.Random(1), 60))
LAST = LOG.end_offset - 1

FUNCTIONS = {
    "topics": "topics_at",
    "partitions": "partitions_at",
    "brokers": "brokers_at",
    "acls": "acls_at",
}


def asked(store: HistoryStore, query: str, **values: Any) -> list[Any]:
    with store.engine.connect() as connection:
        return list(connection.execute(text(query), values))


def _times(recorded: dict[int, int], from_offset: int) -> set[int]:
    return {ms for offset, ms in recorded.items() if offset >= from_offset}


def digests(store: HistoryStore, at: object, kind: str) -> dict[str, Any]:
    """Return the digest of each part, of the rows that its function returns."""
    found = {}
    for name, function in FUNCTIONS.items():
        table = VERSION_TABLES[name]
        fields = [
            each for each in (*table.fields, *table.shared_fields) if each.form.load is not None
        ]
        columns = ", ".join(each.name for each in fields)
        rows = asked(store, f"SELECT {columns} FROM {function}(CAST(:at AS {kind}))", at=at)
        decode = row_decoder(table.part.row_type, fields)
        found[name] = digest_of_rows(map(row_text(table.part), map(decode, rows)))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_state_at_a_point_is_that_of_replay(seed: int, store: HistoryStore) -> None:
    log = FakeLog(random_history(random.Random(seed), 30))
    end = sync(Timeline(log), log, store).to_offset
    recorded = {row.offset: row.timestamp for each in log.log for row in each.rows}
    for at in random.Random(seed).sample(range(end), 8):
        image = Timeline(log).image(at)
        expected = {
            name: digest_of_rows(map(row_text(PARTS[name]), PARTS[name].rows(image)))
            for name in FUNCTIONS
        }
        assert digests(store, at, "bigint") == expected, at
        names = dict(asked(store, "SELECT topic_id, topic FROM topics_at(:at)", at=at))
        of_partitions = asked(store, "SELECT topic_id, topic FROM partitions_at(:at)", at=at)
        assert all(names[topic_id] == topic for topic_id, topic in of_partitions)
        if recorded.get(at, 0) and recorded[at] not in _times(recorded, at + 1):
            time = datetime.datetime.fromtimestamp(recorded[at] / 1_000, datetime.UTC)
            assert digests(store, time, "timestamptz") == expected, at
    assert asked(store, "SELECT * FROM topics_at(CAST(:at AS bigint))", at=end) == []
    assert asked(store, "SELECT * FROM topics_at('1970-01-01'::timestamptz)") == []


def test_a_later_column_is_in_the_rows(store: HistoryStore) -> None:
    sync(Timeline(LOG), LOG, store)
    with writing(store.engine) as connection:
        for table, function in (("broker_version", "brokers_at"), ("acl_version", "acls_at")):
            connection.execute(text(f"ALTER TABLE {table} ADD COLUMN later integer DEFAULT 7"))
            rows = list(connection.execute(text(f"SELECT later FROM {function}({LAST})")))
            assert rows
            assert {later for (later,) in rows} == {7}
        connection.rollback()
