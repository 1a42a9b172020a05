"""`metalog summary`: what happened, in a few clauses."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from records.brokers import BrokerEndpoint, RegisterBrokerRecord
from tests.api.conftest import Metalog
from tests.metadata_log.kraft.node import Node
from tests.real_logs import DataSet, each_data_set, each_data_set_where
from tests.replay.builders import broker, change, partition, topic, uid
from tests.replay.incidents.real import imported

_DAY = "2025-09-22"
_OTUS = "2025-02-08"
_STOPS = "broker 2 began a controlled shutdown"
_ONE_ADDRESS = "one address, 192.168.1.125:9092 (PLAINTEXT)"
_ASKED = "connections may reach the wrong one"

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
    # Without a topic, it could stop nothing.
    assert found["restarts"].startswith(
        "all 3 brokers restarted together at 11:54:22 after a controlled shutdown (inferred), "
        "while no topic existed; off 17 s"
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
    assert after["end"].startswith("!ends with 56 of 56 partitions under-replicated, all with one ")
    assert "leaderless" not in after
    assert "controllers" not in after


@_restarted
def test_a_whole_cluster_that_was_restarted_is_told_as_one(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    restarted = imported(data_set, tmp_path)
    found = words(metalog, restarted)
    assert found["restarts"] == (
        "!all 3 brokers restarted together 12 times, 09:20:36 to 13:45:21: 11 by controlled "
        "shutdown (9 inferred), 1 without; 10 of them while no topic existed; off 54 min 19 s to "
        "1 h 1 min of 5 h 23 min, longest 48 min 30 s"
    )
    assert found["leaderless"] == (
        "!2 times without a leader by controlled shutdown, 3 min 44 s in all, longest 3 min 29 s "
        "from 13:41:35 to 13:45:05 (56 partitions: all 3 brokers restarted together); the last for "
        "15 s from 13:45:07"
    )
    assert found["end"] == (
        "!ends with 56 of 56 partitions under-replicated, all with one in-sync replica, so each "
        "stops with its leader: 36 since 11:58:07 and 2 since 12:15:07 (led by 2 and 3; the "
        "leader dropped followers from the ISR), 18 since 13:41:35 (led by 3; broker 1 began a "
        "controlled shutdown); only partitions led by broker 1 stayed in sync while it ran: the "
        "shared address reaches broker 1; still so 46 min 3 s after the last restart"
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
    assert [each["text"] for each in told] == [
        "the only broker restarted 6 times, 08:55:26 to 10:00:49: all by controlled shutdown (5 "
        "inferred); 5 of them while no topic existed; off 1 h 6 min of 21 h 53 min, longest 46 min "
        "6 s",
        "the process of broker 1 started 16 more times, 09:50:49 to 09:52:54, but its broker did "
        "not register before 09:54:40; each run wrote for 0.2 to 0.4 s: as after a failure at "
        "start-up",
    ]
    # It crashed only after the last time that its broker was shut down.
    assert [each["is_bad"] for each in told] == [False, True]
    # The range knows the controller that was registered before it.
    stops = words(metalog, log, "--to", 1727)
    assert stops["brokers"] == "the only broker is shutting down (controlled shutdown, on purpose)"
    once = words(metalog, log, "--from", 1272, "--to", 1273)
    assert once["restarts"] == "controller 1 restarted at 09:50:49"


@_restarted
def test_a_range_that_ends_in_an_outage_is_not_the_end_of_the_log(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    begins = words(metalog, log, "--from", 26100, "--to", 26200)
    assert (
        begins["leaderless"] == "never without a leader until the controlled shutdown at 13:41:35"
    )
    assert begins["end"] == (
        "ends with 39 of 56 partitions without a leader since 13:41:35, 0 s before the end of the "
        "range"
    )
    assert begins["brokers"] == "all 3 brokers are shutting down (controlled shutdown, on purpose)"
    some = words(metalog, log, "--from", 26210, "--to", 26220)
    assert some["brokers"] == (
        "all 3 brokers are shutting down, 2 of them off (controlled shutdown, on purpose)"
    )
    goes_on = words(metalog, log, "--from", 26210, "--to", 26224)
    assert " to the end of the range (56 partitions; it began with: " in goes_on["leaderless"]
    assert f"(56 partitions; it began with: {_STOPS})" in goes_on["leaderless"]
    assert goes_on["brokers"] == "all 3 brokers are off (controlled shutdown, on purpose)"


@_log("indus-rig-removetopic-snapshots", "kafka-data")
def test_an_unclean_election_is_told_as_what_may_have_lost_records(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    at = "11:02:18"
    assert words(metalog, log)["unclean"] == (
        f"!1 unclean election at {at}: no other replica exists, but records that were not on disk "
        "may be lost (partition:test-topic/0)"
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
    log = imported(data_set, tmp_path)
    told = words(metalog, log)["leaderless"]
    assert told == (
        "!2 times without a leader, at least 31 s in all, longest 22 s from 13:23:10 to 13:23:32 "
        "(all 51 partitions, 35 of them in the log: all 3 brokers restarted together; the leader "
        "of the others was back before it was missed); the last for 9.8 s from 13:26:50; when it "
        "began is not known: without NoOps, the log is silent when idle, too"
    )
    # A part of a log does not show whether it has NoOps elsewhere.
    part = words(metalog, log, "--from", 64)["leaderless"]
    assert part.endswith("; the log is silent before, for 12 min 14 s and 3 min 1 s")


@_log("greenhouse-rolled-history", "kafka_data_data")
def test_a_single_node_that_was_stopped_on_purpose_is_no_incident(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    told = words(metalog, log)
    clauses = metalog("summary", log, "--json").json["clauses"]
    down = [(each["is_bad"], each["text"]) for each in clauses if each["about"] == "leaderless"]
    assert down == [
        (
            True,
            "17 times without a leader: 1 by missed heartbeats, for 1.3 s from 2025-07-20 10:35:11 "
            "to 10:35:12 (51 partitions; the broker did not restart, and the controller wrote "
            "nothing for up to 3.7 s); 16 by controlled shutdown, 14 d 2 h in all, longest 7 d "
            "5 h from 2025-07-23 10:50:01 to 2025-07-30 16:11:26 (1 to 51 partitions)",
        ),
    ]
    assert told["end"] == (
        "ends with 51 of 51 partitions without a leader since 2025-07-31 19:03:31, 1.3 s before "
        "the end of the log"
    )
    assert told["brokers"] == "the only broker is off (controlled shutdown, on purpose)"
    assert told["restarts"] == (
        "the only broker restarted 15 times, 2025-07-17 15:08:11 to 2025-07-31 19:02:24: all by "
        "controlled shutdown; off 14 d 2 h of 14 d 4 h"
    )
    assert told["controllers"] == "node 0 was the controller, again after each restart"
    assert metalog("summary", log).out.count("on purpose") == 1


@_log("ogs59-3node-history", "data_kafka-1")
def test_a_checkpoint_alone_has_a_state_and_no_history(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    # As stored, the node's folder has no segments.
    log = tmp_path / "log"
    metalog("import", "kraft", data_set.directory, log)
    assert words(metalog, log) == {
        "range": "the log holds no records: only the state at offset 20,474 is known",
        "addresses": f"!all 3 brokers advertise {_ONE_ADDRESS}: {_ASKED}",
        "end": "!ends with 38 of 56 partitions under-replicated, all with one in-sync replica, so "
        "each stops with its leader: 38 since before the log (led by 2 and 3)",
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
    assert found["end"].startswith("!ends with 1 of 2 partitions without a leader since ")
    assert found["end"].endswith(", 0 s before the end of the log")
    assert found["brokers"] == "all 2 brokers up"
    assert found["changes"] == "1 topic created (t); Kafka's log does not say by whom"
    assert found["tail"].startswith("not known to be committed from offset 0 on: ")
    before = words(metalog, tmp_path / "log", "--to", down - 1)
    assert before["leaderless"] == "never without a leader"
    assert before["end"] == "ends with all 2 partitions healthy and all 2 brokers up"
    assert "brokers" not in before
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
    assert found["controllers"].endswith(" was the controller, again after each restart")
    assert found["leaderless"].startswith(
        "!3 times without a leader, 0.002 s in all, longest 0.001 s "
    )
    # The last one is told with the end.
    assert "the last" not in found["leaderless"]
    assert found["end"].startswith("!ends with 1 of 1 partitions without a leader since ")


def test_restarts_of_more_nodes_than_fit_are_counted(metalog: Metalog, tmp_path: Path) -> None:
    node = Node(tmp_path / "node", voters=3)
    for broker_id in range(1, 6):
        for run in range(3 + broker_id):
            node.append(broker(broker_id, incarnation_id=uid(f"{broker_id} {run}"), fenced=False))
    metalog("import", "kraft", node.directory, tmp_path / "log")
    clauses = metalog("summary", tmp_path / "log", "--json").json["clauses"]
    told = [each for each in clauses if each["about"] == "restarts"]
    assert [each["text"].partition(", ")[0] for each in told] == [
        # The last restart of each is at the time of the next one's first.
        "broker 5 restarted 6 times",
        "broker 4 restarted 4 times",
        "broker 3 restarted 3 times",
        "8 more restarts of other nodes",
    ]
    assert told[0]["text"].endswith(": all without controlled shutdown, all while no topic existed")
    assert [each["is_bad"] for each in told] == [True, True, True, False]


@_restarted
def test_brokers_that_advertise_one_address_are_a_fact_of_the_first_rank(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    answer = metalog("summary", log, "--json").json
    (told,) = [each for each in answer["clauses"] if each["about"] == "addresses"]
    assert told["text"] == (
        f"all 3 brokers advertise {_ONE_ADDRESS}, since 10:45:41 (before, 2 at :9093, 3 at "
        f":9094): {_ASKED}"
    )
    assert (told["is_bad"], told["from_offset"], told["to_offset"]) == (True, 5852, None)
    (shared,) = answer["shared_addresses"]
    assert (shared["brokers"], shared["from_offset"]) == ([1, 2, 3], 5852)
    found = words(metalog, log)
    # Those by which the address came to be shared are told with it; all are in the document.
    assert found["listeners"] == (
        "listener changed INTERNAL -> PLAINTEXT at 10:31:04 (brokers 1, 2 and 3)"
    )
    assert [each["offset"] for each in answer["listener_changes"]] == [4155, 4157, 4158, 5852, 5853]
    before = words(metalog, log, "--to", 5851)
    assert "addresses" not in before
    later = words(metalog, log, "--from", 6000)
    assert later["addresses"] == f"!all 3 brokers advertise {_ONE_ADDRESS}: {_ASKED}"
    assert "listeners" not in later


def _registered(broker_id: int, *ports: int) -> RegisterBrokerRecord:
    points = tuple(
        BrokerEndpoint(name=name, host="kafka", port=port, security_protocol=0)
        for name, port in zip("AB", ports, strict=True)
    )
    return broker(broker_id, end_points=points, fenced=False)


@pytest.mark.parametrize("port", [9092, 9072])
def test_listeners_whose_addresses_all_came_to_be_shared_are_told_only_with_those(
    metalog: Metalog, tmp_path: Path, port: int
) -> None:
    node = Node(tmp_path / "node")
    node.append(_registered(1, 9091, 9092), _registered(2, 9081, 9082))
    node.append(_registered(2, 9091, port))
    metalog("import", "kraft", node.directory, tmp_path / "log")
    answer = metalog("summary", tmp_path / "log", "--json").json
    shared = [each["address"] for each in answer["shared_addresses"]]
    is_all_shared = port == 9092
    assert shared == ["kafka:9091", *(["kafka:9092"] if is_all_shared else [])]
    about = [each["about"] for each in answer["clauses"]]
    assert about.count("listeners") == (not is_all_shared)


@_log("otus-histories", "HW02_kafka_data")
def test_a_listener_that_changed_is_told_with_its_time(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    answer = metalog("summary", imported(data_set, tmp_path), "--json").json
    (told,) = [each for each in answer["clauses"] if each["about"] == "listeners"]
    assert told["text"] == "listener changed PLAINTEXT -> SASL_PLAINTEXT at 08:55:26"
    assert (told["from_offset"], told["to_offset"]) == (167, 167)


@_log("middleware-sasl-snapshots", "kafka-data")
def test_listeners_that_changed_wholly_are_told_with_their_addresses(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    assert words(metalog, imported(data_set, tmp_path))["listeners"] == (
        "listener changed PLAINTEXT_HOST://localhost:29092, SASL_PLAINTEXT://broker:9092 -> "
        "SASL_PLAINTEXT://localhost:9092 at 08:47:17; SASL_PLAINTEXT://localhost:9092 -> "
        "EXTERNAL://localhost:9092, INTERNAL://broker:29092 at 09:01:26"
    )


@_log("indus-rig-removetopic-snapshots", "kafka-data")
def test_topics_that_were_deleted_are_told_by_name_with_their_times(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    answer = metalog("summary", log, "--json").json
    assert words(metalog, log)["changes"] == (
        "test-topic created at 10:41:22, deleted at 10:44:08, created at 10:55:17, "
        "deleted at 10:55:35, created at 11:01:22; Kafka's log does not say by whom"
    )
    topics = answer["topics"]
    assert (topics["created"], topics["deleted"], topics["configured"]) == (3, 2, 0)
    # What the format of the storage has set is no change of a user.
    assert [each["changes"] for each in answer["actors"]] == [5]


@_log("flink-on-prem-63-topics", "data")
def test_many_topics_are_told_by_a_few_names(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    told = words(metalog, imported(data_set, tmp_path))["changes"]
    assert told.startswith("63 topics created (")
    assert told.endswith(" and 59 more); Kafka's log does not say by whom")


@_log("indus-rig-removetopic-snapshots", "kafka-data")
def test_a_crash_is_no_missed_heartbeat_and_the_silence_before_it_is_told(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    told = words(metalog, imported(data_set, tmp_path))
    assert told["leaderless"] == (
        "!once without a leader, for 10 to 27 s up to 2026-04-06 11:02:18 (1 partition: the only "
        "broker crashed or was killed between 11:01:51 and 11:02:07; the log records it only from "
        "11:02:17)"
    )
    assert told["restarts"] == (
        "!the only broker restarted 3 times, 10:33:09 to 11:02:18: 1 by controlled shutdown "
        "(inferred), 2 without; 2 of them while no topic existed; off 4 min 7 s to 4 min 52 s of "
        "1 d 1 h, longest 3 min 47 s"
    )


@_log("azercell3-3node-legacy", "data_kafka1")
def test_a_log_without_noops_shows_only_how_long_brokers_were_off_at_most(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    assert words(metalog, imported(data_set, tmp_path))["restarts"] == (
        "!all 3 brokers restarted together 2 times, 13:23:26 to 13:26:50: all without controlled "
        "shutdown; off at most 15 min 47 s of 29 min 2 s"
    )


@_log("dkoh-systems-history", "kafka_data")
def test_a_log_that_ends_with_a_planned_stop_has_nothing_bad(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    told = words(metalog, imported(data_set, tmp_path))
    assert told["leaderless"] == "never without a leader until the controlled shutdown at 21:24:10"
    assert told["end"] == (
        "ends with 51 of 51 partitions without a leader since 21:24:10, 0.694 s before the end of "
        "the log"
    )


@each_data_set
def test_the_summary_of_a_real_log_fits_on_a_screen(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    told = metalog("summary", imported(data_set, tmp_path)).out.splitlines()
    lines = [line for each in told for line in textwrap.wrap(each, 80, subsequent_indent="  ")]
    assert len(lines) <= 22, "\n".join(lines)
