"""`--during RANGE`, `--kind` of objects, and the history of all configs."""

from pathlib import Path

import pytest

from tests.api.conftest import Metalog
from tests.api.test_spoken_points import without_said

RANGES = {
    "02:00..04:30": ("02:00", "04:30"),
    "100..end-50": ("100", "end-50"),
    "last night": ("2025-12-31T22:00Z", "2026-01-01T06:00Z"),
    "yesterday": ("2025-12-31T00:00Z", "2025-12-31T23:59:59.999Z"),
    "today": ("2026-01-01T00:00Z", "2026-01-01T23:59:59.999Z"),
}


@pytest.mark.parametrize("verb", ["outages", "timeline", "summary"])
def test_it_stands_for_from_and_to(metalog: Metalog, demo_log: Path, verb: str) -> None:
    for during, (first, last) in RANGES.items():
        found = metalog(verb, demo_log, "--during", during, "--json")
        same = metalog(verb, demo_log, "--from", first, "--to", last, "--json")
        assert found.code == same.code, (during, found.err)
        if found.code == 0:
            assert without_said(found.json) == without_said(same.json), during


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--during", "night"), "'night' is no range; write FROM..TO, such as 02:00..02:30, or"),
        (("--during", "02:00.."), "is no range"),
        (("--during", "today", "--from", "3"), "takes the place of --from and --to"),
        (("--during", "today", "--to", "3"), "takes the place of --from and --to"),
    ],
)
@pytest.mark.parametrize("verb", ["outages", "timeline", "summary"])
def test_no_range_is_wrong_usage(
    metalog: Metalog, demo_log: Path, verb: str, arguments: tuple[str, ...], words: str
) -> None:
    answer = metalog(verb, demo_log, *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err


def test_events_about_configs_are_those_whose_objects_are_configs(
    metalog: Metalog, demo_log: Path
) -> None:
    events = metalog("timeline", demo_log, "--json").json["events"]
    wanted = [each for each in events if any(of.startswith("config:") for of in each["objects"])]
    found = metalog("timeline", demo_log, "--kind", "config", "--json").json["events"]
    assert found == wanted
    assert 0 < len(found) < len(events)
    both = metalog("timeline", demo_log, "--kind", "config", "--type", "brokers", "--json").json
    kinds = {each["kind"] for each in both["events"]}
    assert kinds == {"brokers", "topics"}
    unknown = metalog("timeline", demo_log, "--kind", "confi")
    assert unknown.code == 3
    assert "'confi' is none of controllers, brokers, " in unknown.err
    assert ", config, " in unknown.err


def test_history_of_all_configs_is_that_of_every_type(metalog: Metalog, demo_log: Path) -> None:
    found = metalog("history", demo_log, "config:*", "--json")
    assert found.code == 0
    assert found.lines == metalog("history", demo_log, "config:*/*", "--json").lines
    assert len(found.lines) > 100
