"""topics alter: more partitions, fewer partitions and their plan, moves, replicas, configs."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog

KEYED = (
    "If partitions are changed for a topic that has a key, the partition logic or ordering of the "
    "messages will be affected"
)
DISABLED = (
    "This feature is only enabled with Metadata version above 10 and "
    "delete.topic.partition.enable turned on"
)
CHANGING = "The topic is currently under changes"


@pytest.fixture
def shrinkable(metalog: Metalog, log: Path) -> Path:
    metalog("configs", "set", "cluster", "delete.topic.partition.enable=true", "--log", log)
    return log


def partitions(metalog: Metalog, log: Path, *more: object) -> list[Any]:
    found = metalog("partitions", "list", "orders", *more, "--log", log, "--json").json
    listed = found["partitions"]
    assert isinstance(listed, list)
    return listed


def test_topic_grows_and_warns(metalog: Metalog, log: Path) -> None:
    answer = metalog("topics", "alter", "orders", "--partitions", 5, "--log", log, "--json").json
    (result,) = answer["results"]
    assert (result["instruction"], result["partitions_before"]) == ("growth", 3)
    assert result["warnings"] == [KEYED]
    assert result["leaving"] == [] and result["due"] is None
    assert len(partitions(metalog, log)) == 5


def test_new_partitions_can_be_assigned(metalog: Metalog, log: Path) -> None:
    metalog(
        *("topics", "alter", "orders", "--partitions", 5, "--assignment", "2:1,3:2"),
        *("--log", log),
    )
    assert [p["replicas"] for p in partitions(metalog, log)[3:]] == [[2, 1], [3, 2]]


def test_plan_tells_which_partitions_go_when_and_who_replicates_them(
    metalog: Metalog, shrinkable: Path
) -> None:
    before = time.time() * 1_000
    (result,) = metalog(
        *("topics", "alter", "orders", "--partitions", 1, "--delete-partitions-delay", 60_000),
        *("--validate-only", "--log", shrinkable, "--json"),
    ).json["results"]
    assert result["instruction"] == "shrink"
    assert result["leaving"] == [
        {"partition": 1, "leader": 2, "replicas": [2, 3]},
        {"partition": 2, "leader": 3, "replicas": [3, 1]},
    ]
    assert before + 60_000 <= result["due"] <= time.time() * 1_000 + 60_000
    assert (result["is_compacted"], result["warnings"]) == (False, [KEYED])
    assert {p["mode"] for p in partitions(metalog, shrinkable)} == {"READ_WRITE"}


def test_plan_warns_of_compaction_and_of_changes_under_way(
    metalog: Metalog, shrinkable: Path
) -> None:
    arguments = ["topics", "alter", "orders", "--partitions", 1, "--validate-only"]
    metalog("configs", "set", "topic/orders", "cleanup.policy=compact", "--log", shrinkable)
    (result,) = metalog(*arguments, "--log", shrinkable, "--json").json["results"]
    assert result["is_compacted"] is True
    assert any("compacted" in warning for warning in result["warnings"])
    metalog("reassignments", "start", "orders/0=3,2", "--log", shrinkable)
    answer = metalog(*arguments, "--log", shrinkable, "--json")
    (result,) = answer.json["results"]
    assert CHANGING in result["warnings"]
    assert (answer.code, result["error"]["code"]) == (3, "REASSIGNMENT_IN_PROGRESS")


def test_fewer_partitions_are_refused_unless_enabled_and_the_warning_says_how(
    metalog: Metalog, log: Path
) -> None:
    answer = metalog("topics", "alter", "orders", "--partitions", 1, "--log", log, "--json")
    (result,) = answer.json["results"]
    assert answer.code == 3
    assert result["error"]["code"] == "INVALID_PARTITIONS"
    assert result["error"]["message"].startswith("DecreasePartitionsNotAllowed: ")
    assert result["warnings"] == [KEYED, DISABLED]


def test_leaving_partitions_can_be_read_until_they_are_due_and_called_back(
    metalog: Metalog, shrinkable: Path
) -> None:
    delay = ["--delete-partitions-delay", 3_600_000]
    metalog("topics", "alter", "orders", "--partitions", 1, *delay, "--log", shrinkable)
    modes = [p["mode"] for p in partitions(metalog, shrinkable)]
    assert modes == ["READ_WRITE", "READ_ONLY", "READ_ONLY"]
    arguments = ["partitions", "list", "--removing", "--log", shrinkable, "--json"]
    removals = metalog(*arguments).json["removals"]
    assert [(r["topic"], r["partition"], r["waited_for"]) for r in removals] == [
        ("orders", 1, [2, 3]),
        ("orders", 2, [3, 1]),
    ]
    refused = metalog("topics", "alter", "orders", "--partitions", 9, "--log", shrinkable)
    assert refused.err.startswith("error: REASSIGNMENT_IN_PROGRESS: ")
    back = metalog("topics", "alter", "orders", "--cancel-delete-partitions", "--log", shrinkable)
    assert back.out.startswith("topic orders: partitions [1,2] stay\n")
    assert {p["mode"] for p in partitions(metalog, shrinkable)} == {"READ_WRITE"}
    late = metalog("topics", "alter", "orders", "--cancel-delete-partitions", "--log", shrinkable)
    assert (late.code, late.err.startswith("error: INVALID_REQUEST: ")) == (3, True)


def test_partition_map_before_a_shrink_stays_readable(metalog: Metalog, shrinkable: Path) -> None:
    before = metalog("info", shrinkable, "--json").json["log_end"] - 1
    metalog("topics", "alter", "orders", "--partitions", 1, "--log", shrinkable)
    assert {p["mode"] for p in partitions(metalog, shrinkable)} == {"READ_WRITE", "NONE"}
    at = partitions(metalog, shrinkable, "--at", before)
    assert [(p["mode"], p["leader"]) for p in at] == [
        ("READ_WRITE", leader) for leader in (1, 2, 3)
    ]


def test_assignment_alone_moves_all_partitions(metalog: Metalog, log: Path) -> None:
    (result,) = metalog(
        *("topics", "alter", "orders", "--assignment", "2:1,3:2,1:3", "--log", log, "--json"),
    ).json["results"]
    assert result["instruction"] == "reassignment"
    assert [p["replicas"] for p in partitions(metalog, log)] == [[2, 1], [3, 2], [1, 3]]


def test_number_of_replicas_changes(metalog: Metalog, log: Path) -> None:
    (result,) = metalog(
        "topics", "alter", "orders", "--replication-factor", 3, "--log", log, "--json"
    ).json["results"]
    assert result["instruction"] == "replication factor"
    assert all(len(p["adding_replicas"]) == 1 for p in partitions(metalog, log))


def test_configs_are_set_and_removed_together(metalog: Metalog, log: Path) -> None:
    metalog("topics", "alter", "orders", "--config", "retention.ms=5", "--log", log)
    answer = metalog(
        *("topics", "alter", "orders", "--config", "segment.ms=7"),
        *("--delete-config", "retention.ms", "--log", log),
    )
    assert answer.code == 0
    configs = metalog("configs", "describe", "topic/orders", "--log", log, "--json").json["configs"]
    assert {c["name"]: c["value"] for c in configs} == {"segment.ms": "7"}


def test_topics_are_altered_each_on_its_own(metalog: Metalog, log: Path) -> None:
    answer = metalog(
        "topics", "alter", "orders", "absent", "--partitions", 4, "--log", log, "--json"
    )
    assert answer.code == 3
    assert [r["error"] and r["error"]["code"] for r in answer.json["results"]] == [
        None,
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "INVALID_REQUEST"),
        (["--partitions", "4", "--config", "retention.ms=1"], "INVALID_REQUEST"),
        (["--partitions", "3"], "INVALID_PARTITIONS"),
        (["--partitions", "4", "--assignment", "1:2,2:3"], "INVALID_REPLICA_ASSIGNMENT"),
        (["--partitions", "9" * 30], "POLICY_VIOLATION"),
        (["--replication-factor", "9"], "INVALID_REPLICATION_FACTOR"),
        (["--partitions", "4", "--delete-partitions-delay", "-1"], "INVALID_REQUEST"),
        (["--partitions", "4", "--placement", "random"], "INVALID_REQUEST"),
    ],
)
def test_refused_alteration_prints_its_code_and_exits_3(
    metalog: Metalog, log: Path, arguments: list[str], code: str
) -> None:
    answer = metalog("topics", "alter", "orders", *arguments, "--log", log)
    assert answer.code == 3
    assert answer.err.startswith(f"error: {code}: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--cancel-delete-partitions", "--validate-only"],
        ["--partitions", "2", "--delete-partitions-delay", "9" * 15],
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(
    metalog: Metalog, log: Path, arguments: list[str]
) -> None:
    assert metalog("topics", "alter", "orders", *arguments, "--log", log).code == 2


def test_warnings_of_a_refused_change_are_on_the_terminal_as_in_json(
    metalog: Metalog, log: Path
) -> None:
    shrink = ("topics", "alter", "orders", "--partitions", 2, "--log", log)
    enabled = ("configs", "set", "cluster", "delete.topic.partition.enable=true", "--log", log)
    delayed = (*shrink[:3], *("--partitions", 2, "--delete-partitions-delay", 10**9), *shrink[-2:])
    for before, warning in (((), DISABLED), ((enabled, delayed), CHANGING)):
        for command in before:
            assert metalog(*command).code == 0
        (result,) = metalog(*shrink, "--json").json["results"]
        answer = metalog(*shrink)
        assert (answer.code, result["error"] is not None) == (3, True)
        assert warning in result["warnings"]
        lines = [f"  WARNING: {each}" for each in result["warnings"]]
        assert answer.out.splitlines() == ["not altered: orders", *lines]
        assert answer.err.startswith(f"error: {result['error']['code']}: ")
