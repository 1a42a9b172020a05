"""metalog history --next and --prev: the next or previous change, seen from an offset or time."""

from bisect import bisect_left, bisect_right
from pathlib import Path

import pytest

from tests.api.conftest import Metalog

NAMES = [
    "broker:1",
    "broker:2#fenced",
    "partition:__consumer_offsets/0",
    "config:topic/__consumer_offsets",
]


def offsets(metalog: Metalog, log: Path, name: str, *options: object) -> list[int]:
    answer = metalog("history", log, name, "--json", *options)
    assert (answer.code, answer.err) == (0, "")
    return [line["offset"] for line in answer.lines]


@pytest.mark.parametrize("name", NAMES)
def test_step_is_the_nearest_change_of_the_history(
    metalog: Metalog, demo_log: Path, name: str
) -> None:
    found = offsets(metalog, demo_log, name)
    end = metalog("info", demo_log, "--json").json["log_end"]
    around = {at for offset in found[:3] + found[-2:] for at in (offset - 1, offset, offset + 1)}
    for at in sorted({0, end - 1} | {at for at in around if 0 <= at < end}):
        after, before = bisect_right(found, at), bisect_left(found, at)
        assert offsets(metalog, demo_log, name, "--next", at) == found[after : after + 1]
        assert offsets(metalog, demo_log, name, "--prev", at) == found[:before][-1:]
    assert offsets(metalog, demo_log, name, "--next", "start") == found[:1]
    assert offsets(metalog, demo_log, name, "--prev", "start") == []
    assert offsets(metalog, demo_log, name, "--next", "end") == []


def test_step_is_printed_as_in_the_history(metalog: Metalog, demo_log: Path) -> None:
    whole = metalog("history", demo_log, "broker:1").out
    assert whole.startswith(metalog("history", demo_log, "broker:1", "--next", "start").out)
    assert whole.endswith(metalog("history", demo_log, "broker:1", "--last", 1).out)


def test_deleted_topic_is_stepped_through_and_an_unknown_one_refused(
    metalog: Metalog, demo_log: Path
) -> None:
    (removed, *_) = metalog("dump", demo_log, "--type", "RemoveTopicRecord", "--json").lines
    name = f"topic:@{removed['data']['topic_id']}"
    first, *_, last = offsets(metalog, demo_log, name)
    assert last == removed["offset"]
    assert offsets(metalog, demo_log, name, "--prev", "end") == [last]
    assert offsets(metalog, demo_log, name, "--next", last) == []
    assert offsets(metalog, demo_log, name, "--prev", first) == []
    for step in ("--next", "--prev"):
        refused = metalog("history", demo_log, "topic:never", step, 100)
        assert (refused.code, "topic:never never existed" in refused.err) == (3, True)


@pytest.mark.parametrize("other", [["--prev", 3], ["--from", 1], ["--to", 5], ["--last", 1]])
def test_step_and_range_exclude_each_other(
    metalog: Metalog, demo_log: Path, other: list[object]
) -> None:
    assert metalog("history", demo_log, "broker:1", "--next", 3, *other).code == 2
