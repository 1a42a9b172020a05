"""Questions that none of the available real logs can answer: built records are appended to one.

The real log is of node 1 of three; it ends at 2981 (epoch 1). In it the brokers 1, 3 and 2 register
at 2, 3 and 6 with metadata.version 1 to 7 and are unfenced at 5, 7 and 9; the partitions 0 and 5 of
__consumer_offsets have the single replica 2. The built records start at 2982.
"""

from pathlib import Path
from typing import Any

import pytest

from records.base import Record, Uuid
from records.brokers import BrokerFeature, BrokerRegistrationChangeRecord, RegisterBrokerRecord
from records.control import NoOpRecord
from records.partitions import PartitionChangeRecord
from records.text import parse_uuid
from tests.api.advise.clusters import leader_change
from tests.api.conftest import Metalog
from tests.api.questions.grown import grown
from tests.api.terminal import on_terminal
from tests.real_logs import DataSet, data_sets, each_data_set_where

VOTERS = (1, 2, 3)

of_node_1 = each_data_set_where(lambda each: str(each) == "kafka-raft-3node-33/data_kafka1")


def moved(data_set: DataSet, partition_id: int, to: int) -> PartitionChangeRecord:
    """Begin to move a partition of __consumer_offsets from broker 2."""
    rows = (row["data"] for segment in data_set.segments for row in segment.oracle())
    topic_id = next(data["topicId"] for data in rows if data.get("name") == "__consumer_offsets")
    return PartitionChangeRecord(
        partition_id=partition_id,
        topic_id=parse_uuid(topic_id),
        replicas=(to, 2),
        adding_replicas=(to,),
        removing_replicas=(2,),
    )


def registered_anew(broker_id: int, broker_epoch: int, highest: int) -> RegisterBrokerRecord:
    """Return the registration of a broker that restarts with a newer release."""
    levels = BrokerFeature(
        name="metadata.version", min_supported_version=7, max_supported_version=highest
    )
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=Uuid(bytes([broker_id]) * 16),
        broker_epoch=broker_epoch,
        end_points=(),
        features=(levels,),
        rack=None,
    )


def imported(metalog: Metalog, node: Path) -> Path:
    log = node.parent / "log"
    metalog("import", "kraft", node, log)
    return log


def lines(text: str) -> str:
    return " ".join(text.split())


@of_node_1
def test_which_replica_never_joined_and_since_when(
    metalog: Metalog, tmp_path: Path, data_set: DataSet
) -> None:
    """Question 13: one new replica's broker is fenced, the other's is up and never joined."""
    fenced = BrokerRegistrationChangeRecord(broker_id=3, broker_epoch=3, fenced=1)
    batches: list[tuple[int, list[Record]]] = [
        (10, [moved(data_set, 0, 3)]),
        (20, [fenced]),
        (30, [moved(data_set, 5, 1)]),
        (3630, [NoOpRecord()]),
    ]
    log = imported(metalog, grown(data_set, tmp_path, batches))
    answer = metalog("reassignments", "list", "--log", log, "--json").json
    found = [
        (
            each["partition"],
            each["since_offset"],
            each["age_ms"],
            [(m["broker"], m["broker_state"], m["since_offset"]) for m in each["missing"]],
        )
        for each in answer["reassignments"]
    ]
    assert found == [
        (0, 2982, 3_620_000, [(3, "fenced", 2983)]),
        (5, 2984, 3_600_000, [(1, "active", 5)]),
    ]
    before = metalog("reassignments", "list", "--log", log, "--at", 2982, "--json").json
    (each,) = before["reassignments"]
    assert (each["age_ms"], each["missing"][0]["broker_state"]) == (0, "active")
    text = on_terminal("reassignments", "list", "--log", log)
    assert "__consumer_offsets/0 moves since offset 2982" in text
    assert "3 has not joined the ISR: fenced since offset 2983" in text
    assert max(map(len, text.splitlines())) <= 80


@of_node_1
def test_which_registration_blocks_the_upgrade(
    metalog: Metalog, tmp_path: Path, data_set: DataSet
) -> None:
    """Question 12: the rolling upgrade left broker 2 behind."""
    batches = [(10, [registered_anew(1, 2982, 25)]), (20, [registered_anew(3, 2983, 25)])]
    log = imported(metalog, grown(data_set, tmp_path, batches))
    answer = metalog("upgrade-check", log, "--to", "4.0", "--json")
    (finding,) = answer.json["findings"]
    assert (answer.code, finding["object"], finding["offset"]) == (1, "broker:2", 6)
    text = lines(on_terminal("upgrade-check", log, "--to", "4.0"))
    assert "6 broker 2 still supports metadata.version 1 to 7 (3.3-IV3)" in text
    assert "kafka-cluster.sh unregister --bootstrap-server HOST:PORT --id 2" in text
    # Before the upgrade, or for a version that all can run, nothing is in the way.
    assert metalog("upgrade-check", log, "--to", "4.0", "--at", 2981).code == 0
    assert metalog("upgrade-check", log, "--to", "3.3").code == 0


@pytest.fixture
def clashing(data_set: DataSet, tmp_path: Path) -> list[Path]:
    """Logs of three nodes: node 1 became the leader of epoch 2 and fenced broker 2 with an old
    broker epoch; the others have only the real log.
    """
    stale = BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=5, fenced=1)
    batches: list[tuple[int, list[Record]]] = [(10, [leader_change(1, VOTERS)]), (11, [stale])]
    others = [
        each for each in data_sets() if each.name == data_set.name and each.node != data_set.node
    ]
    return [
        grown(data_set, tmp_path, batches, leader_epoch=2),
        *(each.materialise(tmp_path) for each in others),
    ]


CLASH = (
    "offset 2983: BrokerRegistrationChangeRecord: broker 2 has epoch 6, not 5; so since offset 6 "
    "(RegisterBrokerRecord)"
)


@of_node_1
def test_which_records_clash_and_on_which_node(
    metalog: Metalog, clashing: list[Path], tmp_path: Path, data_set: DataSet
) -> None:
    """Question 9: import and check name the records, compare names the node."""
    node, *_ = clashing
    arrived = metalog("import", "kraft", node, tmp_path / "log")
    checked = metalog("check", tmp_path / "log")
    assert (arrived.code, checked.code) == (1, 1)
    assert CLASH in arrived.err
    assert CLASH in checked.err
    text = metalog("compare", *clashing).out
    assert f"note: what {node} holds cannot be read: {CLASH}" in text
    assert f"they part at offset 2982: epoch 2 in {node}, epoch 1 in " in text
    assert "changes nothing" not in text


@of_node_1
def test_how_to_start_again_although_records_clash(
    metalog: Metalog, clashing: list[Path], tmp_path: Path, data_set: DataSet
) -> None:
    """Question 9: advise names the record at which Kafka stops, and steps to start from before
    it.
    """
    node, *_ = clashing
    answer = metalog("advise", node, "--json")
    advice: dict[str, Any] = answer.json
    assert (answer.code, advice["verdict"], advice["contradiction"]) == (1, "seed", CLASH)
    assert "--at 2982 --as checkpoint" in advice["steps"][0]
    assert "Kafka stops when it loads this log" in metalog("advise", node).out
    *before, last = advice["at_risk"]
    assert [each["offset"] for each in before][:6] == [0, 2, 3, 5, 6, 7]
    assert (last["offset"], last["text"]) == (
        2983,
        f"record 2983, which cannot be replayed: {CLASH}",
    )
    log, back, again = (tmp_path / name for name in ("log", "back", "again"))
    metalog("import", "kraft", node, log)
    assert metalog("export", "kraft", log, back, "--at", 2982, "--as", "checkpoint").code == 0
    assert metalog("import", "kraft", back, again).code == 0
    digests = [metalog("digest", of, "--at", 2982, "--json").json["digest"] for of in (log, again)]
    assert digests[0] == digests[1]


@of_node_1
def test_a_majority_that_clashes_is_told(
    metalog: Metalog, tmp_path: Path, data_set: DataSet
) -> None:
    """Question 9: no record is lost, and yet no controller of the majority can load the log."""
    stale = BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=5, fenced=1)
    nodes = []
    for each in data_sets():
        if each.name == data_set.name and each.node != "data_kafka3":
            # A follower has the leader's records: both go on from the end of the first.
            source = grown(data_set, tmp_path / each.node, [(10, [stale])])
            properties = source / "meta.properties"
            text = properties.read_text()
            properties.write_text(text.replace("node.id=1", f"node.id={each.node[-1]}"))
            nodes.append(source)
    answer = metalog("advise", *nodes, "--json")
    assert (answer.code, answer.json["verdict"]) == (1, "start_them")
    assert answer.json["contradiction"].startswith("offset 2982: BrokerRegistrationChangeRecord")
    assert metalog("advise", nodes[0], "--json").json["certain"] is False
