"""configs set, delete, append, subtract, describe."""

import io
import sys
from pathlib import Path

import pytest

from tests.api.conftest import Metalog


def configs(metalog: Metalog, log: Path, resource: str, *more: object) -> dict[str, str]:
    found = metalog("configs", "describe", resource, *more, "--log", log, "--json").json["configs"]
    return {config["name"]: config["value"] for config in found}


def test_configs_of_a_topic_are_set_and_deleted(metalog: Metalog, log: Path) -> None:
    answer = metalog(
        "configs", "set", "topic/orders", "retention.ms=5", "segment.ms=7", "--log", log
    )
    assert answer.out.startswith("changed: retention.ms, segment.ms of topic/orders\n")
    assert configs(metalog, log, "topic/orders") == {"retention.ms": "5", "segment.ms": "7"}
    metalog("configs", "delete", "topic/orders", "retention.ms", "--log", log)
    assert configs(metalog, log, "topic/orders") == {"segment.ms": "7"}


def test_items_are_appended_to_lists_and_taken_out(metalog: Metalog, log: Path) -> None:
    metalog("configs", "append", "topic/orders", "cleanup.policy=compact", "--log", log)
    assert configs(metalog, log, "topic/orders") == {"cleanup.policy": "delete,compact"}
    metalog("configs", "subtract", "topic/orders", "cleanup.policy=delete", "--log", log)
    assert configs(metalog, log, "topic/orders") == {"cleanup.policy": "compact"}


def test_value_may_hold_equals_signs(metalog: Metalog, log: Path) -> None:
    metalog("configs", "set", "broker/1", "metric.reporters=a=b", "--log", log)
    shown = configs(metalog, log, "broker/1", "--show-secrets")
    assert shown == {"metric.reporters": "a=b"}


def test_description_names_the_level_that_sets_each_config(metalog: Metalog, log: Path) -> None:
    metalog("configs", "set", "cluster", "log.retention.hours=1", "--log", log)
    metalog("configs", "set", "topic/orders", "segment.ms=7", "--log", log)
    arguments = ["configs", "describe", "topic/orders", "--all", "--log", log]
    found = {c["name"]: c for c in metalog(*arguments, "--json").json["configs"]}
    assert found["segment.ms"]["source"] == "topic"
    assert (found["retention.ms"]["value"], found["retention.ms"]["source"]) == (
        "3600000",
        "cluster",
    )
    assert found["segment.bytes"]["source"] == "default"
    title, header = metalog(*arguments).out.splitlines()[:2]
    assert title.startswith("topic/orders  version ")
    assert header.split() == ["config", "value", "set", "by"]


def test_secrets_are_shown_only_when_asked_for(metalog: Metalog, log: Path) -> None:
    metalog("configs", "set", "broker/1", "ssl.key.password=hunter2", "--log", log)
    for arguments in (
        ["configs", "describe", "broker/1", "--log", log],
        ["configs", "describe", "broker/1", "--log", log, "--json"],
        ["dump", log],
        ["history", log, "config:broker/1"],
    ):
        answer = metalog(*arguments)
        assert "(redacted)" in answer.out
        assert "hunter2" not in answer.out + answer.err
    assert configs(metalog, log, "broker/1", "--show-secrets") == {"ssl.key.password": "hunter2"}


def test_topic_configs_are_found_by_namespace(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "org:a", "--log", log)
    inside = ["--namespace", "org"]
    metalog("configs", "set", "topic/a", "retention.ms=5", *inside, "--log", log)
    assert configs(metalog, log, "topic/org:a") == {"retention.ms": "5"}
    assert configs(metalog, log, "topic/a", *inside) == {"retention.ms": "5"}


def test_validated_change_changes_nothing(metalog: Metalog, log: Path) -> None:
    arguments = ["topic/orders", "retention.ms=5", "--validate-only", "--log", log]
    answer = metalog("configs", "set", *arguments)
    assert answer.out.startswith("can be changed: retention.ms of topic/orders\n")
    assert configs(metalog, log, "topic/orders") == {}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["set", "topic/absent", "retention.ms=1"], "UNKNOWN_TOPIC_OR_PARTITION"),
        (["set", "topic/orders", "retention.ms=soon"], "INVALID_CONFIG"),
        (["set", "topic/orders", "no.such.config=1"], "INVALID_CONFIG"),
        (["set", "topic/orders", "retention.ms=1", "retention.ms=2"], "INVALID_REQUEST"),
        (["append", "topic/orders", "retention.ms=1"], "INVALID_CONFIG"),
        (["subtract", "topic/orders", "retention.ms=1"], "INVALID_CONFIG"),
        (["set", "broker/9", "num.io.threads=9"], "BROKER_ID_NOT_REGISTERED"),
        (["set", "broker/x", "num.io.threads=9"], "INVALID_REQUEST"),
        (["describe", "topic/absent"], "UNKNOWN_TOPIC_OR_PARTITION"),
        (["describe", "broker/9"], "BROKER_ID_NOT_REGISTERED"),
        (["describe", "broker/x"], "BROKER_ID_NOT_REGISTERED"),
        (["describe", "broker/01"], "BROKER_ID_NOT_REGISTERED"),
    ],
)
def test_refused_request_prints_its_code_and_exits_3(
    metalog: Metalog, log: Path, arguments: list[str], code: str
) -> None:
    answer = metalog("configs", *arguments, "--log", log)
    assert answer.code == 3
    assert answer.err.startswith(f"error: {code}: ")


@pytest.mark.parametrize("resource", ["orders", "topic/", "broker/", "broker", "grope/a", ""])
def test_resource_that_is_none_is_wrong_usage(metalog: Metalog, log: Path, resource: str) -> None:
    assert metalog("configs", "describe", resource, "--log", log).code == 2


def test_value_is_read_from_a_file_or_standard_input(
    metalog: Metalog, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("hunter2\n")
    answer = metalog(
        *("configs", "set", "broker/1", "ssl.key.password=x", "--log", log),
        *("--from-file", f"ssl.keystore.password={tmp_path / 'key'}"),
    )
    assert answer.out.startswith("changed: ssl.key.password, ssl.keystore.password of broker/1\n")
    shown = configs(metalog, log, "broker/1", "--show-secrets")
    assert shown["ssl.keystore.password"] == "hunter2"
    from_stdin = ("--from-file", "ssl.truststore.password=-")
    monkeypatch.setattr(sys, "stdin", io.StringIO("hunter3\n"))
    metalog("configs", "set", "broker/1", *from_stdin, "--log", log)
    shown = configs(metalog, log, "broker/1", "--show-secrets")
    assert shown["ssl.truststore.password"] == "hunter3"


@pytest.mark.parametrize(
    "arguments",
    [[], ["--from-file", "a"], ["--from-file", "a=-", "--from-file", "b=-"]],
    ids=["nothing", "no file", "standard input twice"],
)
def test_values_that_cannot_be_read_are_wrong_usage(
    metalog: Metalog, log: Path, arguments: list[str]
) -> None:
    assert metalog("configs", "set", "broker/1", *arguments, "--log", log).code == 2


def test_replacement_says_what_it_deletes(metalog: Metalog, log: Path) -> None:
    change = ("configs", "set", "topic/orders", "retention.ms=5", "segment.ms=7", "--log", log)
    metalog(*change)
    replace = ("configs", "replace", "topic/orders", "segment.ms=7", "--log", log)
    answer = metalog(*replace, "--validate-only")
    assert answer.out.splitlines()[:2] == [
        "can be changed: segment.ms of topic/orders",
        "can be deleted: retention.ms of topic/orders",
    ]
    (item,) = metalog(*replace, "--json").json["results"]
    assert (item["configs"], item["deleted"]) == (["segment.ms"], ["retention.ms"])


def test_subscription_is_not_deleted_as_a_config(metalog: Metalog, log: Path) -> None:
    metalog("subscriptions", "register", "g", "orders.*", "--log", log)
    answer = metalog("configs", "delete", "group/g", "subscribed.topic.regex", "--log", log)
    assert answer.code == 3
    assert answer.err.startswith(
        "error: INVALID_CONFIG: only `metalog subscriptions delete` deletes"
    )
    assert configs(metalog, log, "group/g") == {"subscribed.topic.regex": "orders.*"}
