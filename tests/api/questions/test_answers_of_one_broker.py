"""Questions of a bad day, asked of two real logs of one broker each, also on a terminal.

The answers were read by hand from the decoded forms. In the first log broker 1, which is the
controller too, is stopped and started again and again, always in the same steps. The first time
its controlled shutdown begins at 6894, the records 6895 to 6945 take the lead of 51 partitions,
6946 fences it, 6950 registers it again, and 6951 unfences it: 6952 to 7002 give the leads back.
Topics were created at 191, 214 and 1829; 327 deletes the first of them. The last shutdown begins at
9747 and ends with the fencing at 9799; the log ends at 9800.

The second log has 63 topics with 375 configs, of which 42 are one that Kafka 4.0 removed.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog
from tests.api.terminal import on_terminal
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported

of_one_broker = each_data_set_where(lambda each: str(each) == "log4j2-migration-removetopic/data")
of_many_configs = each_data_set_where(lambda each: str(each) == "flink-on-prem-63-topics/data")

SAYS_WHO = "the log does not say who asked for a change"


@pytest.fixture(scope="module")
def log(data_set: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return imported(data_set, tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module")
def records(data_set: DataSet) -> list[dict[str, Any]]:
    return [row for segment in data_set.segments for row in segment.oracle()]


def topics(records: list[dict[str, Any]]) -> dict[int, str]:
    """Return the names of the topics, by the offset of the record that created each."""
    return {row["offset"]: row["data"]["name"] for row in records if row["type"] == "TopicRecord"}


@of_one_broker
def test_why_the_topic_has_no_leader(
    metalog: Metalog, log: Path, records: list[dict[str, Any]], data_set: DataSet
) -> None:
    """Question 1."""
    name = topics(records)[214]
    answer = metalog("why", log, f"partition:{name}/0#leader", "--at", 6946, "--json").json
    assert (answer["value"], answer["unclean"]) == (-1, False)
    assert [link["offset"] for link in answer["chain"]] == [6946, 6945, 6894]
    text = on_terminal("why", log, f"partition:{name}/0#leader", "--at", 6946)
    assert "no leader can be elected cleanly until one of these brokers is back: 1" in text
    assert "no election has lost records since; an unclean one or a lost disk could" in text
    assert text.count("does not say who asked for a change") == 1
    assert max(map(len, text.splitlines())) <= 80


@of_one_broker
def test_who_deleted_it_and_when(
    metalog: Metalog, log: Path, records: list[dict[str, Any]], data_set: DataSet
) -> None:
    """Question 2: the principal is not in the log, and the answer says so once."""
    made = {row["offset"]: row["data"] for row in records if row["type"] == "TopicRecord"}[191]
    (life,) = metalog("topics", "lives", made["name"], "--log", log, "--json").json["lives"]
    assert life["topic_id"] == made["topicId"]
    assert [life[end]["offset"] for end in ("began", "ended")] == [191, 327]
    history = metalog("history", log, f"topic:{made['name']}", "--json").lines
    assert [event["offset"] for event in history] == [191, 192, 327]
    for words in (
        ("topics", "lives", made["name"], "--log", log),
        ("history", log, f"topic:{made['name']}"),
        ("blame", log, f"config:topic/{topics(records)[1829]}"),
        ("timeline", log, "--type", "topics"),
    ):
        text = metalog(*words).out
        assert text.count(SAYS_WHO) == 1, words
        assert "by -" not in text, words


@of_one_broker
def test_how_often_the_broker_was_down_and_what_went_with_it(
    metalog: Metalog, log: Path, records: list[dict[str, Any]], data_set: DataSet
) -> None:
    """Questions 3 and 4."""
    times = {row["offset"]: row["timestamp"] for row in records}
    changes = [r for r in records if r["type"] == "BrokerRegistrationChangeRecord"]
    fences = [r["offset"] for r in changes if r["data"]["fenced"] == 1]
    unfences = [r["offset"] for r in changes if r["data"]["fenced"] == -1]
    assert (fences[:3], len(fences), unfences[:3]) == ([60, 6946, 7103], 13, [7, 64, 6951])
    # A broker is fenced when it registers first, too, and after the last fencing until the end.
    expected = [(6, 7), *zip(fences, [*unfences[1:], None], strict=True)]
    asked = metalog("outages", log, "--object", "broker:1", "--json").json["intervals"]
    fenced = [each for each in asked if each["kind"] == "fenced"]
    assert sorted((each["from_offset"], each["to_offset"] or 9800) for each in fenced) == [
        (first, last or 9800) for first, last in expected
    ]
    durations = {each["from_offset"]: each["duration_ms"] for each in fenced}
    assert durations == {first: times[last or 9800] - times[first] for first, last in expected}
    lost = metalog("outages", log, "--from", 7103, "--to", 7103, "--json").json["totals"]
    assert lost["leaderless"]["lasting"] == 51
    text = metalog("timeline", log, "--type", "brokers").out
    assert (
        "broker 1 flapped: down and back 10 times in 1 h 2 min, gone for 48 min 38 s in all" in text
    )


@of_one_broker
def test_what_lasts_is_cut_at_the_time_that_is_asked_for(
    metalog: Metalog, log: Path, data_set: DataSet
) -> None:
    """Question 4: an ongoing outage is counted up to the time asked for.

    No record lies between 23:12:13.850 (7103) and 23:17:48.687 (7104).
    """
    for to, seconds in (
        ("2025-02-26T23:15:00Z", 166.150),
        ("2025-02-26T23:12:13.850Z", 0),
        ("7103", 0),
    ):
        arguments = ("--object", "broker:1", "--from", 7103, "--to", to, "--json")
        intervals = metalog("outages", log, *arguments).json["intervals"]
        (fenced,) = [each for each in intervals if each["kind"] == "fenced"]
        assert (fenced["to_offset"], fenced["duration_ms"]) == (None, round(1000 * seconds)), to
    # Of the time after its last record a log knows nothing.
    late = metalog("outages", log, "--object", "broker:1", "--to", "2026-01-01T00:00Z", "--json")
    assert late.json == metalog("outages", log, "--object", "broker:1", "--json").json


@of_one_broker
def test_what_happened_between_two_times(metalog: Metalog, log: Path, data_set: DataSet) -> None:
    """Questions 5 and 7."""
    text = metalog("timeline", log, "--from", 6948, "--to", 7103).out
    told = [line.split(maxsplit=2)[1:] for line in text.splitlines()]
    assert [offsets for offsets, _ in told[:6]] == [
        *("6948", "6949", "6950", "6951-7002", "7051-7102", "7103"),
    ]
    assert told[3][1] == "broker 1 was unfenced: 51 partitions got a leader again"
    assert told[4][1] == "broker 1 began a controlled shutdown: 51 partitions lost their leader"
    assert told[5][1] == "broker 1 was fenced at the end of its controlled shutdown"
    counted = metalog("timeline", log, "--stat", "--type", "controllers", "--json").json
    (active,) = counted["active_controllers"]
    assert (active["node"], active["terms"]) == (1, 13)


@of_one_broker
def test_was_the_cluster_healthy_then(metalog: Metalog, log: Path, data_set: DataSet) -> None:
    """Questions 6, 11 and 12."""
    _, partitions, brokers, *_ = on_terminal("image", log, "--at", 7103).splitlines()
    assert "51 without a leader" in partitions
    assert brokers.split() == ["1", "broker:", "1", "fenced"]
    voters = metalog("image", log, "--part", "voters").out
    assert "voter:1" in voters
    assert "the quorum is static: the log names its voters, their endpoints are in" in voters
    assert metalog("upgrade-check", log, "--to", "4.4").code == 0


@of_one_broker
def test_what_would_have_happened_without_the_fencing(
    metalog: Metalog, log: Path, data_set: DataSet
) -> None:
    """Question 17: the leaders moved before the fencing, and the next registration also fences.

    Without the shutdown, the fencing itself moves the leaders.
    """
    without = ("what-if", log, "--at", 6894, "--to", 6960)
    answer = metalog(*without, "--without", "broker:1#fenced=true", "--json").json
    (parting,) = answer["partings"]
    assert (parting["object"], parting["field"]) == ("broker:1", "fenced")
    assert (parting["from_offset"], parting["to_offset"]) == (6946, 6950)
    assert answer["meets_again"] == 6950
    answer = metalog("what-if", log, "--drop", 6894, "--to", 6960, "--json").json
    spared = [each for each in answer["partings"] if each["field"] == "leader"]
    assert len(spared) == 51
    assert {(each["from_offset"], each["to_offset"]) for each in spared} == {(6945, 6946)}
    assert answer["meets_again"] == 6950


@of_one_broker
def test_since_when_it_has_no_leader(
    metalog: Metalog, log: Path, records: list[dict[str, Any]], data_set: DataSet
) -> None:
    """Question 20: records alternately remove the leader of this partition and restore it."""
    name = topics(records)[214]
    topic_id = next(row["data"]["topicId"] for row in records if row["offset"] == 214)
    of_topic = [row for row in records if row["data"].get("topicId") == topic_id]
    changes = [row["offset"] for row in of_topic if row["type"] == "PartitionChangeRecord"]
    held = f'topics["{name}"].partitions[0].leader == -1'
    flips = metalog("bisect", log, held, "--json").json["flips"]
    assert [each["value"] for each in flips] == [n % 2 == 0 for n in range(23)]
    # A state holds from the end of its batch on, so that offsets may be later than the record's.
    assert all(at <= each["offset"] for at, each in zip(changes, flips, strict=True))
    following = zip(flips, changes[1:], strict=False)
    assert all(each["offset"] < later for each, later in following)
    assert flips[0]["offset"] == 6945
    assert metalog("check", log).code == 0


@of_one_broker
def test_the_topic_that_was_deleted_and_the_state_before_it(
    metalog: Metalog,
    log: Path,
    records: list[dict[str, Any]],
    tmp_path: Path,
    data_set: DataSet,
) -> None:
    """Questions 16 and 19: 327 deleted the topic, whose one partition was on broker 1."""
    name = topics(records)[191]
    script, node, again = (tmp_path / each for each in ("script", "node", "again"))
    of_topic = ("--as", "commands", "--only", f"topic:{name}")
    assert metalog("export", "kraft", log, script, "--at", 326, *of_topic).code == 0
    command = f'--bootstrap-server "$BOOTSTRAP" --create --topic {name} --replica-assignment 1'
    assert script.read_text().splitlines()[-1] == f"kafka-topics.sh {command}"
    assert metalog("export", "kraft", log, node, "--at", 326, "--as", "checkpoint").code == 0
    assert metalog("import", "kraft", node, again).code == 0
    differing = metalog("diff", f"{again}@end", f"{log}@327", "--json").json["changes"]
    assert {each["object"] for each in differing} == {f"topic:{name}", f"partition:{name}/0"}
    assert {each["after"] for each in differing} == {None}


@of_many_configs
def test_what_takes_the_room_and_what_blocks_the_upgrade(
    metalog: Metalog, log: Path, records: list[dict[str, Any]], data_set: DataSet
) -> None:
    """Questions 12 and 15."""
    rows = metalog("du", log, "--by", "type", "--json").json["rows"]
    names = ("ConfigRecord", "TopicRecord", "PartitionRecord")
    found = {row["name"]: (row["records"], row["objects"]) for row in rows if row["name"] in names}
    assert found == {
        "ConfigRecord": (375, 375),
        "TopicRecord": (63, 63),
        "PartitionRecord": (151, 151),
    }
    removed = "message.timestamp.difference.max.ms"
    offsets = [row["offset"] for row in records if row["data"].get("name") == removed]
    findings = metalog("upgrade-check", log, "--to", "4.4", "--json").json["findings"]
    assert [each["offset"] for each in findings] == offsets
    assert len(offsets) == 42
    text = on_terminal("upgrade-check", log, "--to", "4.4")
    assert f"{removed} was removed in Kafka 4.0" in " ".join(text.split())
    assert metalog("upgrade-check", log, "--to", "3.9").code == 0
