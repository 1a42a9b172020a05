"""partitions list, describe, states; reassignments; elect-leaders; features."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog


def test_partitions_of_one_topic_or_of_all(metalog: Metalog, log: Path) -> None:
    arguments = ["partitions", "list", "--log", log, "--json"]
    assert [(p["topic"], p["partition"]) for p in metalog(*arguments).json["partitions"]] == [
        ("clicks", 0),
        ("orders", 0),
        ("orders", 1),
        ("orders", 2),
    ]
    assert len(metalog("partitions", "list", "orders", "--log", log).out.splitlines()) == 4


def test_partitions_with_replicas_out_of_sync(metalog: Metalog, log: Path) -> None:
    metalog("brokers", "fence", 3, "--log", log)
    arguments = ["partitions", "list", "--under-replicated", "--log", log, "--json"]
    found = metalog(*arguments).json["partitions"]
    assert [(p["partition"], p["isr"], p["offline_replicas"]) for p in found] == [
        (1, [2], [3]),
        (2, [1], [3]),
    ]


def test_partition_is_described(metalog: Metalog, log: Path) -> None:
    partition = metalog("partitions", "describe", "orders/1", "--log", log, "--json").json[
        "partition"
    ]
    assert (partition["topic"], partition["replicas"], partition["lags"]) == (
        "orders",
        [2, 3],
        [0, None],
    )
    text = metalog("partitions", "describe", f"@{partition['topic_id']}/1", "--log", log).out
    assert "lags              [0,?]" in text


def states(metalog: Metalog, log: Path, *arguments: object) -> list[Any]:
    return metalog("partitions", "states", *arguments, "--log", log, "--json").lines


def test_states_are_those_that_a_partition_walked_through(metalog: Metalog, log: Path) -> None:
    end = metalog("info", log, "--json").json["log_end"]
    metalog("brokers", "fence", 1, 2, "--log", log)
    walked = [(s["before"], s["after"]) for s in states(metalog, log, "clicks/0")]
    assert walked == [
        ("NonExistentPartition", "NewPartition"),
        ("NewPartition", "OnlinePartition"),
        ("OnlinePartition", "OnlinePartition"),
        ("OnlinePartition", "OfflinePartition"),
    ]
    since = states(metalog, log, "clicks/0", "--since", end)
    assert [s["after"] for s in since] == ["OnlinePartition", "OfflinePartition"]
    until = states(metalog, log, "clicks/0", "--at", end - 1)
    assert [s["after"] for s in until] == ["NewPartition", "OnlinePartition"]
    text = metalog("partitions", "states", "clicks", "--log", log).out
    assert "clicks/0: OnlinePartition -> OfflinePartition\n" in text


def test_states_of_replicas_are_shown_when_asked_for(metalog: Metalog, log: Path) -> None:
    found = states(metalog, log, "clicks", "--replicas")
    assert {step["broker"] for step in found} == {None, 1, 2}
    assert ("NewReplica", "OnlineReplica") in {(s["before"], s["after"]) for s in found}


@pytest.mark.parametrize(
    ("arguments", "code", "start"),
    [
        (["partitions", "list", "absent"], 3, "error: UNKNOWN_TOPIC_OR_PARTITION: "),
        (["partitions", "describe", "orders/9"], 3, "error: UNKNOWN_TOPIC_OR_PARTITION: "),
        (["partitions", "describe", "orders"], 2, "error: USAGE: "),
        (["partitions", "describe", "orders/²"], 2, "error: USAGE: "),
        (["partitions", "states", "--since", "99999"], 3, "error: OFFSET_OUT_OF_RANGE: "),
        (["reassignments", "start", "orders/0=9"], 3, "error: INVALID_REPLICA_ASSIGNMENT: "),
        (["reassignments", "start", "orders/9=1"], 3, "error: UNKNOWN_TOPIC_OR_PARTITION: "),
        (["reassignments", "start", "orders/0"], 2, "error: USAGE: "),
        (["reassignments", "start", "orders/0=1,x"], 2, "error: USAGE: "),
        (["reassignments", "cancel", "orders/0"], 3, "error: NO_REASSIGNMENT_IN_PROGRESS: "),
        (["elect-leaders", "orders/0"], 3, "error: ELECTION_NOT_NEEDED: "),
        (["elect-leaders", "orders/9"], 3, "error: UNKNOWN_TOPIC_OR_PARTITION: "),
        (["features", "upgrade", "no.such.feature=1"], 3, "error: INVALID_UPDATE_VERSION: "),
        (["features", "downgrade", "metadata.version=3"], 3, "error: INVALID_UPDATE_VERSION: "),
        (["features", "upgrade", "metadata.version"], 2, "error: USAGE: "),
    ],
)
def test_refused_request_prints_its_code(
    metalog: Metalog, log: Path, arguments: list[str], code: int, start: str
) -> None:
    answer = metalog(*arguments, "--log", log)
    assert answer.code == code
    assert answer.err.startswith(start)
    assert answer.out == ""


def test_move_begins_is_listed_and_is_called_off(metalog: Metalog, log: Path) -> None:
    begun = metalog("reassignments", "start", "orders/0=3,1", "--log", log)
    assert begun.out.startswith("orders/0 moves to [3,1]\n")
    (moving,) = metalog("reassignments", "list", "--log", log, "--json").json["reassignments"]
    assert (moving["topic"], moving["partition"]) == ("orders", 0)
    assert (moving["replicas"], moving["waited_for"]) == ([3, 1, 2], [3])
    assert (moving["adding_replicas"], moving["removing_replicas"]) == ([3], [2])
    assert metalog("reassignments", "cancel", "orders/0", "--log", log).code == 0
    assert metalog("reassignments", "list", "--log", log, "--json").json["reassignments"] == []
    assert metalog("reassignments", "list", "--log", log).out == "no partition is being moved\n"


def test_move_keeps_the_number_of_replicas_on_request(metalog: Metalog, log: Path) -> None:
    arguments = ["orders/0=1,2,3", "--keep-replication-factor", "--log", log]
    answer = metalog("reassignments", "start", *arguments)
    assert (answer.code, answer.err.split(":")[1]) == (3, " INVALID_REPLICATION_FACTOR")


def test_preferred_replica_that_is_not_in_sync_is_not_elected(metalog: Metalog, log: Path) -> None:
    metalog("topics", "create", "a", "--assignment", "3:1", "--log", log)
    metalog("brokers", "fence", 3, "--log", log)
    metalog("brokers", "unfence", 3, "--log", log)
    refused = metalog("elect-leaders", "a/0", "--log", log)
    assert refused.err.startswith("error: PREFERRED_LEADER_NOT_AVAILABLE: ")


def test_unclean_election_elects_a_live_replica(metalog: Metalog, log: Path) -> None:
    metalog("brokers", "fence", 1, "--log", log)
    metalog("brokers", "fence", 2, "--log", log)
    metalog("brokers", "unfence", 1, "--log", log)
    answer = metalog("elect-leaders", "clicks/0", "--unclean", "--log", log)
    assert answer.out.startswith("elected a leader for clicks/0\n")
    partition = metalog("partitions", "describe", "clicks/0", "--log", log, "--json").json
    assert partition["partition"]["leader"] == 1


def test_no_election_is_needed_where_all_is_well(metalog: Metalog, log: Path) -> None:
    assert metalog("elect-leaders", "--log", log).out == "no partition needs an election\n"
    answer = metalog("elect-leaders", "--log", log, "--json").json
    assert (answer["results"], answer["committed_at"]) == ([], None)


def test_features_move_up_and_down(metalog: Metalog, log: Path) -> None:
    name = "eligible.leader.replicas.version"

    def level() -> Any:
        found = metalog("features", "describe", "--log", log, "--json").json["features"]
        return {f["feature"]: f["level"] for f in found}[name]

    answer = metalog("features", "upgrade", f"{name}=1", "--log", log)
    assert answer.out.startswith(f"{name} is at level 1\n")
    assert level() == 1
    assert metalog("features", "downgrade", f"{name}=0", "--log", log).code == 0
    assert level() == 0
    assert "supported" in metalog("features", "describe", "--log", log).out


def test_states_of_what_never_was_are_refused(metalog: Metalog, log: Path) -> None:
    for name in ("absent", "orders/9", "absent/0"):
        answer = metalog("partitions", "states", name, "--log", log)
        assert (answer.code, answer.out) == (3, "")
        assert answer.err.startswith("error: UNKNOWN_TOPIC_OR_PARTITION: ")
    still = metalog("partitions", "states", "orders", "--since", "end", "--log", log)
    assert (still.code, still.out, still.err) == (0, "", "")


def test_reassignment_that_hangs_says_since_when_and_which_broker_is_down(
    metalog: Metalog, log: Path
) -> None:
    metalog("brokers", "fence", 3, "--log", log)
    fenced = metalog("info", log, "--json").json["log_end"] - 1
    begun = metalog("reassignments", "start", "orders/0=3,1", "--log", log)
    start = int(begun.out.split()[-1])
    metalog("topics", "create", "later", "--assignment", "1", "--log", log)
    answer = metalog("reassignments", "list", "--log", log, "--json").json
    (moving,) = answer["reassignments"]
    assert moving["since_offset"] == start
    assert moving["age_ms"] == answer["as_of_timestamp"] - moving["since"]
    (missing,) = moving["missing"]
    assert missing["since_offset"] == fenced
    assert (missing["broker"], missing["is_added"], missing["broker_state"]) == (3, True, "fenced")
    text = metalog("reassignments", "list", "--log", log).out
    assert f"orders/0 moves since offset {start}, " in text
    assert f"\n  3 has not joined the ISR: fenced since offset {fenced}, " in text
    at = metalog("reassignments", "list", "--log", log, "--at", start, "--json").json
    assert at["reassignments"][0]["age_ms"] == 0
