"""topics create, list, describe, delete, adopt."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog


def described(metalog: Metalog, log: Path, *arguments: object) -> list[Any]:
    topics = metalog("topics", "describe", *arguments, "--log", log, "--json").json["topics"]
    assert isinstance(topics, list)
    return topics


def test_topics_are_created_alike(metalog: Metalog, log: Path) -> None:
    answer = metalog(
        *("topics", "create", "a", "b", "--partitions", 2, "--replication-factor", 3),
        *("--config", "retention.ms=5", "--config", "cleanup.policy=compact", "--log", log),
        "--json",
    )
    assert answer.code == 0
    assert [
        (r["name"], r["partitions"], r["replication_factor"]) for r in answer.json["results"]
    ] == [
        ("a", 2, 3),
        ("b", 2, 3),
    ]
    for topic, result in zip(
        described(metalog, log, "a", "b"), answer.json["results"], strict=True
    ):
        assert topic["topic_id"] == result["topic_id"]
        assert {c["name"]: c["value"] for c in topic["configs"]} == {
            "retention.ms": "5",
            "cleanup.policy": "compact",
        }
        assert all(sorted(p["replicas"]) == [1, 2, 3] for p in topic["partitions"])


def test_assignment_names_brokers_by_partition(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "a", "--assignment", "3:1,2:3", "--log", log)
    (topic,) = described(metalog, log, "a")
    assert [p["replicas"] for p in topic["partitions"]] == [[3, 1], [2, 3]]
    assert [p["leader"] for p in topic["partitions"]] == [3, 2]


def test_validated_topic_has_no_id(metalog: Metalog, log: Path) -> None:
    answer = metalog("topics", "create", "a", "--validate-only", "--log", log, "--json").json
    assert (answer["validated_only"], answer["committed_at"]) == (True, None)
    assert answer["results"][0]["topic_id"] is None
    text = metalog("topics", "create", "a", "--validate-only", "--log", log).out
    assert text == "can create a: 1 partition of 1 replica\nonly validated: nothing was written\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["orders"], "TOPIC_ALREADY_EXISTS"),
        (["a b"], "INVALID_TOPIC_EXCEPTION"),
        (["a" * 250], "INVALID_TOPIC_EXCEPTION"),
        (["org:absent:a"], "INVALID_TOPIC_EXCEPTION"),
        (["__cluster_metadata"], "INVALID_TOPIC_EXCEPTION"),
        (["org:apache:__cluster_metadata"], "INVALID_TOPIC_EXCEPTION"),
        (["a", "--namespace", "absent"], "INVALID_TOPIC_EXCEPTION"),
        (["a", "a"], "INVALID_REQUEST"),
        (["a", "--partitions", "0"], "INVALID_PARTITIONS"),
        (["a", "--partitions", "9" * 30], "POLICY_VIOLATION"),
        (["a", "--replication-factor", "4"], "INVALID_REPLICATION_FACTOR"),
        (["a", "--assignment", "1:9"], "INVALID_REPLICA_ASSIGNMENT"),
        (["a", "--assignment", "1", "--partitions", "1"], "INVALID_REQUEST"),
        (["a", "--config", "retention.ms=soon"], "INVALID_CONFIG"),
        (["a", "--config", "no.such.config=1"], "INVALID_CONFIG"),
        (["a", "--placement", "random"], "INVALID_REQUEST"),
    ],
)
def test_refused_creation_prints_its_code_and_exits_3(
    metalog: Metalog, log: Path, arguments: list[str], code: str
) -> None:
    answer = metalog("topics", "create", *arguments, "--log", log)
    assert answer.code == 3
    assert answer.err.startswith(f"error: {code}: ")
    assert "committed" not in answer.out


@pytest.mark.parametrize(
    "arguments",
    [["--assignment", "1:2,x"], ["--assignment", ""], ["--config", "a"], ["--config", "=b"]],
)
def test_what_cannot_be_read_is_wrong_usage(
    metalog: Metalog, log: Path, arguments: list[str]
) -> None:
    answer = metalog("topics", "create", "a", *arguments, "--log", log)
    assert (answer.code, answer.err.startswith("error: USAGE: ")) == (2, True)


@pytest.mark.parametrize("placement", ["striped", "classic", "classic-rack-unaware"])
def test_placement_can_be_named(metalog: Metalog, log: Path, placement: str) -> None:
    metalog(
        *("topics", "create", "a", "--partitions", 6, "--replication-factor", 2),
        *("--placement", placement, "--log", log),
    )
    (topic,) = described(metalog, log, "a")
    leaders = [p["leader"] for p in topic["partitions"]]
    assert {leaders.count(broker) for broker in (1, 2, 3)} == {2}


def test_placement_is_load_aware_by_default(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "a", "--partitions", 5, "--log", log)
    brokers = metalog("brokers", "list", "--log", log, "--json").json["brokers"]
    assert [broker["leads"] for broker in brokers] == [3, 3, 3]


def test_full_name_and_namespace_option_say_the_same(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "org:apache:a", "--log", log)
    metalog("topics", "create", "b", "--namespace", "org:apache", "--log", log)
    listed = metalog("topics", "list", "--namespace", "org:apache", "--log", log, "--json").json
    assert [t["name"] for t in listed["topics"]] == ["org:apache:a", "org:apache:b"]
    assert metalog("topics", "delete", "a", "--namespace", "org:apache", "--log", log).code == 0


def test_list_matches_whole_names(metalog: Metalog, log: Path) -> None:
    listed = metalog("topics", "list", "--pattern", "o.*", "--log", log, "--json").json
    assert [(t["name"], t["partitions"], t["replication_factor"]) for t in listed["topics"]] == [
        ("orders", 3, 2)
    ]
    assert (
        metalog("topics", "list", "--pattern", "rder", "--log", log, "--json").json["topics"] == []
    )
    assert len(metalog("topics", "list", "--log", log).out.splitlines()) == 3


def test_patterns_are_regular_expressions_over_full_names(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "org:apache:orders", "--log", log)

    def matched(*arguments: str) -> list[str]:
        listed = metalog("topics", "list", "--pattern", *arguments, "--log", log, "--json").json
        return [topic["name"] for topic in listed["topics"]]

    assert matched(".*") == ["clicks", "orders", "org:apache:orders"]
    assert matched("(.*:)?orders") == ["orders", "org:apache:orders"]
    assert matched("org:.*") == matched(".*", "--namespace", "org") == ["org:apache:orders"]
    refused = metalog("topics", "list", "--pattern", "o(?!r)", "--log", log)
    assert refused.code == 3
    assert refused.err.startswith("error: INVALID_REGULAR_EXPRESSION: 'o(?!r)', at character 3: ")


def test_list_can_leave_out_what_kafka_itself_uses(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "__consumer_offsets", "--log", log)
    shown = metalog("topics", "list", "--exclude-internal", "--log", log).out
    assert "__consumer_offsets" not in shown
    assert "__consumer_offsets" in metalog("topics", "list", "--log", log).out


def test_topic_is_described_by_name_and_by_id(metalog: Metalog, log: Path) -> None:
    (by_name,) = described(metalog, log, "orders")
    assert described(metalog, log, f"@{by_name['topic_id']}") == [by_name]
    assert described(metalog, log, "--topic-id", by_name["topic_id"]) == [by_name]
    assert by_name["partitions"][0] == {
        "partition": 0,
        "version": by_name["version"] - 2,  # the topic's is that of its last partition
        "mode": "READ_WRITE",
        "leader": 1,
        "leader_epoch": 0,
        "partition_epoch": 0,
        "replicas": [1, 2],
        "isr": [1, 2],
        "offline_replicas": [],
        "adding_replicas": [],
        "removing_replicas": [],
        "lags": [0, None],
    }


def test_all_topics_are_described_when_none_is_named(metalog: Metalog, log: Path) -> None:
    assert [topic["name"] for topic in described(metalog, log)] == ["clicks", "orders"]


def test_description_at_an_earlier_point(metalog: Metalog, log: Path) -> None:
    before = metalog("info", log, "--json").json["log_end"] - 1
    metalog("topics", "delete", "orders", "--log", log)
    gone = metalog("topics", "describe", "orders", "--log", log)
    assert (gone.code, gone.err.split(":")[1]) == (3, " UNKNOWN_TOPIC_OR_PARTITION")
    assert [t["name"] for t in described(metalog, log, "orders", "--at", before)] == ["orders"]


def test_configs_of_other_levels_are_shown_when_asked_for(metalog: Metalog, log: Path) -> None:
    metalog("configs", "set", "cluster", "log.retention.ms=9", "--log", log)
    (topic,) = described(metalog, log, "orders", "--all-configs")
    configs = {c["name"]: (c["value"], c["source"], c["overridden"]) for c in topic["configs"]}
    assert configs["retention.ms"] == ("9", "cluster", False)
    assert configs["cleanup.policy"] == ("delete", "default", False)


def test_deleted_name_is_free_at_once(metalog: Metalog, log: Path) -> None:
    (before,) = described(metalog, log, "orders")
    answer = metalog("topics", "delete", "orders", "--log", log, "--json").json
    assert answer["results"][0]["topic_id"] == before["topic_id"]
    assert metalog("topics", "create", "orders", "--log", log).code == 0
    (after,) = described(metalog, log, "orders")
    assert after["topic_id"] != before["topic_id"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["absent"], "UNKNOWN_TOPIC_OR_PARTITION"),
        (["@AAAAAAAAAAAAAAAAAAAAAA"], "UNKNOWN_TOPIC_ID"),
        (["orders", "orders"], "INVALID_REQUEST"),
    ],
)
def test_refused_deletion_prints_its_code_and_exits_3(
    metalog: Metalog, log: Path, arguments: list[str], code: str
) -> None:
    answer = metalog("topics", "delete", *arguments, "--log", log)
    assert answer.code == 3
    assert answer.err.startswith(f"error: {code}: ")


def test_topics_are_adopted_from_lines(metalog: Metalog, log: Path, tmp_path: Path) -> None:
    file = tmp_path / "topics.txt"
    file.write_text("# name and replicas\nold 1:2,2:3\norg:apache:older 3  # one\n\n")
    assert metalog("topics", "adopt", file, "--log", log).code == 0
    old, older = described(metalog, log, "old", "org:apache:older")
    assert [p["replicas"] for p in old["partitions"]] == [[1, 2], [2, 3]]
    assert [p["replicas"] for p in older["partitions"]] == [[3]]
    assert old["topic_id"] != older["topic_id"]


def test_metadata_log_is_not_adopted_as_a_topic(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    file = tmp_path / "topics.txt"
    file.write_text("__cluster_metadata 1:2\n")
    answer = metalog("topics", "adopt", file, "--log", log, "--json")
    assert answer.code == 3
    assert answer.json["results"][0]["error"]["code"] == "INVALID_TOPIC_EXCEPTION"


def test_adopted_znode_keeps_its_id_or_gets_one(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    own_id = "b8tRS7h4TJ2Vt43Dp85v2A"
    file = tmp_path / "topics.json"
    file.write_text(
        json.dumps(
            {
                "with": {"version": 3, "id": own_id, "partitions": {"1": [2, 3], "0": [1, 2]}},
                "without": {"version": 1, "partitions": {"0": [3]}},
            }
        )
    )
    assert metalog("topics", "adopt", file, "--log", log).code == 0
    with_, without = described(metalog, log, "with", "without")
    assert with_["topic_id"] == own_id
    assert [p["replicas"] for p in with_["partitions"]] == [[1, 2], [2, 3]]
    assert len(without["topic_id"]) == 22
    taken = metalog("topics", "adopt", file, "--log", log, "--json").json["results"]
    assert [result["error"]["code"] for result in taken] == ["TOPIC_ALREADY_EXISTS"] * 2


@pytest.mark.parametrize("own_id", ["AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"])
def test_reserved_id_is_not_adopted(
    metalog: Metalog, log: Path, tmp_path: Path, own_id: str
) -> None:
    file = tmp_path / "topics.json"
    file.write_text(json.dumps({"old": {"id": own_id, "partitions": {"0": [1]}}}))
    answer = metalog("topics", "adopt", file, "--log", log)
    assert (answer.code, "is reserved" in answer.err) == (3, True)


def test_id_of_another_topic_is_not_adopted(metalog: Metalog, log: Path, tmp_path: Path) -> None:
    (orders,) = described(metalog, log, "orders")
    file = tmp_path / "topics.json"
    znode = {"id": orders["topic_id"], "partitions": {"0": [1]}}
    file.write_text(json.dumps({"a": znode}))
    answer = metalog("topics", "adopt", file, "--log", log)
    assert answer.err.startswith("error: TOPIC_ALREADY_EXISTS: ")
    file.write_text(
        json.dumps(
            {"a": {**znode, "id": "b8tRS7h4TJ2Vt43Dp85v2A"}}
            | {"b": {**znode, "id": "b8tRS7h4TJ2Vt43Dp85v2A"}}
        )
    )
    twice = metalog("topics", "adopt", file, "--log", log, "--json").json["results"]
    assert [result["error"] is None for result in twice] == [True, False]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"old\n",
        b"old 1:x\n",
        b"\xff",
        b'{"old": 5}',
        b'{"old": {"partitions": {}}}',
        b'{"old": {"partitions": {"x": [1]}}}',
        b'{"old": {"partitions": {"0": [1]}, "id": "short"}}',
        b'{"old": ',
    ],
)
def test_file_that_is_none_is_wrong_usage_and_named(
    metalog: Metalog, log: Path, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "topics"
    file.write_bytes(content)
    answer = metalog("topics", "adopt", file, "--log", log)
    assert answer.code == 2
    assert answer.err.startswith(f"error: USAGE: Invalid value for FILE: {file}: ")


def test_adopted_partitions_without_number_are_refused(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    file = tmp_path / "topics.json"
    file.write_text(json.dumps({"old": {"partitions": {"0": [1], "2": [1]}}}))
    answer = metalog("topics", "adopt", file, "--log", log)
    assert answer.err.startswith("error: INVALID_REPLICA_ASSIGNMENT: ")
