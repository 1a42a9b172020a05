"""Ranges of offsets: one that ends before it begins is refused, one without records is empty."""

from pathlib import Path

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


@pytest.mark.parametrize("command", [each for each in RANGES if "OBJECT" not in each])
def test_range_before_the_first_record_is_empty(
    metalog: Metalog, demo_log: Path, command: str
) -> None:
    code, out, _ = ask(metalog, demo_log, command, "start", "start")
    assert code == 0
    assert out == ("0 outages before the first record\n" if "outages" in command else "")


def test_age_of_two_units_counts_back_their_sum(metalog: Metalog, demo_log: Path) -> None:
    rows = [metalog("dump", demo_log, "--from", f"end-{age}") for age in ("1h30m", "90m")]
    assert rows[0].code == 0
    assert rows[0] == rows[1]
