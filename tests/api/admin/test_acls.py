"""acls create, list, delete, explain."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog

BOB = ["--principal", "User:bob"]


def create(metalog: Metalog, log: Path, *arguments: object) -> list[dict[str, Any]]:
    answer = metalog("acls", "create", *arguments, "--log", log, "--json")
    assert answer.code == 0, answer.err
    found: list[dict[str, Any]] = answer.json["results"]
    return found


def listed(metalog: Metalog, log: Path, *arguments: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = metalog("acls", "list", *arguments, "--log", log, "--json").json[
        "acls"
    ]
    return found


def verdict(metalog: Metalog, log: Path, *arguments: object) -> tuple[bool, str, str | None]:
    found = metalog("acls", "explain", *arguments, "--log", log, "--json").json
    entry = found["entry"]
    return found["allowed"], found["reason"], None if entry is None else entry["acl"]


def test_an_entry_is_made_for_each_combination_and_listed(metalog: Metalog, log: Path) -> None:
    made = create(
        metalog,
        log,
        *(*BOB, "--principal", "User:cat", "--operation", "Read", "--operation", "alter-configs"),
        *("--topic", "orders", "--pattern-type", "prefixed", "--deny", "--host", "10.0.0.1"),
    )
    assert len({entry["acl"] for entry in made}) == 4
    found = listed(metalog, log)
    assert [(e["principal"], e["operation"]) for e in found] == [
        ("User:bob", "READ"),
        ("User:bob", "ALTER_CONFIGS"),
        ("User:cat", "READ"),
        ("User:cat", "ALTER_CONFIGS"),
    ]
    assert {k: v for k, v in found[0].items() if k not in ("acl", "principal", "operation")} == {
        "permission": "DENY",
        "host": "10.0.0.1",
        "resource_type": "TOPIC",
        "resource_name": "orders",
        "pattern_type": "PREFIXED",
    }


def test_every_kind_of_resource_has_an_option(metalog: Metalog, log: Path) -> None:
    create(
        metalog,
        log,
        *(*BOB, "--operation", "all", "--topic", "t", "--group", "g", "--cluster"),
        *("--transactional-id", "x", "--delegation-token", "d", "--user", "User:u"),
    )
    create(metalog, log, *BOB, "--operation", "all", "--namespace", "org")
    create(metalog, log, *BOB, "--operation", "all", "--namespace", "org", "--topic", "t")
    assert [(e["resource_type"], e["resource_name"]) for e in listed(metalog, log)] == [
        ("TOPIC", "org:t"),
        ("TOPIC", "t"),
        ("GROUP", "g"),
        ("CLUSTER", "kafka-cluster"),
        ("TRANSACTIONAL_ID", "x"),
        ("DELEGATION_TOKEN", "d"),
        ("USER", "User:u"),
        ("NAMESPACE", "org"),
    ]


def test_an_entry_that_exists_is_not_created_again(metalog: Metalog, log: Path) -> None:
    wanted = [*BOB, "--operation", "read", "--topic", "orders"]
    (first,) = create(metalog, log, *wanted)
    (again,) = create(metalog, log, *wanted)
    assert (first["created"], again["created"]) == (True, False)
    assert again["acl"] == first["acl"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--principal", "bob", "--operation", "read", "--topic", "t"], "INVALID_REQUEST"),
        ([*BOB, "--operation", "read", "--topic", ""], "INVALID_REQUEST"),
        ([*BOB, "--operation", "read", "--topic", "t", "--pattern-type", "match"], "INVALID"),
        ([*BOB, "--operation", "read", "--namespace", "a b"], "INVALID_TOPIC_EXCEPTION"),
        ([*BOB, "--operation", "read", "--topic", "t", "--host", "10.0.0.0/99"], "INVALID_REQUEST"),
        ([*BOB, "--operation", "reed", "--topic", "t"], "USAGE"),
        ([*BOB, "--operation", "read"], "USAGE"),
        ([*BOB, "--topic", "t"], "USAGE"),
    ],
)
def test_what_is_no_entry_is_refused(
    metalog: Metalog, log: Path, arguments: list[str], code: str
) -> None:
    refused = metalog("acls", "create", *arguments, "--log", log)
    assert refused.code == (2 if code == "USAGE" else 3)
    assert refused.err.startswith(f"error: {code}")
    assert listed(metalog, log) == []


def test_help_says_whether_a_log_is_written(metalog: Metalog) -> None:
    assert "only writer" in " ".join(metalog("acls", "create", "--help").out.split())
    assert "which is only read" in " ".join(metalog("acls", "list", "--help").out.split())


def test_principal_to_explain_has_a_type(metalog: Metalog, log: Path) -> None:
    refused = metalog("acls", "explain", "bob", "read", "topic:t", "--log", log)
    assert refused.code == 2
    assert "write User:bob" in refused.err


def test_only_what_a_filter_says_is_deleted(metalog: Metalog, log: Path) -> None:
    create(metalog, log, *BOB, "--operation", "read", "--topic", "orders", "--topic", "*")
    create(metalog, log, *BOB, "--operation", "read", "--topic", "o", "--pattern-type", "prefixed")
    match = ["--topic", "orders", "--pattern-type", "match"]
    assert [e["resource_name"] for e in listed(metalog, log, *match)] == ["*", "o", "orders"]
    assert [e["resource_name"] for e in listed(metalog, log, "--topic", "o")] == ["o"]
    assert metalog("acls", "delete", "--log", log).code == 2
    gone = metalog("acls", "delete", "--topic", "orders", "--log", log)
    assert gone.out.startswith("deleted acl:")
    assert [e["resource_name"] for e in listed(metalog, log)] == ["*", "o"]
    assert metalog("acls", "delete", "--all", "--log", log).code == 0
    assert listed(metalog, log) == []


def test_the_entry_that_decides_is_named_with_when_and_by_whom(metalog: Metalog, log: Path) -> None:
    before = metalog("info", log, "--json").json["log_end"] - 1
    (allow,) = create(
        metalog, log, *BOB, "--operation", "read", "--namespace", "org", "--as", "User:ann"
    )
    (deny,) = create(
        metalog, log, *BOB, "--operation", "all", "--namespace", "org", "--topic", "x", "--deny"
    )
    asked = ["User:bob", "describe"]
    assert verdict(metalog, log, *asked, "topic:org:t") == (True, "entry", allow["acl"])
    assert verdict(metalog, log, *asked, "topic:org:x") == (False, "entry", deny["acl"])
    at = ["--at", before]
    assert verdict(metalog, log, *asked, "topic:org:t", *at)[1] == "no access to the namespace"
    told = metalog("acls", "explain", *asked, "topic:org:t", "--log", log)
    assert told.out.splitlines()[0] == (
        f"allowed: acl:{allow['acl']}: allow User:bob READ on namespace:org"
    )
    assert "by User:ann acls create" in told.out
    blamed = metalog("blame", log, f"acl:{allow['acl']}", "--json").json["fields"]
    assert blamed["operation"]["origin"]["principal"] == "User:ann"


def test_why_no_entry_decides_is_said(metalog: Metalog, log: Path) -> None:
    create(metalog, log, *BOB, "--operation", "read", "--topic", "orders", "--host", "10.0.0.1")
    read = ["User:bob", "read"]
    assert verdict(metalog, log, *read, "topic:orders")[:2] == (False, "no entry applies")
    assert verdict(metalog, log, *read, "topic:orders", "--host", "10.0.0.1")[0]
    assert verdict(metalog, log, *read, "topic:clicks")[:2] == (False, "no entry at all")
    everyone = ["topic:clicks", "--allow-everyone"]
    assert verdict(metalog, log, *read, *everyone)[:2] == (True, "no entry at all")
    assert verdict(metalog, log, *read, "cluster", "--super-user", "User:bob")[:2] == (
        True,
        "super user",
    )
