"""Questions of a bad day, asked of a real log; the answers were read by hand from its decoded form.

In this log of three nodes the broker 1 registers anew at offset 65, which fences it. The records 66
to 82 take the lead of 17 partitions whose only replica is 2, 83 takes 2 out of the ISR of _schemas,
84 fences it; 85 to 101 take the lead of 17 partitions whose only replica is 3. No record adds or
removes replicas.
"""

import json
from pathlib import Path

import pytest

from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported

of_three_nodes = each_data_set_where(lambda each: str(each) == "azercell3-3node-legacy/data_kafka1")


@pytest.fixture(scope="module")
def log(data_set: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return imported(data_set, tmp_path_factory.mktemp("real"))


@of_three_nodes
def test_was_the_cluster_healthy_then(metalog: Metalog, log: Path, data_set: DataSet) -> None:
    _, topics, brokers, *_ = metalog("image", log, "--at", 101).out.splitlines()
    assert topics.split(": ")[1] == "34 without a leader, 1 under-replicated"
    assert brokers.split() == ["3", "brokers:", "2", "fenced"]
    _, topics, brokers, *_ = metalog("image", log, "--at", 64).out.splitlines()
    assert topics.strip() == "2 topics, 51 partitions: 0 without a leader, 0 under-replicated"
    assert brokers.strip() == "3 brokers: 0 fenced"


@of_three_nodes
def test_what_was_the_config_before_and_who_set_it(
    metalog: Metalog, log: Path, data_set: DataSet
) -> None:
    name = "config:topic/__consumer_offsets"
    lines = metalog("history", log, name, "--json").out.splitlines()
    assert [json.loads(line)["offset"] for line in lines if '"offset"' in line] == [10, 11, 12]
    blamed = metalog("blame", log, name, "--json").json["fields"]
    assert {field: (of["value"], of["offset"]) for field, of in blamed.items()} == {
        "compression.type": ("producer", 10),
        "cleanup.policy": ("compact", 11),
        "segment.bytes": ("104857600", 12),
    }
    before = metalog("blame", log, name, "--at", 9)
    assert before.code == 3
    assert "does not exist yet at offset 9: it was created at offset 10" in before.err


@of_three_nodes
def test_nothing_is_being_reassigned(metalog: Metalog, log: Path, data_set: DataSet) -> None:
    answer = metalog("reassignments", "list", "--log", log, "--at", 101, "--json").json
    assert answer["reassignments"] == []


@of_three_nodes
def test_how_often_and_how_long_was_each_node_the_controller(
    metalog: Metalog, log: Path, data_set: DataSet
) -> None:
    """The decoded log has three leader changes: a controller was active at least up to its last
    record, at most up to the next controller's first one.
    """
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    began = {row["offset"]: row for row in rows if row["type"] == "LeaderChangeMessage"}
    assert list(began) == [0, 64, 146]
    active: dict[int, list[tuple[int, int]]] = {}
    for row, (last, then) in zip(began.values(), ((63, 64), (145, 146), (230, 230)), strict=True):
        least, most = (rows[at]["timestamp"] - row["timestamp"] for at in (last, then))
        active.setdefault(row["data"]["leaderId"], []).append((least, most))
    stat = metalog("timeline", log, "--type", "controllers", "--stat", "--json").json
    assert stat["active_controllers"] == [
        {
            "node": node,
            "terms": len(of),
            "active_ms": sum(least for least, _ in of),
            "active_ms_max": sum(most for _, most in of),
        }
        for node, of in sorted(active.items())
    ]
    text = metalog("timeline", log, "--type", "controllers").out
    assert text.endswith(
        "\n"
        "controller  times active  in all\n"
        "2           1             at least 18.655 s\n"
        "3           2             at least 13 min 27 s\n"
    )
