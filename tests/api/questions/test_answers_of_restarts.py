"""More questions of a bad day, asked of real logs.

Answers about brokers 1 to 3, the first partition and lives of a name are read from the decoded
forms by hand, or computed from them. How many partitions had no leader, and what compare and advise
say of the nodes, is pinned as it is today.

The first log is of one of three nodes that were restarted again and again. In it the brokers begin
their controlled shutdown at 26123 (1), 26142 (2) and 26180 (3); the ISR of partition 0 of the
topic that was created first has been [3] of [3, 1, 2] since 13706, so that 26216 takes its lead
away; 26234 gives it back to 3. The second is of a node on
which a topic was created at 1169, 2837 and 3516, and deleted at 1504 and 2874.
"""

from pathlib import Path

import pytest

from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported

of_restarts = each_data_set_where(lambda each: str(each) == "ogs59-3node-history/data_kafka-2")
of_removals = each_data_set_where(
    lambda each: str(each) == "indus-rig-removetopic-snapshots/kafka-data"
)


@pytest.fixture(scope="module")
def log(data_set: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return imported(data_set, tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module")
def topic(data_set: DataSet) -> str:
    """Return the name of the topic that was created first."""
    rows = (row for segment in data_set.segments for row in segment.oracle())
    name: str = next(row["data"]["name"] for row in rows if row["type"] == "TopicRecord")
    return name


@of_restarts
def test_why_the_topic_has_no_leader(
    metalog: Metalog, log: Path, topic: str, data_set: DataSet
) -> None:
    """Question 1."""
    answer = metalog("why", log, f"partition:{topic}/0#leader", "--at", 26217, "--json").json
    assert (answer["value"], answer["unclean"]) == (-1, False)
    assert [(link["offset"], link["type"]) for link in answer["chain"]] == [
        (26216, "PartitionChangeRecord"),
        (26180, "BrokerRegistrationChangeRecord"),
        (13706, "PartitionChangeRecord"),
    ]
    text = metalog("why", log, f"partition:{topic}/0#leader", "--at", 26217).out
    assert "no leader can be elected cleanly until one of these brokers is back: 3" in text
    assert "no election has lost records since; an unclean one or a lost disk could" in text
    assert "a log of Kafka does not say who asked for a change" in text


@of_restarts
def test_when_the_broker_flapped_and_for_how_long(
    metalog: Metalog, log: Path, topic: str, data_set: DataSet
) -> None:
    """Question 3; each record about the broker is checked separately."""
    began: tuple[int, int] | None = None
    expected = []
    for row in [row for segment in data_set.segments for row in segment.oracle()]:
        data, name = row["data"], row["type"]
        if not name.startswith(("RegisterBroker", "BrokerRegistration")) or data["brokerId"] != 2:
            continue
        # 1 (which equals True) fences, -1 unfences, 0 or no value leaves it as it was.
        fenced = {True: True, False: False, -1: False}.get(data.get("fenced", 0))
        if name == "BrokerRegistrationChangeRecord" and data.get("fenced", 0) == 0:
            continue
        if fenced and began is None:
            began = row["offset"], row["timestamp"]
        elif not fenced and began is not None:
            expected.append((began[0], row["offset"], row["timestamp"] - began[1]))
            began = None
    asked = metalog("outages", log, "--object", "broker:2", "--json").json
    found = [
        (each["from_offset"], each["to_offset"], each["duration_ms"])
        for each in asked["intervals"]
        if each["kind"] == "fenced"
    ]
    assert sorted(found) == expected
    assert (len(found), asked["totals"]["fenced"]["duration_ms"]) == (13, 3_251_872)
    with_it = metalog("outages", log, "--broker", 2, "--json").json["totals"]
    assert with_it["leaderless"]["intervals"] == 38


@of_restarts
def test_which_partitions_were_without_a_leader_and_for_how_long(
    metalog: Metalog, log: Path, topic: str, data_set: DataSet
) -> None:
    """Questions 4 and 20."""
    asked = metalog("outages", log, "--object", f"partition:{topic}/0", "--json").json
    found = [
        (each["kind"], each["from_offset"], each["to_offset"], each["duration_ms"])
        for each in asked["intervals"]
    ]
    assert found[1:] == [
        ("leaderless", 26216, 26234, 1_758_548_705_217 - 1_758_548_495_894),
        ("leaderless", 26352, 26389, 1_758_548_722_531 - 1_758_548_707_723),
    ]
    assert found[0][:3] == ("under_replicated", 13706, None)
    held = f'topics["{topic}"].partitions[0].leader == -1'
    flips = metalog("bisect", log, held, "--json").json["flips"]
    assert [each["value"] for each in flips] == [True, False, True, False]


@of_restarts
def test_what_differs_between_then_and_the_end(
    metalog: Metalog, log: Path, topic: str, data_set: DataSet
) -> None:
    """Questions 6 and 19."""
    changes = metalog("diff", f"{log}@13705", f"{log}@end", "--json").json["changes"]
    of_partition = [each for each in changes if each["object"] == f"partition:{topic}/0"]
    assert [(each["field"], each["before"], each["after"]) for each in of_partition] == [
        ("isr", [3, 1, 2], [3])
    ]
    _, partitions, *_ = metalog("image", log, "--at", 26217).out.splitlines()
    assert partitions.split(": ")[1] == "56 without a leader, 56 under-replicated"


@of_restarts
def test_which_nodes_belong_together_and_who_is_behind(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    """Questions 10, 11 and 14."""
    nodes = data_set.directory.parent
    names = [nodes / f"data_kafka-{number}" for number in (1, 2, 3)]
    answer = metalog("compare", *names, "--json").json
    assert [(each["node_id"], each["end"]) for each in answer["nodes"]] == [
        (1, 20475),
        (2, 31934),
        (3, 20475),
    ]
    assert sorted(answer["behind"].values()) == [11459, 11459]
    lost = metalog("advise", names[2], "--json").json
    assert (lost["verdict"], lost["certain"], lost["proven_end"]) == ("seed", False, 20475)


@of_removals
def test_every_life_of_a_name(metalog: Metalog, log: Path, topic: str, data_set: DataSet) -> None:
    """Questions 2 and 16."""
    lives = metalog("topics", "lives", topic, "--log", log, "--json").json["lives"]
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    made = [row for row in rows if row["type"] == "TopicRecord"]
    gone = {r["data"]["topicId"]: r["offset"] for r in rows if r["type"] == "RemoveTopicRecord"}
    named = [row for row in made if row["data"]["name"] == topic]
    assert len(named) == 3
    assert [(each["topic_id"], each["began"]["offset"]) for each in lives] == [
        (row["data"]["topicId"], row["offset"]) for row in named
    ]
    ended = [each["ended"] and each["ended"]["offset"] for each in lives]
    assert ended == [gone.get(row["data"]["topicId"]) for row in named] == [1504, 2874, None]
    script = ("--as", "commands", "--only", f"topic:{topic}")
    dest = log.with_name("again")
    assert metalog("export", "kraft", log, dest, "--at", 1503, *script).code == 0
    assert f"--create --topic {topic} --replica-assignment 1" in dest.read_text()
