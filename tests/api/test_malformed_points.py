"""A text that is no point is wrong usage, exit code 2, in every command that takes points."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.conftest import Metalog

LOG_FIRST: dict[str, Callable[[str], tuple[str, ...]]] = {
    "image": lambda point: ("--at", point),
    "digest": lambda point: ("--at", point),
    "blame": lambda point: ("broker:1", "--at", point),
    "why": lambda point: ("broker:1", "--at", point),
    "du": lambda point: ("--at", point),
    "dump": lambda point: ("--from", point),
    "history": lambda point: ("broker:1", "--to", point),
    "timeline": lambda point: ("--from", point),
    "outages": lambda point: ("--to", point),
    "diff": lambda point: (point, "end"),
    "what-if": lambda point: ("--at", point, "--without", "broker:1"),
    "upgrade-check": lambda point: ("--to", "4.0", "--at", point),
    "retain": lambda point: ("--before", point, "--without-archive"),
}


@pytest.mark.parametrize("verb", LOG_FIRST)
@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("nonsense", "'nonsense' is not a point; write an offset"),
        ("2:00", "'2:00' may mean 02:00 or 14:00; write one of them"),
        ("25:00", "'25:00' is not a point: hour must be in 0..23"),
    ],
)
def test_malformed_point_is_wrong_usage(
    metalog: Metalog, demo_log: Path, verb: str, point: str, words: str
) -> None:
    answer = metalog(verb, demo_log, *LOG_FIRST[verb](point))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: USAGE: {words}")


def test_malformed_point_is_wrong_usage_before_a_service_is_asked(metalog: Metalog) -> None:
    nowhere = ("--server", "kafka://127.0.0.1:1")
    answer = metalog("image", *nowhere, "--at", "nonsense")
    assert (answer.code, "'nonsense' is not a point" in answer.err) == (2, True)
    listed = metalog("topics", "list", *nowhere, "--at", "2:00")
    assert (listed.code, "may mean 02:00 or 14:00" in listed.err) == (2, True)
