"""Question 19: where did this cluster drift from that one, or from what it was? Ids left aside."""

from pathlib import Path

import pytest

from api.cli.two_logs import with_other
from tests.api.conftest import Metalog


@pytest.fixture
def logs(metalog: Metalog, tmp_path: Path) -> tuple[Path, Path]:
    """Two clusters that were set up alike, but for two configs, a topic and an ACL."""

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
    assert with_other(["a@1", "b@2", "--stat"]) == ["a", "1", "2", "--other", "b", "--stat"]
    for args in (["log", "1", "2"], ["log@x", "1", "2"], ["log", "1", "2", "--object", "topic:@x"]):
        assert with_other(args) == args
