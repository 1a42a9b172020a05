"""`timeline --object`: the events that touch an object."""

from pathlib import Path
from typing import Any

from replay.name_patterns import name_matcher
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


def test_timeline_names_principal_and_reason_and_the_client_when_asked(
    metalog: Metalog, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    assert metalog("init", log).code == 0
    by = ("--as", "User:ann", "--reason", "new team", "--log", log)
    assert metalog("namespaces", "create", "shop", *by).code == 0
    (event,) = _events(metalog, log, "--object", "namespace:shop")
    assert (event["principal"], event["reason"]) == ("User:ann", "new team")

    line = "namespace shop created  by User:ann (new team)"
    told = metalog("timeline", log).out
    assert line in told
    assert event["client"] not in told
    verbose = metalog("timeline", log, "--verbose").out.splitlines()
    at = next(n for n, each in enumerate(verbose) if each.endswith(line))
    assert [each.strip() for each in verbose[at + 1 : at + 3]] == [
        f"client {event['client']}",
        "namespace:shop",
    ]
    for verb in ("history", "blame"):
        client = f"client {event['client']}"
        assert client not in metalog(verb, log, "namespace:shop").out
        assert client in metalog(verb, log, "namespace:shop", "--verbose").out


def test_few_partitions_of_an_event_are_named(metalog: Metalog, demo_log: Path) -> None:
    told = dict(
        zip(
            [f"{each['from_offset']} {each['text']}" for each in _events(metalog, demo_log)],
            metalog("timeline", demo_log).out.splitlines(),
            strict=True,
        )
    )
    for event in _events(metalog, demo_log):
        partitions = [each for each in event["objects"] if each.startswith("partition:")]
        line, names = told[f"{event['from_offset']} {event['text']}"], ", ".join(partitions)
        if event["kind"] == "partitions" and len(partitions) <= 3:
            assert f"  {names}: {event['text']}" in line
        elif event["kind"] == "brokers" and 0 < len(partitions) <= 3:
            assert f"{event['text']} ({names})" in line
        elif event["kind"] in ("brokers", "partitions"):
            assert f"  {event['text']}" in line
            assert "partition:" not in line
