"""The functions and views of a point return the state that replay computes there."""

import datetime
import random
import re
from typing import Any

import pytest
from sqlalchemy import text

from records.text import uuid_text
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
from tests.sql_document import DOCUMENT

ON_POSTGRESQL = pytest.mark.parametrize("url", ["postgresql"], indirect=True)

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


@ON_POSTGRESQL
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


@ON_POSTGRESQL
def test_a_later_column_is_in_the_rows(store: HistoryStore) -> None:
    sync(Timeline(LOG), LOG, store)
    with writing(store.engine) as connection:
        for table, function in (("broker_version", "brokers_at"), ("acl_version", "acls_at")):
            connection.execute(text(f"ALTER TABLE {table} ADD COLUMN later integer DEFAULT 7"))
            rows = list(connection.execute(text(f"SELECT later FROM {function}({LAST})")))
            assert rows
            assert {later for (later,) in rows} == {7}
        connection.rollback()


def test_documented_views_of_a_point_in_sqlite(store: HistoryStore) -> None:
    sync(Timeline(LOG), LOG, store)
    document = DOCUMENT.read_text()
    made = re.findall(r"^    (CREATE TEMP .*?;)$", document, re.MULTILINE | re.DOTALL)
    (moved,) = re.findall(r"^    UPDATE point SET at = (\(.*\));$", document, re.MULTILINE)
    assert len(made) == 3
    with store.engine.connect() as connection:
        for statement in made:
            connection.execute(text(statement))
        for at in random.Random(1).sample(range(LAST), 8):
            connection.execute(text(f"UPDATE point SET at = {at}"))
            image = Timeline(LOG).image(at)
            topics = connection.execute(text("SELECT topic_id FROM topics_at"))
            ids = [uuid_text(row.topic_id) for row in PARTS["topics"].rows(image)]
            assert sorted(topics.scalars()) == sorted(ids), at
            brokers = connection.execute(text("SELECT broker_id FROM brokers_at"))
            numbers = [row.broker_id for row in PARTS["brokers"].rows(image)]
            assert sorted(brokers.scalars()) == sorted(numbers), at
        time = re.sub(r"\d{13}", str(_time_of(LAST)), moved)
        ((found,),) = connection.execute(text(f"SELECT {time}"))
        assert found <= LAST


def _time_of(offset: int) -> int:
    return max(row.timestamp for each in LOG.log for row in each.rows if row.offset <= offset)
