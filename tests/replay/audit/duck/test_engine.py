"""Audits in DuckDB: every named query, the caller's SQL, and what is refused."""

import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow
import pytest

from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.errors import MetadataLogError, RequestError, UnknownHistoryError
from replay.audit.committed_files import committed_files
from replay.audit.duck.dialect import TYPES, translated
from replay.audit.duck.engine import DuckAudit
from replay.audit.log_files import LogFiles
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.audit.view_names import VIEWS
from replay.care.retain import retain
from tests.histories import random_history
from tests.real_logs import data_sets
from tests.replay.audit.log_on_disk import write_log
from tests.replay.audit.test_contradictions import TAILS, batches, by_replay, mutated_mirrors
from tests.replay.builders import FakeLog, topic


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LogFiles:
    folder = tmp_path_factory.mktemp("log")
    return write_log(folder, random_history(random.Random(11), 200))


@pytest.fixture(scope="module")
def audit(files: LogFiles) -> Iterator[DuckAudit]:
    with DuckAudit(files, keep=True) as opened:
        yield opened


def everything(files: LogFiles) -> Range:
    return Range(files.history_start, files.end_offset - 1)


@pytest.mark.parametrize("name", QUERIES)
def test_each_query_has_its_documented_columns(
    audit: DuckAudit, files: LogFiles, name: str
) -> None:
    query = QUERIES[name]
    answer = audit.query(query, everything(files))
    expected = [(name, TYPES[column.type]) for name, column in query.columns.items()]
    assert [(field.name, field.type) for field in answer.schema] == expected
    for column, about in query.columns.items():
        assert about.null or not answer[column].null_count, column


def test_only_one_query_has_a_text_of_its_own_for_duckdb() -> None:
    assert [query.name for query in QUERIES.values() if query.duckdb] == ["baseline-drift"]


def test_each_view_is_read_by_the_callers_sql(audit: DuckAudit, files: LogFiles) -> None:
    for name in sorted(VIEWS):
        assert audit.sql(f"SELECT * FROM {name}", everything(files)).num_columns, name


def test_callers_sql_is_duckdbs(audit: DuckAudit, files: LogFiles) -> None:
    listed = audit.sql("SHOW TABLES;", everything(files))
    assert set(listed["view"].to_pylist()) == VIEWS
    described = audit.sql("DESCRIBE period", everything(files))
    assert described["column_name"][0].as_py() == "first_offset"
    sums = audit.sql("SELECT sum(1) AS a, sum(10::hugeint ** 30) AS b", everything(files))
    assert sums["a"].to_pylist() == [1] and sums["a"].type == pyarrow.int64()
    text = "WITH a AS (SELECT offset FROM log ORDER BY offset LIMIT 2 OFFSET 1) FROM a"
    assert audit.sql(text, everything(files)).to_pylist() == [{"offset": 1}, {"offset": 2}]


ATTACKS = (
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM table_of_the_test",
    "COPY (SELECT 1) TO '/tmp/out.csv'",
    "ATTACH '/tmp/other.db'",
    "SELECT 1; DROP VIEW log",
    "SET enable_external_access = true",
    "CREATE TABLE x AS SELECT 1",
    "INSTALL httpfs",
    "SELECT * FROM nowhere.log",
    "not SQL",
)


@pytest.mark.parametrize("text", ATTACKS)
def test_sql_that_does_more_than_read_the_views_is_refused(
    audit: DuckAudit, files: LogFiles, text: str
) -> None:
    import duckdb

    table_of_the_test = pyarrow.table({"secret": [1]})
    with pytest.raises((RequestError, duckdb.Error)):
        audit.sql(text, everything(files))
    assert table_of_the_test.num_rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT offset, a.offset FROM log", 'SELECT "offset", a."offset" FROM log'),
        ("LIMIT 2 OFFSET 3", "LIMIT 2 OFFSET 3"),
        ("SELECT 'offset :zone' -- offset", "SELECT 'offset :zone' -- offset"),
        ("a div 2 <=> :zone", "a // 2 IS NOT DISTINCT FROM $zone"),
        ("list[1:other], x::int", "list[1:other], x::int"),
    ],
)
def test_words_that_duckdb_spells_otherwise(text: str, expected: str) -> None:
    assert translated(text, {"zone"}) == expected


def test_offsets_that_are_not_known_are_refused(files: LogFiles, tmp_path: Path) -> None:
    history = random_history(random.Random(3), 60)
    late = write_log(tmp_path, history[30:])
    with DuckAudit(late) as audit:
        with pytest.raises(RequestError, match="is not committed: the log ends at"):
            audit.query(QUERIES["who"], Range(0, late.end_offset))
        with pytest.raises(UnknownHistoryError, match="history starts at"):
            audit.sql("SELECT * FROM changes", Range(0, late.history_start - 2))


@pytest.mark.parametrize("name", TAILS)
def test_first_contradiction_is_that_of_replay(tmp_path: Path, name: str) -> None:
    log = list(batches(TAILS[name]))
    assert by_duckdb(write_log(tmp_path, log)) == by_replay(FakeLog(log))


@pytest.mark.real_logs
@pytest.mark.skipif(not data_sets(), reason="no real Kafka logs")
def test_first_contradiction_of_a_mutated_real_log_is_that_of_replay(tmp_path: Path) -> None:
    compared = [
        (number, by_replay(reader), by_duckdb(committed_files(reader)))
        for number, reader in islice(mutated_mirrors(tmp_path), 4)
    ]
    assert all(mine == theirs for _, mine, theirs in compared), compared
    assert any(mine is not None for _, mine, _ in compared)


def by_duckdb(files: LogFiles) -> int | None:
    with DuckAudit(files) as audit:
        found = audit.query(QUERIES["contradictions"], everything(files)).to_pylist()
    assert "secret" not in repr(found)
    return found[0]["offset"] if found else None


PROGRAM = """
import sys
from metadata_log.reader.log_reader import LogReader
from replay.audit.committed_files import committed_files
from replay.audit.duck.engine import DuckAudit
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range

with LogReader.open(sys.argv[1]) as reader, DuckAudit(committed_files(reader)) as audit:
    assert audit.query(QUERIES["who"], Range(0, reader.end_offset - 1)).num_rows
    assert audit.sql("SELECT * FROM topics", Range(0, reader.end_offset - 1)).num_rows
print(*sys.modules)
"""


def test_neither_pyspark_nor_the_code_of_replay_is_loaded(demo_log: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(demo_log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    loaded = set(done.stdout.split())
    assert "duckdb" in loaded, done.stderr
    assert not {"pyspark", "py4j", "replay.image", "replay.loader", "replay.timeline"} & loaded


def test_missing_duckdb_is_said_with_what_to_install(
    files: LogFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MetadataLogError, match=r"pip install 'metadata-log\[duckdb\]'"):
        DuckAudit(files)


def test_damaged_log_is_refused_with_file_and_byte(tmp_path: Path) -> None:
    files = write_log(tmp_path, random_history(random.Random(3), 20))
    path = files.segments[0]
    octets = bytearray(path.read_bytes())
    octets[len(octets) // 2] ^= 0xFF
    path.write_bytes(bytes(octets))
    with DuckAudit(files) as audit, pytest.raises(MetadataLogError, match=r"\.avro byte \d+"):
        audit.query(QUERIES["who"], everything(files))


async def test_base_is_a_state_and_no_change(tmp_path: Path) -> None:
    log = tmp_path / "log"
    create_log(log, "test-cluster")
    for name in ("orders", "prices"):
        # Each writer begins a segment.
        async with await MetadataLog.open(log) as writer:
            await writer.append(NewBatch(records=(topic(name),), timestamp=1))
    with LogReader.open(log) as reader:
        end = reader.end_offset
    retain(log, end - 1, check_dropped=lambda segments: None)
    with LogReader.open(log) as reader, DuckAudit(committed_files(reader), keep=True) as audit:
        offsets = Range(reader.history_start, reader.end_offset - 1)
        changed = audit.query(QUERIES["topic-lives"], offsets)
        topics = audit.sql("SELECT name FROM topics ORDER BY name", offsets)
    assert topics["name"].to_pylist() == ["orders", "prices"]
    offsets_of = dict(zip(*(changed[n].to_pylist() for n in ("name", "from_offset")), strict=True))
    assert offsets_of["orders"] < offsets.first <= offsets_of["prices"]
