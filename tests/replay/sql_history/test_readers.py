"""What readers of the tables get: views without secrets, rights, indexes for their questions."""

import re
from typing import Any

import pytest
from sqlalchemy import URL, create_engine, text
from sqlalchemy.exc import ProgrammingError

from records.configs import ConfigRecord
from records.security import UserScramCredentialRecord
from replay import sql_sync
from replay.snapshot.database import writing
from replay.sql_history.store import HistoryStore
from replay.sql_sync import sync
from replay.timeline import Timeline
from tests.replay.builders import FakeLog, batches, change, partition, topic
from tests.replay.sql_history.conftest import ON_BOTH
from tests.sql_document import DOCUMENT, for_postgresql

ON_POSTGRESQL = pytest.mark.parametrize("url", ["postgresql"], indirect=True)

LOG = FakeLog(
    batches(
        (
            topic("orders"),
            ConfigRecord(resource_type=4, resource_name="1", name="log.dir", value="/srv"),
            ConfigRecord(resource_type=4, resource_name="1", name="ssl.key.password", value="x9"),
            UserScramCredentialRecord(
                name="ann",
                mechanism=1,
                salt=b"salt",
                stored_key=b"stored",
                server_key=b"server",
                iterations=4096,
            ),
        )
    )
)


@ON_BOTH
def test_views_of_states_show_no_secret(store: HistoryStore) -> None:
    sync(Timeline(LOG), LOG, store)
    with store.engine.connect() as connection:
        configs = connection.execute(text("SELECT name, value FROM config_states ORDER BY 1"))
        assert [tuple(row) for row in configs] == [
            ("log.dir", "/srv"),
            ("ssl.key.password", "(redacted)"),
        ]
        (found,) = connection.execute(text("SELECT * FROM scram_states")).mappings()
        assert found["name"] == "ann"
        assert not {"salt", "stored_key", "server_key"} & set(found)
        tokens = connection.execute(text("SELECT * FROM delegation_token_states"))
        assert "token_id" not in set(tokens.keys())


@ON_POSTGRESQL
def test_a_reader_has_the_documented_rights(store: HistoryStore, url: URL) -> None:
    sync(Timeline(LOG), LOG, store)
    grants = re.findall(r"^    ((?:GRANT|REVOKE) .*;)$", DOCUMENT.read_text(), re.MULTILINE)
    assert len(grants) == 2
    owner = create_engine(url.set(drivername="postgresql+psycopg"))
    with owner.begin() as connection:
        connection.execute(text("DROP ROLE IF EXISTS history_reader"))
        connection.execute(text("CREATE ROLE history_reader"))
        for grant in grants:
            connection.execute(text(grant.replace("READER", "history_reader")))

    def asked(query: str) -> list[Any]:
        with owner.connect() as connection:
            connection.execute(text("SET ROLE history_reader"))
            return list(connection.execute(text(query)))

    try:
        for readable in ("topic_states", "change", "outages", "config_states", "acl_version"):
            asked(f"SELECT * FROM {readable}")
        assert len(asked("SELECT * FROM config_states")) == 2
        for secret in ("config_version", "scram_version", "delegation_token_version"):
            with pytest.raises(ProgrammingError, match=f"permission denied for table {secret}"):
                asked(f"SELECT * FROM {secret}")
        with pytest.raises(ProgrammingError, match="permission denied"):
            asked("DELETE FROM change")
    finally:
        with owner.begin() as connection:
            connection.execute(text("DROP OWNED BY history_reader"))
            connection.execute(text("DROP ROLE history_reader"))
        owner.dispose()


_EVERY_ROW = {
    "Which leaders did the partition": {"partition_version"},
    "What was without a leader": {"partition_version"},
    "Who changes what": {"change"},
    "What was this config before": {"config_version"},
    "Which hours were busy": {"change"},
}
"""Questions about all rows of a table, which no index answers faster."""

_OTHERS = (
    "SELECT * FROM change WHERE principal = 'User:nobody'",
    "SELECT * FROM change WHERE time BETWEEN '1970-01-01 00:00:00.001Z' AND '1970-01-01 00:00:01Z'",
    "SELECT * FROM partition_version WHERE record_offset = 5000",
    "SELECT * FROM partition_version WHERE valid_from_time "
    "BETWEEN '1970-01-01 00:00:00.001Z' AND '1970-01-01 00:00:01Z'",
    'SELECT * FROM change WHERE "offset" = 5000',
    "SELECT * FROM config_version WHERE valid_to_offset IS NULL AND resource_type = 2 "
    "AND resource_name = 'x'",
)


def _long_history() -> FakeLog:
    """Return a log whose past is much larger than its present, as that of a million records is."""
    made = (topic("orders"), *(partition("orders", number) for number in range(40)))
    moved = (
        [
            *(change("orders", number, leader=1 + (at + number) % 3) for number in range(40)),
            *(
                ConfigRecord(resource_type=4, resource_name=str(number), name="a", value=str(at))
                for number in range(10)
            ),
        ]
        for at in range(600)
    )
    return FakeLog(batches(made, *moved))


@ON_POSTGRESQL
def test_questions_about_some_rows_read_no_table_whole(
    store: HistoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As many transactions as a million records take; each sorts its rows by object.
    monkeypatch.setattr(sql_sync, "_TRANSACTION_ROWS", 2_000)
    log = _long_history()
    sync(Timeline(log), log, store)
    with writing(store.engine) as connection:
        # The tests' server has no autovacuum, which does this.
        connection.execute(text("ANALYZE"))
    found = re.findall(r"^(\w[^\n]*)\n(?:[^\n]+\n)?\n```sql\n(.*?)^```",
                       DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)  # fmt: skip
    assert len(found) == 10
    with store.engine.connect() as connection:

        def read_whole(query: str) -> set[str]:
            query = for_postgresql(query).replace(":", "\\:")
            plan = "\n".join(row[0] for row in connection.execute(text(f"EXPLAIN {query}")))
            scans = re.findall(r"Seq Scan on (\w+)", plan)
            return {"change", "partition_version", "config_version"} & set(scans)

        for question, query in found:
            expected = next((e for q, e in _EVERY_ROW.items() if question.startswith(q)), set())
            assert read_whole(query) <= expected, question
        for query in _OTHERS:
            assert read_whole(query) == set(), query
