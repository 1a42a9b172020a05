"""`metalog summary`: what happened, in a few clauses."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.api.conftest import Metalog
from tests.metadata_log.kraft.node import Node
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.builders import broker, change, partition, topic, uid
from tests.replay.incidents.real import imported

_DAY = "2025-09-22"
_OTUS = "2025-02-08"
_STOPS = "broker 2 began a controlled shutdown, on purpose"

_Test = TypeVar("_Test", bound=Callable[..., object])


def words(metalog: Metalog, *arguments: object) -> dict[str, str]:
    """Return the clauses by what they are about, those of something bad with a !."""
    clauses = metalog("summary", *arguments, "--json").json["clauses"]
    return {each["about"]: f"{'!' * each['is_bad']}{each['text']}" for each in clauses}


def test_of_an_empty_log_nothing_else_is_told(metalog: Metalog, tmp_path: Path) -> None:
    metalog("init", tmp_path / "log")
    assert words(metalog, tmp_path / "log") == {"range": "the log is empty"}
    assert metalog("summary", tmp_path / "log").out == "- the log is empty\n"


def _log(name: str, node: str) -> Callable[[_Test], _Test]:
    """Run a test on a real log."""
    return each_data_set_where(
        lambda each: (each.name, each.node) == (name, node),
        is_heavy=lambda _: False,
    )


_restarted = _log("ogs59-3node-history", "data_kafka-2")
"""Runs a test on the log of three brokers that were stopped and started again."""


@_restarted
def test_a_window_counts_its_first_change_of_the_controller(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    restarted = imported(data_set, tmp_path)
    during = f"{_DAY}T11:50:00Z..{_DAY}T11:56:00Z"
    found = words(metalog, restarted, "--during", during)
    assert found["controllers"] == "the controller changed once to node 2"
    assert found["restarts"].startswith(
        f"!all 3 brokers restarted together at {_DAY}T11:54:22.366Z, not known if after a "
        "controlled shutdown"
    )
    both = words(metalog, restarted, "--from", f"{_DAY}T11:00:00Z", "--to", f"{_DAY}T13:00:00Z")
    assert both["controllers"] == "the controller changed 2 times, last to node 2"
    shown = metalog("summary", restarted, "--during", during).out.splitlines()[0]
    assert shown == f"{_DAY}T11:50:00.000Z to {_DAY}T11:56:00.000Z"


@_restarted
def test_a_range_without_records_does_not_look_healthy(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    restarted = imported(data_set, tmp_path)
    before = words(metalog, restarted, "--during", "yesterday")
    assert before == {"range": f"no records in this range: the log begins at {_DAY}T09:07:35.927Z"}
    after = words(metalog, restarted, "--from", f"{_DAY}T15:00:00Z")
    assert after["range"] == f"no records in this range: the log ends at {_DAY}T14:31:25.508Z"
    assert after["end"].startswith("!ends with 56 of 56 partitions under-replicated: ")
    assert "leaderless" not in after
    assert "controllers" not in after


@_restarted
def test_a_whole_cluster_that_was_restarted_is_told_as_one(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    restarted = imported(data_set, tmp_path)
    found = words(metalog, restarted)
    assert found["restarts"] == (
        f"!all 3 brokers restarted together 12 times from {_DAY}T09:20:36.844Z to "
        f"{_DAY}T13:45:21.815Z, every 17.132 s to 1 h 50 min (1 after a controlled shutdown, on "
        "purpose, 1 without, 10 not known); off at least 54 min 7 s in all, longest 48 min 30 s"
    )
    assert "; it began with" not in found["leaderless"]
    assert (
        "(56 partitions: all 3 brokers restarted together after a controlled shutdown, on purpose)"
        in found["leaderless"]
    )
    assert found["end"] == (
        "!ends with 56 of 56 partitions under-replicated: "
        f"36 since {_DAY}T11:58:07.557Z to {_DAY}T11:58:23.014Z "
        "(led by 2 and 3; followers too far behind), "
        f"2 since {_DAY}T12:15:07.535Z to {_DAY}T12:15:07.987Z "
        "(led by 2 and 3; followers too far behind), "
        f"18 since {_DAY}T13:41:35.866Z (led by 3; broker 1 began a controlled shutdown)"
    )
    assert found["controllers"] == (
        "the controller changed 13 times, last to node 2; 4 times the same node took over again"
    )


@_log("otus-histories", "HW02_kafka_data")
def test_a_crash_loop_of_a_controller_is_told_beside_restarts_of_its_broker(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    clauses = metalog("summary", log, "--json").json["clauses"]
    told = [each for each in clauses if each["about"] == "restarts"]
    assert [each["text"].partition(",")[0] for each in told] == [
        f"controller 1 restarted 16 times from {_OTUS}T09:50:49.939Z to {_OTUS}T09:52:54.735Z",
        f"the only broker restarted 6 times from {_OTUS}T08:55:26.761Z to {_OTUS}T10:00:49.732Z",
    ]
    # A broker whose last restart was clean may have crashed before.
    assert [each["is_bad"] for each in told] == [True, True]
    # The range knows the controller that was registered before it.
    stops = words(metalog, log, "--to", 1727)
    assert stops["brokers"] == "the only broker is shutting down (controlled shutdown, on purpose)"
    once = words(metalog, log, "--from", 1272, "--to", 1273)
    assert once["restarts"] == f"controller 1 restarted at {_OTUS}T09:50:49.939Z"


@_restarted
def test_a_range_that_ends_in_an_outage_is_not_the_end_of_the_log(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    begins = words(metalog, log, "--from", 26100, "--to", 26200)
    assert (
        f" to the end of the range (39 partitions; it began with: {_STOPS}" in begins["leaderless"]
    )
    assert begins["brokers"] == "!3 of 3 brokers shutting down"
    some = words(metalog, log, "--from", 26210, "--to", 26220)
    assert some["brokers"] == (
        "!2 of 3 brokers fenced, 2 by controlled shutdown, on purpose; 1 shutting down"
    )
    goes_on = words(metalog, log, "--from", 26210, "--to", 26224)
    assert " to the end of the range (56 partitions; it began with: " in goes_on["leaderless"]
    assert goes_on["brokers"] == "!3 of 3 brokers fenced, 3 by controlled shutdown, on purpose"


@_log("indus-rig-removetopic-snapshots", "kafka-data")
def test_an_unclean_election_is_told_as_what_may_have_lost_records(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    at = "2026-04-06T11:02:18.212Z"
    assert words(metalog, log)["unclean"] == (
        f"!1 unclean election at {at}: records may be lost (partition:test-topic/0)"
    )
    clauses = metalog("summary", log, "--json").json["clauses"]
    (told,) = [each for each in clauses if each["about"] == "unclean"]
    assert (told["from_offset"], told["to_offset"]) == (3602, 3602)
    assert "unclean" not in words(metalog, log, "--from", 3603)
    assert "unclean" not in words(metalog, log, "--to", 3601)


def test_unclean_elections_of_many_partitions_are_counted(metalog: Metalog, tmp_path: Path) -> None:
    node = Node(tmp_path / "node", voters=3)
    node.append(broker(1, fenced=False), topic("t"))
    node.append(*(partition("t", number, replicas=(1, 2), isr=(2,)) for number in range(5)))
    for number in range(5):
        node.append(change("t", number, leader=1, isr=(1,), leader_recovery_state=1))
    # What ends the recovery, or an election meanwhile, is none.
    node.append(change("t", 0, leader_recovery_state=0))
    node.append(change("t", 1, leader=-1))
    metalog("import", "kraft", node.directory, tmp_path / "log")
    told = words(metalog, tmp_path / "log")["unclean"]
    assert told.startswith("!5 unclean elections from ")
    assert told.endswith(
        ": records may be lost (partition:t/0, partition:t/1, partition:t/2 and 2 more)"
    )


@_log("azercell3-3node-legacy", "data_kafka1")
def test_what_failed_in_a_silence_lasted_at_least_so_long(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    told = words(metalog, imported(data_set, tmp_path))["leaderless"]
    assert told.startswith("!2 times without a leader, at least 15.844 s in all, longest 9.761 s ")
    assert told.endswith(
        "(34 partitions: all 3 brokers restarted together); the log is silent before, for 12 min "
        "14 s and 3 min 1 s"
    )


@_log("greenhouse-rolled-history", "kafka_data_data")
def test_a_single_node_that_was_stopped_on_purpose_is_no_incident(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    told = words(metalog, imported(data_set, tmp_path))
    assert told["leaderless"].startswith(
        "!17 times without a leader, 14 d 2 h in all: 16 by controlled shutdown, on purpose; "
        "1 other, for 1.293 s from 2025-07-20T10:35:11.275Z "
    )
    assert told["end"] == "ends with 51 of 51 partitions without a leader"
    assert told["brokers"] == "the only broker is off (controlled shutdown, on purpose)"
    assert told["restarts"].startswith("the only broker restarted 15 times from ")
    assert "each after a controlled shutdown, on purpose; off 14 d 2 h in all" in told["restarts"]


@_log("ogs59-3node-history", "data_kafka-1")
def test_a_checkpoint_alone_has_a_state_and_no_history(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    # As stored, the node's folder has no segments.
    log = tmp_path / "log"
    metalog("import", "kraft", data_set.directory, log)
    assert words(metalog, log) == {
        "range": "the log holds no records: only the state at offset 20,474 is known",
        "end": "!ends with 38 of 56 partitions under-replicated: 38 since before the log (led by 2 "
        "and 3)",
        "brokers": "all 3 brokers up",
    }
    shown = metalog("outages", log).out
    assert "under_replicated: 38, unknown in all, 38 of them still open at the end" in shown
    assert "\nunknown  under_replicated  38 partitions  before the kept history" in shown


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
    assert found["changes"] == ("1 change of topics or configs; Kafka's log does not say by whom")
    assert found["tail"].startswith("not known to be committed from offset 0 on: ")
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
    assert "; the last, of " in found["leaderless"]
    assert found["leaderless"].endswith(", still open at the end of the log")


def test_restarts_of_more_nodes_than_fit_are_counted(metalog: Metalog, tmp_path: Path) -> None:
    node = Node(tmp_path / "node", voters=3)
    for broker_id in range(1, 6):
        for run in range(3 + broker_id):
            node.append(broker(broker_id, incarnation_id=uid(f"{broker_id} {run}"), fenced=False))
    metalog("import", "kraft", node.directory, tmp_path / "log")
    clauses = metalog("summary", tmp_path / "log", "--json").json["clauses"]
    told = [each for each in clauses if each["about"] == "restarts"]
    assert [each["text"].partition(" from ")[0] for each in told] == [
        # The last restart of each is at the time of the next one's first.
        "broker 5 restarted 6 times",
        "broker 4 restarted 4 times",
        "broker 3 restarted 3 times",
        "8 more restarts of other nodes",
    ]
    assert told[0]["text"].endswith(", without a controlled shutdown")
    assert [each["is_bad"] for each in told] == [True, True, True, False]
