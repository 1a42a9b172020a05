"""metalog outages --object: partitions and brokers by name and by pattern."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from replay.name_patterns import name_matcher
from tests.api.conftest import Metalog


def _intervals(metalog: Metalog, log: Path, *names: str) -> list[dict[str, Any]]:
    options = [word for name in names for word in ("--object", name)]
    found: list[dict[str, Any]] = metalog("outages", log, "--json", *options).json["intervals"]
    return found


def test_objects_select_the_intervals_that_their_names_match(
    metalog: Metalog, demo_log: Path
) -> None:
    every = _intervals(metalog, demo_log)
    partition = next(each for each in every if each["topic_id"] is not None)
    name, number = partition["object"], partition["object"].rpartition("/")[2]
    for asked in ([name], ["broker:*"], ["partition:*/0", "broker:?"], [name, "broker:2"]):
        wanted = [e for e in every if any(fnmatchcase(e["object"], each) for each in asked)]
        assert wanted
        assert _intervals(metalog, demo_log, *asked) == wanted
    by_id = _intervals(metalog, demo_log, f"partition:@{partition['topic_id']}/{number}")
    assert partition in by_id
    assert {each["topic_id"] for each in by_id} == {partition["topic_id"]}


def test_pattern_without_a_match_is_empty_and_an_unknown_name_refused(
    metalog: Metalog, demo_log: Path
) -> None:
    assert _intervals(metalog, demo_log, "partition:never*") == []
    refused = metalog("outages", demo_log, "--object", "partition:never/0")
    assert (refused.code, "partition:never/0 never existed" in refused.err) == (3, True)


@pytest.mark.parametrize(
    "options", [["topic:a*"], ["broker:1#fenced"], ["broker:1", "--broker", 1]]
)
def test_what_has_no_outages_is_refused(
    metalog: Metalog, demo_log: Path, options: list[object]
) -> None:
    refused = metalog("outages", demo_log, "--object", *options)
    assert (refused.code, "INVALID_REQUEST" in refused.err) == (3, True)


def test_name_of_an_object_is_no_pattern() -> None:
    assert not name_matcher("config:group/a*", {"config:group/a*"})("config:group/ab")
    assert name_matcher("config:group/a*", set())("config:group/ab")
    assert not name_matcher("config:group/[ab]?", set())("config:group/ab")


def test_sums_of_partitions_are_in_partition_hours(metalog: Metalog, demo_log: Path) -> None:
    told = metalog("outages", demo_log, "--json").json
    total_ms = told["totals"]["under_replicated"]["duration_ms"]
    text = metalog("outages", demo_log).out
    assert f", {total_ms / 3_600_000:,.1f} partition-hours in all" in text
    of_topics = [line for line in text.splitlines() if " under_replicated " in line]
    assert any(line.endswith(" partition-hours") for line in of_topics)
    fenced = told["totals"]["fenced"]
    assert f"  fenced: {fenced['intervals']}, " in text
    assert not [line for line in text.splitlines() if "fenced" in line and "partition-" in line]
