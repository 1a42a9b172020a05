"""subscriptions register, list, delete; warnings when a new topic or namespace matches more."""

from pathlib import Path

from tests.api.conftest import Metalog


def test_a_registered_pattern_is_listed_until_it_is_deleted(metalog: Metalog, log: Path) -> None:
    registered = metalog("subscriptions", "register", "audit", "org:.*", "--log", log)
    assert registered.out.startswith("registered the pattern 'org:.*' of group audit\n")
    listed = metalog("subscriptions", "list", "--log", log, "--json").json
    assert listed["subscriptions"] == [{"group": "audit", "pattern": "org:.*"}]
    assert metalog("subscriptions", "delete", "audit", "--log", log).code == 0
    assert metalog("subscriptions", "list", "--log", log).out.split() == ["group", "pattern"]


def test_whoever_creates_is_warned(metalog: Metalog, log: Path) -> None:
    metalog("subscriptions", "register", "audit", "org:.*", "--log", log)
    new = metalog("topics", "create", "other", "org:new", "--log", log)
    assert [line for line in new.out.splitlines() if "WARNING" in line] == [
        "  WARNING: the pattern 'org:.*' of group audit matches org:new"
    ]
    planned = metalog("namespaces", "create", "org:x", "--validate-only", "--log", log)
    assert planned.out.splitlines() == [
        "can create namespace org:x",
        "  WARNING: the pattern 'org:.*' of group audit matches topics in org:x",
        "only validated: nothing was written",
    ]
    made = metalog("namespaces", "create", "org:x", "--log", log, "--json").json
    assert made["subscriptions"] == [{"group": "audit", "pattern": "org:.*"}]


def test_without_a_match_answers_are_as_ever(metalog: Metalog, log: Path) -> None:
    metalog("subscriptions", "register", "audit", "org:.*", "--log", log)
    (result,) = metalog("topics", "create", "new", "--log", log, "--json").json["results"]
    assert "subscriptions" not in result


def test_the_history_of_a_pattern_can_be_asked(metalog: Metalog, log: Path) -> None:
    for pattern in ("a.*", "b.*"):
        metalog("subscriptions", "register", "audit", pattern, "--as", "User:ann", "--log", log)
    told = metalog("history", log, "config:group/audit")
    assert "a.* -> b.*" in told.out
    assert told.out.count("User:ann") == 2
