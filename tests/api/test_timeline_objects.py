"""`timeline --object`: the events that touch an object."""

from pathlib import Path
from typing import Any

from replay.time_travel.name_patterns import name_matcher
from tests.api.conftest import Metalog


def _events(metalog: Metalog, log: Path, *arguments: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = metalog("timeline", log, *arguments, "--json").json["events"]
    return found


def test_events_are_those_that_name_an_object(metalog: Metalog, demo_log: Path) -> None:
    every = _events(metalog, demo_log)
    for pattern in ("broker:1", "broker:?", "partition:*/0", "config:topic/*", "removal:*"):
        matches = name_matcher(pattern, ())
        expected = [each for each in every if any(map(matches, each["objects"]))]
        assert _events(metalog, demo_log, "--object", pattern) == expected != []
    both = _events(metalog, demo_log, "--object", "broker:1", "--object", "removal:*")
    assert len(both) == len(_events(metalog, demo_log, "--object", "broker:1")) + len(
        _events(metalog, demo_log, "--object", "removal:*")
    )


def test_deleted_topic_takes_partitions_and_configs_along(metalog: Metalog, demo_log: Path) -> None:
    deleted = [each for each in _events(metalog, demo_log) if each["text"].endswith(" deleted")]
    (name, *of_topic) = deleted[0]["objects"]
    topic = name.removeprefix("topic:")
    assert f"partition:{topic}/0" in of_topic
    assert deleted[0] in _events(metalog, demo_log, "--object", f"partition:{topic}/0")


def test_what_never_existed_is_an_error_and_what_matches_nothing_is_not(
    metalog: Metalog, demo_log: Path
) -> None:
    never = metalog("timeline", demo_log, "--object", "broker:99")
    assert never.code == 3
    assert "RESOURCE_NOT_FOUND: broker:99 never existed" in never.err
    assert _events(metalog, demo_log, "--object", "broker:99*") == []
    assert _events(metalog, demo_log, "--from", "end-1", "--object", "broker:1") == []
    field = metalog("timeline", demo_log, "--object", "broker:1#fenced")
    assert field.code == 3
    assert "without a field" in field.err
