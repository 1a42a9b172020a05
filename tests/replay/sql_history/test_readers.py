"""What readers of the tables get: views without secrets, rights, indexes for their questions."""

import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, create_engine, text
from sqlalchemy.exc import ProgrammingError

from benchmarks.generated_log import write_log
from metadata_log.reader.log_reader import LogReader
from records.configs import ConfigRecord
from records.security import UserScramCredentialRecord
from replay import sql_sync
from replay.snapshot.database import without_transaction
from replay.sql_history.store import HistoryStore
from replay.sql_sync import sync
from replay.timeline import Timeline
from tests.replay.builders import FakeLog, batches, topic
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
    "What was without a leader": {"partition_version"},
    "Who changes what": {"change"},
}
"""Questions about all rows of a table, which no index answers faster.

A state of a partition is often under-replicated: about each second that a change of the ISR makes.
"""

_OTHERS = (
    "SELECT * FROM change WHERE principal = 'User:nobody'",
    "SELECT * FROM change WHERE time BETWEEN '2026-01-01 00:00Z' AND '2026-01-02 00:00Z'",
    "SELECT * FROM partition_version WHERE record_offset = 5000",
    "SELECT * FROM partition_version WHERE valid_from_time "
    "BETWEEN '2026-01-01 00:00Z' AND '2026-01-02 00:00Z'",
    'SELECT * FROM change WHERE "offset" = 5000',
    "SELECT * FROM outages WHERE kind = 'leaderless'",
    "SELECT * FROM partition_states WHERE leader = -1",
    "SELECT * FROM config_version WHERE valid_to_offset IS NULL AND resource_type = 2 "
    "AND resource_name = 'x'",
)


@ON_POSTGRESQL
async def test_questions_about_some_rows_read_no_table_whole(
    store: HistoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are those of a million records, thirty times fewer: the planner decides the same."""
    monkeypatch.setattr(sql_sync, "_TRANSACTION_ROWS", sql_sync._TRANSACTION_ROWS // 30)
    await write_log(tmp_path / "log", 33_000)
    with LogReader.open(tmp_path / "log") as reader:
        sync(Timeline(reader), reader, store)
    with without_transaction(store.engine) as connection:
        # The tests' server has no autovacuum, which does this.
        connection.execute(text("VACUUM (ANALYZE)"))
    found = re.findall(r"^(\w[^\n]*)\n(?:[^\n]+\n)?\n```sql\n(.*?)^```",
                       DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)  # fmt: skip
    assert len(found) == 10
    with store.engine.connect() as connection:
        # Of a million records, the tables are large enough for parallel scans.
        connection.execute(text("SET min_parallel_table_scan_size = 0"))

        # A hundredth of all records stands for the day of a question.
        hundredth = 'SELECT time::text FROM change WHERE "offset" IN (20000, 20330) ORDER BY 1'
        begin, end = connection.exec_driver_sql(hundredth).scalars()

        def read_whole(query: str) -> set[str]:
            query = for_postgresql(query).replace("2026-01-01 00:00Z", begin)
            query = query.replace("2026-01-02 00:00Z", end).replace(":", "\\:")
            plan = "\n".join(row[0] for row in connection.execute(text(f"EXPLAIN {query}")))
            scans = re.findall(r"Seq Scan on (\w+)", plan)
            return {"change", "partition_version", "config_version"} & set(scans)

        for question, query in found:
            expected = next((e for q, e in _EVERY_ROW.items() if question.startswith(q)), set())
            assert read_whole(query) == expected, question
        for query in _OTHERS:
            assert read_whole(query) == set(), query
