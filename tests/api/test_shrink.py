"""`metalog shrink` writes a small log that still has the problem, and a test that runs."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog

_LEADERLESS = "partitions.exists(p, size(p.isr) < size(p.replicas))"


def run_test(folder: Path) -> list[str]:
    """Run the tests in the written file with pytest; return their names."""
    found = runpy.run_path(str(folder / "test_shrunk.py"))
    names = [name for name in found if name.startswith("test_")]
    for name in names:
        found[name]()
    return names


def answer_of(metalog: Metalog, *args: object) -> dict[str, Any]:
    answer = metalog(*args, "--json")
    assert answer.code == 0, answer.err
    found: dict[str, Any] = answer.json
    return found


def rows_of(metalog: Metalog, log: object) -> dict[int, Any]:
    """Return the rows of a log by offset."""
    return {row["offset"]: row for row in metalog("dump", log, "--json").lines}


def test_saved_log_and_test_show_the_same_flip(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    dest = tmp_path / "small"
    found = answer_of(metalog, "shrink", demo_log, _LEADERLESS, dest)
    bisected = answer_of(metalog, "bisect", demo_log, _LEADERLESS)
    assert found["flip"] == found["as_of"] == bisected["first"]
    assert (found["history_start"], found["log_end"]) == (0, bisected["log_end"])
    assert found["records_before"] == found["flip"] + 1
    assert found["minimal"]
    assert found["records"] == len(found["kept"]) < 10
    assert run_test(dest) == ["test_expression_begins_to_hold_with_the_last_batch"]
    small = answer_of(metalog, "bisect", found["log"], _LEADERLESS)
    assert small["first"] == small["as_of"] == found["kept"][-1]["offset"]
    rows = rows_of(metalog, found["log"])
    assert all(rows[each["offset"]]["type"] == each["type"] for each in found["kept"])


def test_saved_records_keep_time_and_principal(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    found = answer_of(metalog, "shrink", demo_log, _LEADERLESS, tmp_path / "small")
    olds, news = rows_of(metalog, demo_log), rows_of(metalog, found["log"])
    for each in found["kept"]:
        old, new = olds[each["source_offset"]], news[each["offset"]]
        for field in ("type", "data", "timestamp", "record_version"):
            assert old[field] == new[field]
        assert old["origin"]["principal"] == new["origin"]["principal"]


def test_where_it_ceases_to_hold(metalog: Metalog, demo_log: Path, tmp_path: Path) -> None:
    dest = tmp_path / "small"
    found = answer_of(metalog, "shrink", demo_log, "size(topics) < 3", dest, "--breaks")
    assert [each["type"] for each in found["kept"]] == ["TopicRecord"] * 3
    assert run_test(dest) == ["test_expression_ceases_to_hold_with_the_last_batch"]


def test_range_brings_the_state_before_it(metalog: Metalog, demo_log: Path, tmp_path: Path) -> None:
    last = answer_of(metalog, "bisect", demo_log, "size(topics)")["flips"][-1]
    text = f"size(topics) == {last['value']}"
    dest = tmp_path / "small"
    found = answer_of(metalog, "shrink", demo_log, text, dest, "--from", last["cause"])
    assert found["flip"] == last["offset"]
    assert found["base_records"] > 50
    assert found["records_before"] == last["offset"] - last["cause"] + 1
    # They come first, with the flip after them.
    assert [each["source_offset"] for each in found["kept"][:-1]] == [None] * (found["records"] - 1)
    assert found["kept"][-1]["source_offset"] is not None
    run_test(dest)


def test_what_never_begins_exits_1_and_leaves_nothing(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    dest = tmp_path / "small"
    answer = metalog("shrink", demo_log, "size(topics) > 1000", dest)
    assert (answer.code, answer.out) == (1, "it begins to hold nowhere between start and end\n")
    assert not dest.exists()


def test_answer_in_words(metalog: Metalog, demo_log: Path, tmp_path: Path) -> None:
    answer = metalog("shrink", demo_log, "size(topics) > 0", tmp_path / "small")
    first, shrunk, minimal, *_ = answer.out.splitlines()
    assert first.startswith("it begins to hold at offset ")
    assert " to 1, in 1 batch; " in shrunk
    assert minimal == "  1-minimal: it no longer does if any one of them is left out"


@pytest.mark.parametrize(
    ("expression", "dest", "error"),
    [
        ("size(topics", "small", "INVALID_REQUEST"),
        ("size(topics) > 3", "", "exists already; name a new one"),
        ("size(topics) > 3", "none/small", "No such file or directory"),
    ],
)
def test_refused_and_nothing_is_written(
    metalog: Metalog, demo_log: Path, tmp_path: Path, expression: str, dest: str, error: str
) -> None:
    answer = metalog("shrink", demo_log, expression, tmp_path / dest)
    assert (answer.code, answer.out) == (3, "")
    assert error in answer.err
    assert list(tmp_path.iterdir()) == []
