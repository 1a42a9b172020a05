"""The SQL history of a recording with a gap has all parts, and nothing between them."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from tests.api.conftest import Metalog
from tests.api.quorum.recordings import Recording


@pytest.fixture(scope="module")
def synced(recorded: Recording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the recording."""
    path = tmp_path_factory.mktemp("synced") / "history.db"
    assert run(["sql", "sync", str(recorded.log), "--database", f"sqlite:///{path}"]) == 0
    return path


def _sync(metalog: Metalog, log: Path, tables: Path, *options: str) -> dict[str, Any]:
    database = f"sqlite:///{tables}"
    done = metalog("sql", "sync", log, "--database", database, "--json", *options)
    assert done.code == 0
    found: dict[str, Any] = done.json
    return found


def _rows(tables: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(tables) as connection:
        return list(connection.execute(query))


def _digest(metalog: Metalog, log: Path, at: object, *options: object) -> str:
    done = metalog("digest", log, "--at", at, "--json", *options)
    assert done.code == 0, done.err
    found: str = done.json["digest"]
    return found


def test_states_of_all_parts_are_those_of_the_whole_log(
    metalog: Metalog, recorded: Recording, synced: Path, whole: Path
) -> None:
    start, end = recorded.gap_start, recorded.gap_end
    by_sql = ("--by", "sql", "--database", f"sqlite:///{synced}")
    for at in (0, 30, start - 1, end - 1, end, end + 60, recorded.end_offset - 1):
        assert _digest(metalog, recorded.log, at, *by_sql) == _digest(metalog, whole, at)


def test_no_state_is_valid_within_the_gap(
    metalog: Metalog, recorded: Recording, synced: Path
) -> None:
    start, end = recorded.gap_start, recorded.gap_end
    for at in (start, end - 2):
        valid = f"valid_from_offset <= {at} AND (valid_to_offset IS NULL OR valid_to_offset > {at})"
        assert _rows(synced, f"SELECT * FROM partition_version WHERE {valid}") == []
        by_sql = ("--by", "sql", "--database", f"sqlite:///{synced}")
        done = metalog("digest", recorded.log, "--at", at, *by_sql)
        assert (done.code, f"gap from offset {start}" in done.err) == (3, True)
    ((last, first),) = _rows(synced, "SELECT from_time, to_time FROM gap")
    for time in (last + 1, first - 1):
        valid = f"valid_from_time <= {time} AND (valid_to_time IS NULL OR valid_to_time > {time})"
        assert _rows(synced, f"SELECT * FROM partition_version WHERE {valid}") == []


def test_changes_are_those_that_were_recorded(
    metalog: Metalog, recorded: Recording, synced: Path, whole: Path, tmp_path: Path
) -> None:
    expected = tmp_path / "whole.db"
    _sync(metalog, whole, expected, "--include-unconfirmed")
    columns = "offset, time, record, effective_offset, principal, command"
    recorded_rows = f"offset < {recorded.gap_start} OR offset >= {recorded.gap_end}"
    rows = _rows(synced, f"SELECT {columns} FROM change ORDER BY offset")
    query = f"SELECT {columns} FROM change WHERE {recorded_rows} ORDER BY offset"
    assert rows == _rows(expected, query)
    # The states after the gap are of no record.
    states = "SELECT COUNT(*) FROM partition_version WHERE record_offset"
    of_no_record = _rows(synced, f"{states} NOT IN (SELECT offset FROM change)")
    assert of_no_record == _rows(synced, f"{states} = {recorded.gap_end - 1}")


def test_what_differs_after_the_gap_is_listed_as_found(
    metalog: Metalog, recorded: Recording, synced: Path
) -> None:
    (gap,) = metalog("timeline", recorded.log, "--json").json["gaps"]
    columns = ", ".join(gap["gap"])
    assert _rows(synced, f"SELECT {columns} FROM gap") == [tuple(gap["gap"].values())]
    # The query of docs/sql.md.
    found = _rows(
        synced,
        "SELECT from_offset, to_offset, object, field, before, after "
        "FROM gap JOIN found_after_gap USING (from_offset) ORDER BY from_offset, number",
    )
    bounds = recorded.gap_start, recorded.gap_end
    assert [(*row[:4], json.loads(row[4]), json.loads(row[5])) for row in found] == [
        (*bounds, each["object"], each["field"], each["before"], each["after"])
        for each in gap["found"]
    ]


def test_tables_of_the_first_part_go_on_after_the_gap(
    metalog: Metalog, recorded: Recording, synced: Path, tmp_path: Path
) -> None:
    tables = tmp_path / "history.db"
    _sync(metalog, recorded.first_part, tables)
    answer = _sync(metalog, recorded.log, tables)
    assert (answer["from"], answer["to"]) == (recorded.gap_start, recorded.end_offset)
    assert [each["to_offset"] for each in answer["gaps"]] == [recorded.gap_end]
    assert _dump(tables) == _dump(synced)
    again = _sync(metalog, recorded.log, tables)
    assert "gaps" not in again
    assert again["changes"] == 0


def _dump(tables: Path) -> Sequence[str]:
    with sqlite3.connect(tables) as connection:
        return list(connection.iterdump())


def test_outage_before_the_gap_was_last_seen_there(
    metalog: Metalog, with_outages: Recording, tmp_path: Path
) -> None:
    tables = tmp_path / "history.db"
    _sync(metalog, with_outages.log, tables)
    (ended,) = _rows(
        tables, f"SELECT COUNT(*) FROM outages WHERE to_offset = {with_outages.gap_start}"
    )[0]
    listed = metalog("outages", with_outages.log, "--json").json["intervals"]
    assert ended == len([each for each in listed if "last_seen_at" in each]) > 0


def test_answers_by_the_tables_are_those_without(
    metalog: Metalog, with_outages: Recording, tmp_path: Path
) -> None:
    shutil.copytree(with_outages.log.parent, tmp_path / "recorded")
    log = tmp_path / "recorded" / "log"
    questions = (
        ("history", log, "partition:team-0.changelog.0/3", "--json"),
        ("history", log, "broker:3", "--json"),
        ("blame", log, "partition:team-0.changelog.0/3", "--json"),
        ("outages", log, "--from", with_outages.gap_end + 30, "--json"),
    )
    expected = [metalog(*each).out for each in questions]
    assert metalog("sql", "sync", log).code == 0
    answers = [metalog(*each) for each in questions]
    assert [each.out for each in answers] == expected
    assert "passed over" not in "".join(each.err for each in answers)


def test_text_says_the_gap_and_nothing_is_left_out(
    metalog: Metalog, own_recording: Recording
) -> None:
    done = metalog("sql", "sync", own_recording.log)
    start, end = own_recording.gap_start, own_recording.gap_end
    assert f"gap: offsets {start} to {end - 1} were not recorded" in done.out
    assert "left out" not in done.out
    again = metalog("sql", "sync", own_recording.log)
    assert "not recorded" not in again.out


def test_part_that_was_moved_away_is_named(
    metalog: Metalog, own_recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.move(own_recording.first_part, own_recording.log.with_name("elsewhere"))
    done = metalog("sql", "sync", own_recording.log)
    assert done.code == 0
    assert f"the tables begin at offset {own_recording.gap_end}" in caplog.text
    assert f"{own_recording.first_part} is no log" in caplog.text
    assert "were not recorded" in done.out
    tables = own_recording.log / "history.db"
    assert _rows(tables, "SELECT start_offset FROM history_position") == [(own_recording.gap_end,)]
