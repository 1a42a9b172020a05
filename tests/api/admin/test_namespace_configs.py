"""Configs of namespaces by the command line, and in every view of the log."""

from pathlib import Path

import pytest

from tests.api.conftest import Metalog


@pytest.fixture
def org(metalog: Metalog, log: Path) -> Path:
    """A log where org:apache keeps records for 5 ms; its topic inherits that."""
    metalog("topics", "create", "org:apache:a", "--log", log)
    metalog("configs", "set", "namespace/org:apache", "retention.ms=5", "--log", log)
    return log


def test_topic_names_the_namespace_that_sets_a_config(metalog: Metalog, org: Path) -> None:
    arguments = ["configs", "describe", "topic/org:apache:a", "--all", "--log", org]
    found = {c["name"]: c for c in metalog(*arguments, "--json").json["configs"]}
    assert found["retention.ms"] == {
        "name": "retention.ms",
        "value": "5",
        "source": "namespace",
        "namespace": "org:apache",
    }
    lines = [line.split() for line in metalog(*arguments).out.splitlines()]
    assert ["retention.ms", "5", "namespace/org:apache"] in lines


def test_namespace_shows_its_own_configs_or_all(metalog: Metalog, org: Path) -> None:
    metalog("configs", "set", "namespace/org", "segment.ms=7", "--log", org)
    arguments = ["configs", "describe", "namespace/apache", "--namespace", "org", "--log", org]
    own = metalog(*arguments, "--json").json
    assert [(c["name"], c["value"]) for c in own["configs"]] == [("retention.ms", "5")]
    every = {c["name"]: c for c in metalog(*arguments, "--all", "--json").json["configs"]}
    assert every["segment.ms"]["namespace"] == "org"
    assert every["namespace.max.topics"]["value"] == "-1"


def test_config_of_a_namespace_is_an_object_of_history(metalog: Metalog, org: Path) -> None:
    name = "config:namespace/org:apache#retention.ms"
    metalog("configs", "set", "namespace/org:apache", "retention.ms=6", "--log", org)
    changes = [c for line in metalog("history", org, name, "--json").lines for c in line["changes"]]
    assert [(c["before"], c["after"]) for c in changes] == [(None, "5"), ("5", "6")]
    fields = metalog("blame", org, name, "--json").json["fields"]
    assert list(fields) == ["retention.ms"]
    assert "config:namespace/org:apache" in metalog("diff", org, "start", "end").out
    assert "org:apache" in metalog("image", org, "--part", "configs").out


def test_every_way_to_the_state_keeps_configs_of_namespaces(metalog: Metalog, org: Path) -> None:
    digests = {metalog("digest", org, "--json").json["digest"]}
    metalog("snapshot", "create", org)
    digests.add(metalog("digest", org, "--by", "snapshot", "--json").json["digest"])
    assert len(digests) == 1


def test_configs_go_with_their_namespace(metalog: Metalog, org: Path) -> None:
    metalog("namespaces", "delete", "org:apache", "--log", org)
    answer = metalog("configs", "describe", "namespace/org:apache", "--log", org)
    assert (answer.code, "InvalidNamespace" in answer.err) == (3, True)
    left = metalog("image", org, "--part", "configs", "--json")
    assert "retention.ms" not in left.out
