"""Ranges of offsets: one that ends before it begins is refused, one without records is empty."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog

RANGES = (
    "dump LOG --from {} --to {}",
    "history LOG OBJECT --from {} --to {}",
    "timeline LOG --from {} --to {}",
    "outages LOG --from {} --to {}",
    "partitions states --log LOG --since {} --at {}",
)


def ask(metalog: Metalog, log: Path, command: str, first: str, last: str) -> tuple[int, str, str]:
    places = {"LOG": log, "OBJECT": "broker:1"}
    words = [places.get(word, word) for word in command.format(first, last).split()]
    answer = metalog(*words)
    return answer.code, answer.out, answer.err


@pytest.mark.parametrize("command", RANGES)
def test_range_that_ends_before_it_begins_is_refused(
    metalog: Metalog, demo_log: Path, command: str
) -> None:
    for first, last in (("10", "9"), ("end", "10"), ("10", "start"), ("end-1", "end-1h")):
        code, out, err = ask(metalog, demo_log, command, first, last)
        assert (code, out) == (3, ""), (first, last)
        assert err.startswith("error: INVALID_REQUEST: the range begins at offset "), (first, last)


@pytest.mark.parametrize("command", RANGES)
def test_times_in_the_wrong_order_are_refused_where_no_record_is_between_them(
    metalog: Metalog, demo_log: Path, command: str
) -> None:
    later, earlier = "2027-01-01T10:00:00Z", "2027-01-01T09:00:00Z"
    code, out, err = ask(metalog, demo_log, command, later, earlier)
    assert (code, out) == (3, "")
    assert f"the range begins at {later}, which is after its end, {earlier}; exchange" in err
    code, _, err = ask(metalog, demo_log, command, earlier, later)
    assert "exchange" not in err


@pytest.mark.parametrize("command", [each for each in RANGES if "OBJECT" not in each])
def test_range_before_the_first_record_is_empty_and_says_so(
    metalog: Metalog, demo_log: Path, command: str
) -> None:
    code, out, _ = ask(metalog, demo_log, command, "start", "start")
    assert code == 0
    says_so = command.startswith(("timeline", "outages"))
    begins = "no records in this range: the log begins at 2026-01-01T00:00:00.000Z\n"
    assert out == (begins if says_so else "")


def test_age_of_two_units_counts_back_their_sum(metalog: Metalog, demo_log: Path) -> None:
    rows = [metalog("dump", demo_log, "--from", f"end-{age}") for age in ("1h30m", "90m")]
    assert rows[0].code == 0
    assert rows[0] == rows[1]


def test_range_from_a_time_begins_with_the_first_record_at_or_after_it(
    metalog: Metalog, demo_log: Path
) -> None:
    rows = [json.loads(line) for line in metalog("dump", demo_log, "--json").out.splitlines()]
    # A record that is later than the one before by more than 1 ms.
    offset = next(n for n in range(1, len(rows)) if _time(rows, n) - _time(rows, n - 1) > 1)
    at, just_after_previous = _time(rows, offset), _time(rows, offset - 1) + 1
    for ms in (at, just_after_previous):
        told = json.loads(metalog("timeline", demo_log, "--from", _text(ms), "--json").out)
        assert told["events"][0]["from_offset"] == offset
        first = metalog("dump", demo_log, "--from", _text(ms), "--json").out.splitlines()[0]
        assert json.loads(first)["offset"] == offset

    until = _text(at - 1)
    assert metalog("dump", demo_log, "--from", _text(just_after_previous), "--to", until).out == ""
    empty = metalog("timeline", demo_log, "--from", _text(just_after_previous), "--to", until)
    assert empty.out == "no records in this range\n"


def test_report_of_a_range_of_times_without_a_record_is_refused(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    answer = metalog("report", demo_log, tmp_path / "r.html", "--from", "end-0", "--to", "end")
    assert answer.code == 0
    answer = metalog("report", demo_log, tmp_path / "none.html", "--from", "now")
    assert answer.code == 3
    assert "let the range begin earlier" in answer.err
    assert not (tmp_path / "none.html").exists()


def _time(rows: list[dict[str, Any]], index: int) -> int:
    time = rows[index]["timestamp"]
    assert isinstance(time, int)
    return time


def _text(ms: int) -> str:
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).isoformat(
        timespec="milliseconds"
    )
