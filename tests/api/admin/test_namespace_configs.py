"""Configs of namespaces, set on the command line and shown by every command that reads the log."""

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
        "level": "namespace/org:apache",
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


def test_change_says_how_many_topics_it_changes_before_and_after(
    metalog: Metalog, org: Path
) -> None:
    change = ["configs", "set", "namespace/org", "segment.ms=7", "--log", org]
    dry = metalog(*change, "--validate-only")
    assert "1 topic would change with it" in dry.out
    assert "1 topic changed with it" in metalog(*change).out
    assert metalog(*change, "--json").json["results"][0]["topics_changed"] == 0
    cluster = ["configs", "set", "cluster", "log.roll.ms=9", "--log", org, "--json"]
    assert metalog(*cluster).json["results"][0]["topics_changed"] == 2  # the two outside org
    own = ["configs", "set", "topic/orders", "segment.ms=9", "--log", org, "--json"]
    assert metalog(*own).json["results"][0]["topics_changed"] is None


def test_explanation_names_every_level_nearest_first(metalog: Metalog, org: Path) -> None:
    metalog("configs", "set", "namespace/org", "retention.ms=6", "--log", org)
    metalog("configs", "set", "cluster", "log.retention.minutes=2", "--log", org)
    arguments = ["configs", "explain", "topic:org:apache:a", "retention.ms", "--log", org]
    (found,) = metalog(*arguments, "--json").json["configs"]
    levels = [(c["level"], c["name"], c["value"], c["source_code"]) for c in found["levels"]]
    assert levels == [
        ("namespace/org:apache", "retention.ms", "5", 0),
        ("namespace/org", "retention.ms", "6", 0),
        ("cluster", "log.retention.minutes", "2", 3),
        ("default", "log.retention.hours", "168", 5),
    ]
    assert (found["value"], found["level"]) == ("5", "namespace/org:apache")
    lines = metalog(*arguments).out.splitlines()
    assert lines[0] == "retention.ms = 5  set by namespace/org:apache"
    assert "  cluster: log.retention.minutes = 2" in lines
    misspelt = metalog("configs", "explain", "topic/orders", "retension.ms", "--log", org)
    assert (misspelt.code, "did you mean 'retention.ms'?" in misspelt.err) == (3, True)


def test_configs_are_replaced_as_a_whole(metalog: Metalog, org: Path) -> None:
    metalog("configs", "set", "topic/orders", "retention.ms=5", "segment.ms=6", "--log", org)
    assert metalog("configs", "replace", "topic/orders", "flush.ms=7", "--log", org).code == 0
    answer = metalog("configs", "describe", "topic/orders", "--log", org, "--json")
    assert [(c["name"], c["value"]) for c in answer.json["configs"]] == [("flush.ms", "7")]


@pytest.mark.parametrize(
    ("resource", "config"),
    [
        ("group/billing", "consumer.session.timeout.ms=50000"),
        ("client-metrics/all", "interval.ms=1000"),
        ("broker-logger/1", "kafka.controller=DEBUG"),
        ("broker/1", "num.io.threads=9"),
    ],
)
def test_other_resources_are_described_as_set(
    metalog: Metalog, log: Path, resource: str, config: str
) -> None:
    assert metalog("configs", "set", resource, config, "--log", log).code == 0
    found = metalog("configs", "describe", resource, "--log", log, "--json").json["configs"]
    assert [f"{c['name']}={c['value']}" for c in found] == [config]
    assert found[0]["level"] == resource
