"""Audits ask each part of a recording by itself; batches of records and changes have all parts."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from msgspec import to_builtins

from metadata_log.files.fs import OsFs
from metadata_log.files.json_file import read_json
from metadata_log.format.parts import Parts
from metadata_log.reader.log_reader import LogReader
from records.errors import UnknownHistoryError
from records.secrets import REDACTED
from replay.audit.duck.dialect import SETUP, translated
from replay.audit.found_after_gap import found_sql
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.audit.source.change_stream import ChangeStream
from replay.audit.source.options import Options
from replay.audit.source.record_stream import RecordStream, position_json
from replay.audit.source.records import RecordReader
from replay.audit.source.relations import RelationReader, read_relation, relation_schema
from tests.api.conftest import Metalog
from tests.api.quorum.recordings import Recording

DUCKDB = ("--engine", "duckdb")


def _named(recorded: Recording) -> str:
    return (
        f"offsets {recorded.gap_start} to {recorded.gap_end - 1} were not recorded, and what was "
        f"recorded before is in {recorded.first_part.resolve()}; name that folder"
    )


def _sides(metalog: Metalog, recorded: Recording, *words: Any) -> list[tuple[str, Any]]:
    """Return the answer of each part, asked by itself."""
    before = ("--until", recorded.gap_start - 1)
    first = metalog("audit", *words, recorded.first_part, *before, *DUCKDB, "--json").json
    since = ("--since", recorded.gap_end)
    newest = metalog("audit", *words, recorded.log, *since, *DUCKDB, "--json").json
    return [(recorded.first_part.name, first), (recorded.log.name, newest)]


def test_each_query_has_the_rows_of_all_parts(metalog: Metalog, recorded: Recording) -> None:
    names = [name for name in QUERIES if not QUERIES[name].parameters]
    found = metalog("audit", *names, recorded.log, *DUCKDB, "--json").json["audits"]
    sides = _sides(metalog, recorded, *names)
    for name in names:
        (_, first), (_, newest) = [(part, side["audits"][name]) for part, side in sides]
        if QUERIES[name].is_of_state:
            assert found[name] == newest
            continue
        assert found[name]["columns"] == ["recording_part", *first["columns"]]
        expected = [[part, *row] for part, side in sides for row in side["audits"][name]["rows"]]
        assert found[name]["rows"] == expected
    assert found["changes"]["rows"][0][0] != found["changes"]["rows"][-1][0], "of both parts"


def test_answer_about_several_parts_says_the_gap_and_what_was_found_after_it(
    metalog: Metalog, recorded: Recording
) -> None:
    found = metalog("audit", "who", recorded.log, *DUCKDB, "--json").json
    (gap,) = found["gaps"]
    assert (gap["gap"]["from_offset"], gap["gap"]["to_offset"]) == recorded[1:3]
    (shown,) = metalog("timeline", recorded.log, "--json").json["gaps"]
    assert gap["found"] == shown["found"] != []
    assert (found["since"], found["as_of"]) == (0, recorded.end_offset - 1)
    assert "gap" not in found
    text = metalog("audit", "who", recorded.log, *DUCKDB).out
    said = f"offsets {recorded.gap_start} to {recorded.gap_end - 1} were not recorded"
    assert text.count(said) == 1
    assert "found after them: " in text
    assert "left out" not in text


def test_answer_about_one_part_is_that_of_the_part(metalog: Metalog, recorded: Recording) -> None:
    within = ("--since", 20, "--until", 40, *DUCKDB, "--json")
    found = metalog("audit", "changes", recorded.log, *within).json
    assert found == metalog("audit", "changes", recorded.first_part, *within).json
    newest = metalog("audit", "changes", recorded.log, "--since", recorded.gap_end, *DUCKDB).out
    assert newest.count("what was before is in another part of the recording") == 1


def test_own_sql_is_asked_in_each_part(metalog: Metalog, recorded: Recording) -> None:
    query = "SELECT min(offset) AS first, max(offset) AS last FROM log"
    found = metalog("audit", "sql", recorded.log, query, *DUCKDB, "--json").json
    assert found["columns"] == ["recording_part", "first", "last"]
    assert found["rows"] == [
        [recorded.first_part.name, 0, recorded.gap_start - 1],
        [recorded.log.name, recorded.gap_end, recorded.end_offset - 1],
    ]
    few = metalog("audit", "sql", recorded.log, query, *DUCKDB, "--json", "--limit", 1).json
    assert (few["rows"], few["truncated"]) == (found["rows"][:1], True)


def test_shell_answers_across_the_gap(
    metalog: Metalog, recorded: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("who\n"))
    text = metalog("audit", "shell", recorded.log, *DUCKDB).out
    assert f"offsets {recorded.gap_start} to {recorded.gap_end - 1} were not recorded" in text
    assert recorded.first_part.name in text


def test_file_of_an_answer_names_the_parts(
    metalog: Metalog, recorded: Recording, tmp_path: Path
) -> None:
    assert metalog("audit", "changes", recorded.log, *DUCKDB, "--to", tmp_path).code == 0
    table = pyarrow.parquet.read_table(tmp_path / "changes.parquet")
    assert table.column_names[0] == "recording_part"
    assert set(table["recording_part"].to_pylist()) == {recorded.first_part.name, recorded.log.name}


def test_point_in_the_gap_is_refused(metalog: Metalog, recorded: Recording) -> None:
    done = metalog("audit", "who", recorded.log, "--until", recorded.gap_start + 2, *DUCKDB)
    assert (done.code, done.out) == (3, "")
    assert f"has a gap from offset {recorded.gap_start} to {recorded.gap_end - 1}" in done.err


def _rows(given: dict[str, str]) -> list[dict[str, Any]]:
    """Return the rows that Spark's tasks read for these options."""
    options = Options.parse(given)
    reader = RecordReader(options) if options.relation == "records" else RelationReader(options)
    spans = reader.partitions()
    return [row for each in spans for batch in reader.read(each) for row in batch.to_pylist()]


def test_batch_of_records_has_all_parts_and_a_row_for_the_gap(recorded: Recording) -> None:
    rows = _rows({"log": str(recorded.log)})
    before = [*range(recorded.gap_start)]
    after = [*range(recorded.gap_end, recorded.end_offset)]
    assert [row["offset"] for row in rows] == [*before, recorded.gap_start, *after]
    gap = rows[recorded.gap_start]
    assert gap["type"] == "HistoryGap"
    bounds = {"from_offset": recorded.gap_start, "to_offset": recorded.gap_end}
    assert json.loads(gap["data"]) == bounds
    sides = [_rows({"log": str(log)}) for log in (recorded.first_part, recorded.log)]
    assert rows[: recorded.gap_start] == sides[0][: recorded.gap_start]


@pytest.mark.parametrize(
    ("given", "first", "last"),
    [
        ({"startingOffset": "20", "endingOffset": "30"}, 20, 29),
        ({"since": "20", "until": "300"}, 20, 300),
        ({"since": "2023-11-14T22:13:35.779Z"}, 39, 399),
        ({"until": "2023-11-14T22:13:35.779Z"}, 0, 64),
        ({"until": "2023-11-14T22:13:50Z"}, 0, 64),
        ({"since": "2023-11-14T22:13:50Z"}, 65, 399),
        ({"since": "2000-01-01T00:00:00Z"}, 0, 399),
    ],
    ids=str,
)
def test_range_of_a_batch_may_begin_and_end_in_an_earlier_part(
    recorded: Recording, given: dict[str, str], first: int, last: int
) -> None:
    rows = _rows({"log": str(recorded.log), **given})
    assert (rows[0]["offset"], rows[-1]["offset"]) == (first, last)


def test_batch_of_changes_has_those_of_all_parts(recorded: Recording) -> None:
    given = {"relation": "changes", "columns": "offset,kind,name,field,before,after"}
    sides = [
        _rows({"log": str(log), **given, **bounds})
        for log, bounds in (
            (recorded.first_part, {"until": str(recorded.gap_start - 1)}),
            (recorded.log, {"since": str(recorded.gap_end)}),
        )
    ]
    assert all(sides)
    found = _rows({"log": str(recorded.log), **given})
    # The order of a record's fields is not promised.
    assert sorted(found, key=repr) == sorted([row for side in sides for row in side], key=repr)


def test_batch_begins_after_a_part_that_was_moved_away(own_recording: Recording) -> None:
    own_recording.first_part.rename(own_recording.first_part.with_name("elsewhere"))
    assert _rows({"log": str(own_recording.log)})[0]["offset"] == own_recording.gap_end
    with pytest.raises(UnknownHistoryError) as met:
        _rows({"log": str(own_recording.log), "since": "20"})
    assert _named(own_recording) in str(met.value)


@pytest.mark.parametrize(
    "given", [{"at": "20", "relation": "topics"}, {"since": "20", "relation": "partition_churn"}]
)
def test_relation_whose_rows_depend_on_the_whole_range_reads_one_part(
    recorded: Recording, given: dict[str, str]
) -> None:
    options = {"log": str(recorded.log), "relation": given["relation"]}
    with pytest.raises(UnknownHistoryError) as met:
        _rows(options | given)
    assert _named(recorded) in str(met.value)
    assert _rows(options)


def _positions(recorded: Recording) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a position in the first part, and the end."""
    with LogReader.open(recorded.first_part) as reader:
        begin = position_json(reader, 30)
    with LogReader.open(recorded.log) as reader:
        return begin, position_json(reader, recorded.end_offset)


def test_stream_of_records_that_reaches_a_gap_names_it_or_has_a_row_for_it(
    recorded: Recording,
) -> None:
    begin, end = _positions(recorded)
    given = {"log": str(recorded.log)}
    with pytest.raises(UnknownHistoryError) as met:
        RecordStream(Options.parse(given)).partitions(begin, end)
    said = f"offsets {recorded.gap_start} to {recorded.gap_end - 1} were not recorded"
    assert said in str(met.value)
    going_on = RecordStream(Options.parse({**given, "failOnDataLoss": "false"}))
    first, gap, *_, last = going_on.partitions(begin, end)
    assert (first.first, first.end, first.log) == (30, recorded.gap_start, str(recorded.first_part))
    assert (gap.first, gap.end, gap.is_kept) == (recorded.gap_start, recorded.gap_end, False)
    assert (last.end, last.log) == (recorded.end_offset, None)


def test_stream_of_changes_that_reaches_a_gap_names_the_part(recorded: Recording) -> None:
    given = {"log": str(recorded.log), "relation": "changes"}
    with pytest.raises(UnknownHistoryError) as met:
        ChangeStream(Options.parse(given)).partitions(*_positions(recorded))
    assert _named(recorded) in str(met.value)


def test_view_of_the_gaps_has_what_the_list_of_parts_says(
    metalog: Metalog, recorded: Recording
) -> None:
    query = "SELECT * FROM gaps"
    since = ("--since", recorded.gap_end)
    found = metalog("audit", "sql", recorded.log, query, *since, *DUCKDB, "--json").json
    (listed,) = read_json(OsFs(), recorded.log / "parts.json", Parts, "").earlier
    (row,) = found["rows"]
    expected = to_builtins(listed.gap) | {"part": recorded.first_part.name}
    times = {name for name in expected if name.endswith("_time")}
    assert {n: v for n, v in zip(found["columns"], row, strict=True) if n not in times} == {
        name: value for name, value in expected.items() if name not in times
    }
    (shown,) = metalog("info", recorded.log, "--json").json["earlier_parts"]
    assert shown["gap"]["from_offset"] == row[found["columns"].index("from_offset")]
    assert row[found["columns"].index("from_time")] == "2023-11-14T22:13:35.779000Z"
    assert not metalog("audit", "sql", recorded.first_part, query, *DUCKDB, "--json").json["rows"]


def test_view_of_what_was_found_after_a_gap_has_what_timeline_says(
    metalog: Metalog, recorded: Recording
) -> None:
    query = "SELECT * FROM found_after_gap"
    since = ("--since", recorded.gap_end)
    found = metalog("audit", "sql", recorded.log, query, *since, *DUCKDB, "--json").json
    assert found["columns"] == ["from_offset", "kind", "id", "name", "field", "before", "after"]
    assert {row[0] for row in found["rows"]} == {recorded.gap_start}
    (shown,) = metalog("timeline", recorded.log, "--json").json["gaps"]
    expected = [
        (f"{kind}s", name, each["field"], _text(each["before"]), _text(each["after"]))
        for each in shown["found"]
        for kind, _, name in [each["object"].partition(":")]
        if each["field"] not in _DERIVED
    ]
    assert sorted((row[1], *row[3:]) for row in found["rows"]) == sorted(expected)
    assert not metalog("audit", "sql", recorded.first_part, query, *DUCKDB, "--json").json["rows"]


_DERIVED = {"leader_epoch", "partition_epoch", "partitions", "topic_id"}
"""Fields that replay derives or shows beside its own: no record sets them, so no change does."""


def _text(value: Any) -> str | None:
    """Return a value as `changes` has it."""
    is_text = value is None or isinstance(value, str)
    return value if is_text else json.dumps(value, separators=(",", ":"))


def test_secrets_found_after_a_gap_are_hidden() -> None:
    """A secret that differs is a row; its values are shown only to those who ask for them."""
    import duckdb  # starts a thread: see tests/forked_workers.py

    secret = "SELECT 'scram' AS kind, 'u' AS id, 'u' AS name, 'salt' AS field, '{}' AS after"
    opened = duckdb.connect()
    opened.execute(SETUP)
    opened.execute(f"CREATE VIEW b AS {secret.format('one')}")
    opened.execute(f"CREATE VIEW a AS {secret.format('two')}")
    for shows, expected in ((True, ("one", "two")), (False, (REDACTED, REDACTED))):
        text = translated(found_sql([(5, "b", "a")], show_secrets=shows))
        ((offset, *_, before, after),) = opened.execute(text).fetchall()
        assert (offset, before, after) == (5, *expected)


def test_part_that_was_moved_away_is_named_where_its_end_is_needed(
    metalog: Metalog, own_recording: Recording
) -> None:
    own_recording.first_part.rename(own_recording.first_part.with_name("elsewhere"))
    since = ("--since", own_recording.gap_end)
    query = "SELECT * FROM found_after_gap"
    done = metalog("audit", "sql", own_recording.log, query, *since, *DUCKDB)
    assert done.code != 0
    assert f"is not in {own_recording.first_part}; put that folder back" in done.err


def test_format_metalog_has_the_gaps(recorded: Recording) -> None:
    options = Options.parse({"log": str(recorded.log), "relation": "gaps"})
    (batch,) = read_relation(options, Range(recorded.gap_end, recorded.end_offset - 1))
    assert batch["to_offset"].to_pylist() == [recorded.gap_end]
    assert relation_schema(options)["from_time"].dataType.typeName() == "timestamp"
