"""An audit asks each part of a recording by itself; `format("metalog")` names the earlier part."""

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from metadata_log.reader.log_reader import LogReader
from records.errors import UnknownHistoryError
from replay.audit.queries import QUERIES
from replay.audit.source.options import Options
from replay.audit.source.record_stream import RecordStream, position_json
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
    assert "what was before is in another part of the recording" in newest


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


@pytest.mark.parametrize(
    "given",
    [
        {"startingOffset": "20"},
        {"since": "20"},
        {"since": "2000-01-01T00:00:00Z"},
        {"at": "20", "relation": "topics"},
    ],
    ids=str,
)
def test_format_metalog_refuses_a_range_in_an_earlier_part(
    recorded: Recording, given: dict[str, str]
) -> None:
    options = Options.parse({"log": str(recorded.log), **given})
    with LogReader.open(recorded.log) as reader:
        with pytest.raises(UnknownHistoryError) as met:
            options.range_of(reader)
        assert _named(recorded) in str(met.value)
        whole = Options.parse({"log": str(recorded.log)}).range_of(reader)
    assert (whole.first, whole.last) == (recorded.gap_end, recorded.end_offset - 1)


def test_stream_that_reaches_a_gap_names_the_part_or_has_a_row_for_the_gap(
    recorded: Recording,
) -> None:
    with LogReader.open(recorded.first_part) as reader:
        begin = position_json(reader, 30)
    with LogReader.open(recorded.log) as reader:
        end = position_json(reader, recorded.end_offset)
    given = {"log": str(recorded.log)}
    with pytest.raises(UnknownHistoryError) as met:
        RecordStream(Options.parse(given)).partitions(begin, end)
    assert _named(recorded) in str(met.value)
    going_on = RecordStream(Options.parse({**given, "failOnDataLoss": "false"}))
    gap, first, *_ = going_on.partitions(begin, end)
    assert (gap.first, gap.end, gap.is_kept) == (30, recorded.gap_end, False)
    assert first.first == recorded.gap_end
