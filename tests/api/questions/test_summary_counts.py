"""The numbers of a summary, counted in the forms of real logs that another program decoded."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from records.text import duration_text, time_text
from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.decoded_fencings import DecodedFencings
from tests.replay.incidents.real import imported

_Test = TypeVar("_Test", bound=Callable[..., object])
_Row = dict[str, Any]


def _logs(*names: str) -> Callable[[_Test], _Test]:
    """Run a test on real logs."""
    return each_data_set_where(lambda each: str(each) in names, is_heavy=lambda _: False)


_INDUS = "indus-rig-removetopic-snapshots/kafka-data"
_OGS = "ogs59-3node-history/data_kafka-2"
_AZERCELL = "azercell3-3node-legacy/data_kafka1"


class Counted:
    """A log replayed by a few rules of its own: topics, partitions, and starts of brokers.

    Attributes:
        partitions: By topic id and number: leader, ISR and replicas.
        starts: Offset, time and broker of each registration of a known broker's new process.
    """

    def __init__(self, data_set: DataSet) -> None:
        self.rows: list[_Row] = [row for each in data_set.segments for row in each.oracle()]
        self.names: dict[str, str] = {}
        self.partitions: dict[tuple[str, int], _Row] = {}
        self.starts: list[tuple[int, int, int]] = []
        self._runs: dict[int, str] = {}

    def replayed(self) -> Iterator[_Row]:
        """Yield each row after it was applied."""
        for row in self.rows:
            self._apply(row)
            yield row

    def _apply(self, row: _Row) -> None:
        type_, record = row["type"], row["data"]
        if type_ == "TopicRecord":
            self.names[record["topicId"]] = record["name"]
        elif type_ == "RemoveTopicRecord":
            del self.names[record["topicId"]]
            self.partitions = {k: v for k, v in self.partitions.items() if k[0] in self.names}
        elif type_ == "PartitionRecord":
            self.partitions[record["topicId"], record["partitionId"]] = record
        elif type_ == "PartitionChangeRecord":
            key = record["topicId"], record["partitionId"]
            changed = {each: record[each] for each in ("isr", "replicas") if record[each]}
            if record["isr"] == []:
                changed["isr"] = []
            if record["leader"] != -2:
                changed["leader"] = record["leader"]
            self.partitions[key] = {**self.partitions[key], **changed}
        elif type_ == "RegisterBrokerRecord":
            known = self._runs.get(record["brokerId"])
            if known not in (None, record["incarnationId"]):
                self.starts.append((row["offset"], row["timestamp"], record["brokerId"]))
            self._runs[record["brokerId"]] = record["incarnationId"]


def _told(metalog: Metalog, data_set: DataSet, tmp_path: Path, about: str) -> tuple[bool, str]:
    """Return the first clause about something."""
    clauses = metalog("summary", imported(data_set, tmp_path), "--json").json["clauses"]
    return next((each["is_bad"], each["text"]) for each in clauses if each["about"] == about)


@_logs("kafka-raft-3node-33/data_kafka3", _AZERCELL)
def test_partitions_with_one_replica_are_a_risk_of_today(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    counted = Counted(data_set)
    *_, _ = counted.replayed()
    every = Counter(topic for topic, _ in counted.partitions)
    single = Counter(k[0] for k, it in counted.partitions.items() if len(it["replicas"]) == 1)
    whole = [topic for topic, count in single.items() if count == every[topic]]
    assert len(whole) == len(single)
    names = sorted(whole, key=lambda each: (-single[each], counted.names[each]))
    assert _told(metalog, data_set, tmp_path, "replicas") == (
        True,
        f"{single.total()} of {every.total()} partitions have one replica (all of "
        f"{' and '.join(counted.names[each] for each in names)}): one broker down stops those on "
        "it",
    )


@_logs("greenhouse-rolled-history/kafka_data_data", _OGS)
def test_one_replica_is_no_risk_of_a_cluster_of_one_broker_or_where_there_are_more(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    answer = metalog("summary", imported(data_set, tmp_path), "--json").json
    assert answer["brokers"] == 1 or not answer["single"]["partitions"]
    assert "replicas" not in [each["about"] for each in answer["clauses"]]


@_logs(
    _INDUS,
    _OGS,
    "otus-histories/HW02_kafka_data",
    "middleware-sasl-snapshots/kafka-data",
    "log4j2-migration-removetopic/data",
)
def test_restarts_without_a_topic_are_counted_one_by_one(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    counted = Counted(data_set)
    without = started = brokers = 0
    for row in counted.replayed():
        if len(counted.starts) > started:
            started = len(counted.starts)
            without += not counted.names
        if row["type"] == "RegisterBrokerRecord":
            brokers = max(brokers, row["data"]["brokerId"])
    # The brokers of a cluster restarted together each time.
    times, without = started // brokers, without // brokers
    is_bad, told = _told(metalog, data_set, tmp_path, "restarts")
    first, last = counted.starts[0][1], counted.starts[-1][1]
    who = "the only broker restarted" if brokers == 1 else "all 3 brokers restarted together"
    day = f"{time_text(first)[:10]} "
    plain = told.replace(day, "")
    end = time_text(last)[11:19]
    assert re.match(rf"{who} {times} times, {time_text(first)[11:19]} to (\S+ )?{end}: ", plain)
    assert f"; {without} of them while no topic existed" in told
    # Of each of the others the log tells how the brokers went down.
    shown = DecodedFencings(data_set).stops_by_term()
    recorded = [it["timestamp"] for it in counted.rows if it["data"].get("inControlledShutdown")]
    inferred = [at for at in shown if not any(abs(at - each) <= 5_000 for each in recorded)]
    clean = re.search(r"(\d+|all) by controlled shutdown \((?:(\d+) )?inferred\)", told)
    assert clean is not None
    assert int(clean[2] or (times if clean[1] == "all" else clean[1])) == len(inferred)
    assert "not known" not in told
    assert is_bad == (" without" in told)


@_logs(_INDUS)
def test_a_crash_of_the_controller_was_between_its_last_record_and_its_next_process(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    rows = Counted(data_set).rows
    changes = [each for each in rows if each["type"] == "PartitionChangeRecord"]
    lost = next(each for each in changes if each["data"]["leader"] == -1)
    elected = next(each for each in changes if each["data"]["leader"] > -1)
    terms = [row for row in rows if row["type"] == "LeaderChangeMessage"]
    (term,) = [each for each in terms if 0 < lost["timestamp"] - each["timestamp"] < 60_000]
    last = rows[rows.index(term) - 1]
    least, most = (elected["timestamp"] - each["timestamp"] for each in (term, last))
    clock = {each["offset"]: time_text(each["timestamp"])[11:19] for each in rows}
    assert (round(least / 1_000), round(most / 1_000)) == (10, 27)
    assert _told(metalog, data_set, tmp_path, "leaderless") == (
        True,
        f"once without a leader, for {least / 1_000:.0f} to {most / 1_000:.0f} s up to "
        f"{time_text(elected['timestamp'])[:10]} {clock[elected['offset']]} (1 partition: the only "
        f"broker crashed or was killed between {clock[last['offset']]} and "
        f"{clock[term['offset']]}; the log records it only from {clock[lost['offset']]})",
    )


@_logs(_AZERCELL)
def test_all_partitions_were_away_while_all_brokers_restarted_without_a_shutdown(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    counted, lost, everything = Counted(data_set), Counter[int](), Counter[int]()
    for row in counted.replayed():
        if row["type"] == "PartitionChangeRecord" and row["data"]["leader"] == -1:
            lost[row["timestamp"] // 60_000] += 1
            everything[row["timestamp"] // 60_000] = len(counted.partitions)
    # The first time was the longest, because node 3 had restarted before it led.
    at = min(lost)
    _, told = _told(metalog, data_set, tmp_path, "leaderless")
    assert (
        f"(all {everything[at]} partitions, {lost[at]} of them in the log: all 3 brokers restarted "
        "together; the leader of the others was back before it was missed)"
    ) in told


@_logs(_OGS)
def test_a_shared_address_reaches_the_one_broker_whose_partitions_stayed_in_sync(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    counted = Counted(data_set)
    shrunk, in_sync = Counter[int](), set[tuple[str, int]]()
    stop = next(
        row["offset"]
        for row in counted.rows
        if row["type"] == "BrokerRegistrationChangeRecord"
        and row["data"].get("inControlledShutdown")
        and row["data"]["brokerId"] == 1
        and row["timestamp"] > 1758543000000  # after the last topic was created
    )
    before: dict[tuple[str, int], _Row] = {}
    for row in counted.replayed():
        if row["offset"] == stop:
            in_sync = {k for k, each in counted.partitions.items() if len(each["isr"]) == 3}
            assert {counted.partitions[each]["leader"] for each in in_sync} == {1}
            before = dict(counted.partitions)
        if row["type"] == "PartitionChangeRecord" and row["offset"] < stop and row["data"]["isr"]:
            key = row["data"]["topicId"], row["data"]["partitionId"]
            shrunk[counted.partitions[key]["leader"]] += 1
    assert set(shrunk) == {2, 3}, "no partition led by 1 ever lost a follower before"
    assert {each["leader"] for k, each in before.items() if k not in in_sync} == {2, 3}
    _, told = _told(metalog, data_set, tmp_path, "end")
    assert f"{len(in_sync)} since 13:41:35 (led by 3; broker 1 began a controlled shutdown)" in told
    assert (
        "; only partitions led by broker 1 stayed in sync while it ran: the shared address "
        "reaches broker 1; still so " in told
    )


@_logs("greenhouse-rolled-history/kafka_data_data")
def test_planned_times_and_others_are_one_clause(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    counted, away, planned, found = Counted(data_set), set[tuple[str, int]](), False, []
    for row in counted.replayed():
        if row["type"] == "BrokerRegistrationChangeRecord" and row["data"]["fenced"] >= 0:
            planned = bool(row["data"].get("inControlledShutdown"))
        now = {k for k, each in counted.partitions.items() if each["leader"] == -1}
        if now and not away:
            found.append([row["timestamp"], None, 0, planned])
        if now:
            found[-1][2] = max(found[-1][2], len(now))
        elif away:
            found[-1][1] = row["timestamp"]
        away = now
    closed = [end - begin for begin, end, _, is_planned in found if end and is_planned]
    counts = [count for *_, count, is_planned in found if is_planned]
    assert len(found) - len(counts) == 1
    is_bad, told = _told(metalog, data_set, tmp_path, "leaderless")
    assert is_bad
    assert told.startswith(
        f"{len(found)} times without a leader: 1 by missed heartbeats, for 1.3 s from 2025-07-20 "
        "10:35:11 to 10:35:12 (51 partitions; the broker did not restart, and the controller wrote "
        f"nothing for up to 3.7 s); {len(counts)} by controlled shutdown, "
    )
    assert f", longest {duration_text(max(closed))} from " in told
    assert told.endswith(f" ({min(counts)} to {max(counts)} partitions)")


@_logs("middleware-sasl-snapshots/kafka-data")
def test_one_event_has_one_duration(metalog: Metalog, data_set: DataSet, tmp_path: Path) -> None:
    _, away = _told(metalog, data_set, tmp_path, "leaderless")
    is_bad, restarts = _told(metalog, data_set, tmp_path / "again", "restarts")
    assert ", longest 2 min 59 s from " in away
    assert "longest" not in restarts
    assert not is_bad, "8 were planned, and 2 could stop nothing"


@_logs("otus-histories/HW02_kafka_data")
def test_a_crash_loop_is_told_with_its_end_and_how_long_each_run_wrote(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    runs: list[list[_Row]] = []
    for row in Counted(data_set).rows:
        if row["type"] == "LeaderChangeMessage":
            runs.append([])
        runs[-1].append(row)
    loop = [run for run in runs if "RegisterBrokerRecord" not in {row["type"] for row in run}]
    after = runs[runs.index(loop[-1]) + 1]
    back = next(row["timestamp"] for row in after if row["type"] == "RegisterBrokerRecord")
    wrote = [run[-1]["timestamp"] - run[0]["timestamp"] for run in loop]
    first, last = (run[0]["timestamp"] for run in (loop[0], loop[-1]))
    clauses = metalog("summary", imported(data_set, tmp_path), "--json").json["clauses"]
    (told,) = [each["text"] for each in clauses if "process" in each["text"]]
    clock = [time_text(each)[11:19] for each in (first, last, back)]
    assert told == (
        f"the process of broker 1 started {len(loop)} more times, {clock[0]} to {clock[1]}, but "
        f"its broker did not register before {clock[2]}; each run wrote for "
        f"{min(wrote) / 1_000:.1f} to {max(wrote) / 1_000:.1f} s: as after a failure at start-up"
    )


@_logs(_INDUS, _OGS, "greenhouse-rolled-history/kafka_data_data", _AZERCELL)
def test_time_off_is_told_with_the_time_that_the_log_takes(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    rows = Counted(data_set).rows
    whole = duration_text(rows[-1]["timestamp"] - rows[0]["timestamp"])
    _, told = _told(metalog, data_set, tmp_path, "restarts")
    assert re.search(rf"; off .* of {whole}(, longest .*)?$", told)


@_logs(_AZERCELL, _INDUS)
def test_a_broker_was_gone_before_the_term_that_its_new_process_led(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    """The process that leads cannot be the one whose broker was missed: that registers anew."""
    rows = Counted(data_set).rows
    terms = [n for n, row in enumerate(rows) if row["type"] == "LeaderChangeMessage"]
    gone: dict[int, tuple[int, int]] = {}
    for begin, end in zip(terms[1:], [*terms[2:], len(rows)], strict=True):
        leader, term = rows[begin]["data"]["leaderId"], rows[begin:end]
        fenced = [
            row
            for row in term
            if row["type"] == "FenceBrokerRecord" or row["data"].get("fenced") == 1
        ]
        starts = [row for row in term if row["type"] == "RegisterBrokerRecord"]
        for row in fenced:
            back = [it for it in starts if it["data"]["brokerId"] == leader]
            node = row["data"].get("brokerId", row["data"].get("id"))
            if node == leader and back and row["offset"] < back[0]["offset"]:
                gone[row["offset"]] = leader, row["timestamp"] - rows[begin]["timestamp"]
    answer = metalog("outages", imported(data_set, tmp_path), "--json").json["intervals"]
    found = {
        each["cause"]["offset"]: (int(each["object"].removeprefix("broker:")), more)
        for each in answer
        if each["kind"] == "fenced" and (more := each.get("least_ms", 0) - each["duration_ms"]) > 0
    }
    assert found == gone
    assert len(found) == (1 if "azercell" in str(data_set) else 2)
    # The summary counts the same, up to when the last partition had a leader again.
    times = metalog("summary", tmp_path / "log", "--json").json["leaderless"]
    longer = [each for each in times if each["least_ms"] > each["duration_ms"]]
    of = {each["cause"]["offset"] for each in answer if each["kind"] == "leaderless"} & set(gone)
    assert [each["least_ms"] - each["duration_ms"] for each in longer] == [
        gone[offset][1] for offset in of
    ]
