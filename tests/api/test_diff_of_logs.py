"""Question 19: the differences between two clusters, or between a cluster and its past, without
ids.
"""

from pathlib import Path

import pytest

from api.cli.source.two_places import with_other
from tests.api.conftest import Metalog
from tests.api.services import serving


@pytest.fixture
def logs(metalog: Metalog, tmp_path: Path) -> tuple[Path, Path]:
    """Two clusters that were set up equally, except for two configs, a topic and an ACL."""

    def made(name: str, retention: str, *more: tuple[object, ...]) -> Path:
        log = tmp_path / name
        setting = f"retention.ms={retention}"
        for args in (
            ("init", log),
            ("brokers", "register", 1, "--log", log),
            ("brokers", "unfence", 1, "--log", log),
            ("topics", "create", "orders", "--assignment", "1", "--config", setting, "--log", log),
            *((*each, "--log", log) for each in more),
        ):
            answer = metalog(*args)
            assert answer.code == 0, answer.err
        return log

    return made("a", "1000"), made("b", "2000", ("topics", "create", "new", "--assignment", "1"))


def test_two_logs_are_compared_by_name(metalog: Metalog, logs: tuple[Path, Path]) -> None:
    one, other = logs
    found = metalog("diff", f"{one}@end", f"{other}@end", "--json").json["changes"]
    assert found[-1]["object"] == "config:topic/orders"
    assert found[-1]["field"] == "retention.ms"
    assert (found[-1]["before"], found[-1]["after"]) == ("1000", "2000")
    assert {each["object"] for each in found[:-1]} == {"topic:new", "partition:new/0"}
    assert not {"topic_id", "directories", "leader_epoch"} & {each["field"] for each in found}


def test_a_log_does_not_differ_from_a_copy_of_its_setup(
    metalog: Metalog, logs: tuple[Path, Path]
) -> None:
    one, other = logs
    name = ("--object", "topic:orders")
    assert metalog("diff", f"{one}@end", f"{other}@end", *name, "--exit-code").code == 0
    answer = metalog("diff", one, "end", "end", "--other", other, "--stat", "--exit-code")
    assert answer.code == 1
    assert [line.split() for line in answer.out.splitlines()[1:]] == [
        ["kind", "new", "gone", "changed", "fields"],
        ["topic", "1", "0", "0", "2"],
        ["partition", "1", "0", "0", "9"],
        ["config", "0", "0", "1", "1"],
    ]


def test_object_in_neither_log_is_an_error(metalog: Metalog, logs: tuple[Path, Path]) -> None:
    one, other = logs
    answer = metalog("diff", f"{one}@end", f"{other}@end", "--object", "topic:nowhere")
    assert answer.code == 3
    assert "RESOURCE_NOT_FOUND" in answer.err


def test_only_a_pair_of_places_stands_for_two_logs() -> None:
    assert with_other(["a@1", "b@2", "--stat"], "server:") == [
        "a",
        "1",
        "2",
        "--other",
        "b",
        "--stat",
    ]
    for args in (["log", "1", "2"], ["log@x", "1", "2"], ["log", "1", "2", "--object", "topic:@x"]):
        assert with_other(args, "server:") == args
    places = ["kafka://h:1@3", "b@2"]
    assert with_other(places, "server:") == ["server:kafka://h:1", "3", "2", "--other", "b"]


def test_services_are_compared_like_their_logs(
    metalog: Metalog, logs: tuple[Path, Path], tmp_path: Path
) -> None:
    one, other = logs
    secret = "ssl.keystore.password"
    for number, log in enumerate(logs):
        password = tmp_path / "password"
        password.write_text(f"pencil {number}")
        stored = ("--from-file", f"{secret}={password}", "--log", log)
        assert metalog("configs", "set", "broker/1", *stored).code == 0
    ends = [metalog("info", log, "--json").json["as_of"] for log in logs]
    expected = metalog("diff", f"{one}@{ends[0]}", f"{other}@{ends[1]}", "--json").json
    of_secret = [each for each in expected["changes"] if each["field"] == secret]
    told = [each for each in expected["changes"] if each["field"] != secret]
    assert of_secret and told
    with serving(one) as first, serving(other) as second:
        for place in (f"{first.kafka}@{ends[0]}", f"{one}@{ends[0]}", f"{first.socket}@{ends[0]}"):
            for place_of_other in (f"{second.kafka}@{ends[1]}", f"{other}@{ends[1]}"):
                if "://" not in place + place_of_other:
                    continue
                answer = metalog("diff", place, place_of_other, "--json")
                assert answer.json["changes"] == told, (place, place_of_other)
                assert (answer.json["from"], answer.json["as_of"]) == tuple(ends)
                assert "secrets are not compared" in answer.err
        (url, at), object_ = (first.kafka, ends[0]), ("--object", "config:topic/orders")
        by_option = metalog("diff", "--server", url, at, ends[1], "--other", other, *object_)
        assert by_option.out.splitlines() == [
            f"1 difference in 1 object between offset {at} and offset {ends[1]} of {other}",
            "config:topic/orders",
            "    retention.ms: 1000 -> 2000",
        ]
        whole = metalog("diff", f"{url}@{at}", f"{other}@{ends[1]}", "--show-secrets", "--json")
        assert of_secret[0]["object"] in {each["object"] for each in whole.json["changes"]}
        nowhere = metalog("diff", f"{url}@{at}", f"{other}@end", "--object", "topic:nowhere")
        assert (nowhere.code, "RESOURCE_NOT_FOUND" in nowhere.err) == (3, True)
