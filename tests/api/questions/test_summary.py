"""`metalog summary`: what happened, in a few clauses."""

from pathlib import Path

from tests.api.conftest import Metalog
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import broker, change, partition, topic, uid


def words(metalog: Metalog, *arguments: object) -> dict[str, str]:
    """Return the clauses by what they are about, those of something bad with a !."""
    clauses = metalog("summary", *arguments, "--json").json["clauses"]
    return {each["about"]: f"{'!' * each['is_bad']}{each['text']}" for each in clauses}


def test_an_empty_log_is_told_without_times(metalog: Metalog, tmp_path: Path) -> None:
    metalog("init", tmp_path / "log")
    assert words(metalog, tmp_path / "log") == {
        "leaderless": "never without a leader",
        "end": "ends without partitions",
        "brokers": "no broker is registered",
        "controllers": "the controller did not change",
        "changes": "nobody changed topics, configs or rights",
    }
    shown = metalog("summary", tmp_path / "log").out
    assert shown.splitlines()[0] == "- never without a leader"


def test_a_mirror_says_what_was_down_and_what_is_not_final(
    metalog: Metalog, tmp_path: Path
) -> None:
    node = Node(tmp_path / "node", voters=3)
    node.append(broker(1, fenced=False), broker(2, fenced=False))
    held = {"replicas": (1, 2), "isr": (1, 2)}
    node.append(topic("t"), partition("t", 0, **held), partition("t", 1, **held))
    down = node.end_offset
    node.append(change("t", 0, leader=-1))
    node.append(change("t", 0, leader=2))
    node.append(change("t", 1, leader=-1))
    metalog("import", "kraft", node.directory, tmp_path / "log")
    answer = metalog("summary", tmp_path / "log", "--json").json
    assert [each["from_offset"] for each in answer["leaderless"]] == [down, down + 2]
    assert answer["leaderless"][1]["to_offset"] is None
    found = words(metalog, tmp_path / "log")
    assert found["leaderless"].startswith("!2 times without a leader, longest ")
    assert found["end"] == "!ends with 1 of 2 partitions without a leader"
    assert found["brokers"] == "all 2 brokers up"
    assert found["changes"] == (
        "topics, configs and rights changed by principals that Kafka's log does not name (1)"
    )
    assert found["tail"].startswith("Kafka may still replace the records from offset 0 on")
    before = words(metalog, tmp_path / "log", "--to", down - 1)
    assert before["leaderless"] == "never without a leader"
    assert before["end"] == "ends with all 2 partitions healthy"
    after = words(metalog, tmp_path / "log", "--from", down + 1, "--to", down + 1)
    # It ended with the first record of the range.
    assert after["leaderless"].startswith("!once without a leader, for ")


def test_who_changed_most_comes_first(metalog: Metalog, tmp_path: Path) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    for who, count in (("ann", 1), ("bob", 3), ("eve", 2), ("joe", 1)):
        for number in range(count):
            made = ["namespaces", "create", f"{who}{number}", "--log", log, "--as", f"User:{who}"]
            assert metalog(*made).code == 0
    answer = metalog("summary", log, "--json").json
    assert [(each["principal"], each["changes"]) for each in answer["actors"]] == [
        ("User:bob", 3),
        ("User:eve", 2),
        ("User:ann", 1),
        ("User:joe", 1),
    ]
    assert words(metalog, log)["changes"] == (
        "topics, configs and rights changed by User:bob (3), User:eve (2), User:ann (1), 1 other"
    )


def test_a_controller_that_only_restarted_did_not_change(metalog: Metalog, tmp_path: Path) -> None:
    node = Node(tmp_path / "node", voters=1)
    node.append(broker(1, fenced=False), topic("t"), partition("t", 0, replicas=(1,), isr=(1,)))
    for _ in range(2):
        node.append(change("t", 0, leader=-1))
        node.append(change("t", 0, leader=1))
        node.elect()
        node.append(broker(1, fenced=False))
    node.append(change("t", 0, leader=-1))
    metalog("import", "kraft", node.directory, tmp_path / "log")
    found = words(metalog, tmp_path / "log")
    assert found["controllers"].endswith(" was the controller, and took over again 2 times")
    assert found["leaderless"].startswith(
        "!3 times without a leader, 0.002 s in all, longest 0.001 s "
    )
    assert "; the last for " in found["leaderless"]
    assert found["leaderless"].endswith(" until the records end")


def test_brokers_that_restart_again_and_again_are_told_together(
    metalog: Metalog, tmp_path: Path
) -> None:
    node = Node(tmp_path / "node", voters=3)
    starts = {1: 5, 2: 5, 3: 5, 7: 4, 9: 3}
    first: dict[int, int] = {}
    for run in range(5):
        for broker_id, count in starts.items():
            if run < count:
                if run == 1:
                    first[broker_id] = node.end_offset
                fields = {"incarnation_id": uid(f"{broker_id} {run}"), "fenced": False}
                node.append(broker(broker_id, **fields))
    metalog("import", "kraft", node.directory, tmp_path / "log")
    answer = metalog("summary", tmp_path / "log", "--json").json
    told = [each for each in answer["clauses"] if each["about"] == "restarts"]
    assert [each["text"].partition(" between ")[0] for each in told] == [
        "brokers 1, 2 and 3 restarted 4 times each",
        "broker 7 restarted 3 times",
    ]
    assert all(each["text"].endswith(" (restart loop)") and each["is_bad"] for each in told)
    assert told[0]["from_offset"] == first[1]
    assert sorted(each["node_id"] for each in answer["restart_loops"]) == [1, 2, 3, 7]
    assert "! brokers 1, 2 and 3 restarted" in metalog("summary", tmp_path / "log").out


def test_more_loops_than_fit_are_counted(metalog: Metalog, tmp_path: Path) -> None:
    node = Node(tmp_path / "node", voters=3)
    for broker_id in range(1, 6):
        for run in range(3 + broker_id):
            node.append(broker(broker_id, incarnation_id=uid(f"{broker_id} {run}")))
    metalog("import", "kraft", node.directory, tmp_path / "log")
    clauses = metalog("summary", tmp_path / "log", "--json").json["clauses"]
    told = [each["text"] for each in clauses if each["about"] == "restarts"]
    assert [each.partition(" between ")[0] for each in told] == [
        "broker 5 restarted 7 times",
        "broker 4 restarted 6 times",
        "broker 3 restarted 5 times",
        "2 more restart loops",
    ]
