"""The effects of a change of the past, compared with effects computed by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from controller.forks.comparison import Parting
from controller.forks.leaderless import only_leaderless
from metadata_log.reader.log_reader import LogReader
from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.redecide.scenario_logs import SCENARIOS, write_scenario
from tests.replay.incidents.real import imported

FENCED = "broker:{}#fenced=true"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three brokers; broker 2 leads orders/0, is fenced, comes back, and joins the ISR again."""
    from api.cli.main import run

    log = tmp_path_factory.mktemp("what-if") / "log"
    assert run(["init", str(log)]) == 0
    for line in (
        *[f"brokers {verb} {number}" for number in "123" for verb in ("register", "unfence")],
        "topics create orders --assignment 2:1:3,1:3:2",
        "brokers fence 2",
        "topics create late --partitions 1 --replication-factor 2",
        "brokers unfence 2",
    ):
        code = run([*line.split(), "--log", str(log)])
        assert code == 0, line
    return log


def content(log: Path) -> dict[str, bytes]:
    """Return all files of a log."""
    return {p.name: p.read_bytes() for p in log.iterdir() if p.is_file()}


def fencing_of(log: Path, metalog: Metalog, broker: int) -> tuple[int, int]:
    """Return the first and last offset of the decision that fenced a broker."""
    changes = metalog("history", log, f"broker:{broker}#fenced", "--json").lines
    (at,) = [each["offset"] for each in changes if each["changes"][0]["before"] is False]
    with LogReader.open(log) as reader:
        batch = next(iter(reader.batches(at)))
        return batch.base_offset, batch.end_offset - 1


def fork(metalog: Metalog, log: Path, *options: object) -> dict[str, Any]:
    """Return the answer of `what-if`; check that the log is unchanged."""
    before = content(log)
    answer = metalog("what-if", log, *options, "--json")
    assert answer.code == 0, answer.err
    assert content(log) == before, "nothing is written"
    document: dict[str, Any] = answer.json
    return document


def but_epochs(differences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the differences by name, without ids and epochs."""
    ids = ("epoch", "_id", "directories")
    return [each for each in differences if not each["field"].endswith(ids)]


def at_first(document: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the differences right after the first change."""
    partings = document["partings"]
    first = min(each["from_offset"] for each in partings)
    return {
        f"{each['object']}#{each['field']}": (each["before"], each["after"])
        for each in partings
        if each["from_offset"] == first
    }


def test_leaders_and_isr_stay_if_a_broker_is_not_fenced(cluster: Path, metalog: Metalog) -> None:
    _, last = fencing_of(cluster, metalog, 2)
    found = fork(metalog, cluster, "--drop", last, "--to", last)
    # Broker 2 leaves both ISRs, and broker 1 takes over orders/0.
    assert at_first(found) == {
        "broker:2#fenced": (True, False),
        "partition:orders/0#leader": (1, 2),
        "partition:orders/0#isr": ([1, 3], [2, 1, 3]),
        "partition:orders/1#isr": ([1, 3], [1, 3, 2]),
    }
    assert found["decided"] == {"asked": 0, "inferred": 0, "as recorded": 0}
    assert found["meets_again"] is None
    assert {each["object"] for each in found["differences"]} == {
        "broker:2",
        "partition:orders/0",
        "partition:orders/1",
    }


def test_naming_the_value_drops_the_same_decision(cluster: Path, metalog: Metalog) -> None:
    """Question 17: what would have happened if broker 2 had not been fenced?"""
    first, last = fencing_of(cluster, metalog, 2)
    by_value = fork(metalog, cluster, "--at", first - 1, "--without", FENCED.format(2))
    by_offset = fork(metalog, cluster, "--drop", last)
    assert by_value == by_offset
    assert by_value["from"] == first - 1
    # Up to there: what is created later is placed at random.
    text = metalog("what-if", cluster, "--drop", last, "--to", last).out
    assert "partition:orders/0#leader" in text and f"offsets {first} to {last} dropped" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_nothing_changed_is_equal_all_the_time(cluster: Path, metalog: Metalog) -> None:
    found = fork(metalog, cluster, "--at", "start")
    assert (found["differences"], found["partings"], found["meets_again"]) == ([], [], 0)
    assert "equal all the time" in metalog("what-if", cluster, "--at", "start").out


def test_what_did_not_happen_after_the_point_is_said(cluster: Path, metalog: Metalog) -> None:
    told = metalog("what-if", cluster, "--at", "end", "--without", "broker:2#fenced=true")
    assert told.code == 0
    assert "changed broker:2#fenced=true: name an earlier point" in told.out


def test_fork_is_kept_as_a_log_of_its_own(cluster: Path, metalog: Metalog, tmp_path: Path) -> None:
    first, last = fencing_of(cluster, metalog, 2)
    kept = tmp_path / "kept"
    found = fork(metalog, cluster, "--drop", last, "--save", kept)
    saved = found["saved"]
    assert (saved["log"], saved["first_offset"]) == (str(kept), first)
    assert metalog("info", kept, "--json").json["kind"] == "own"
    # It leads to the fork's state.
    at_end = f"{kept}@{saved['end_offset'] - 1}"
    differing = metalog("diff", f"{cluster}@{found['as_of']}", at_end, "--json").json["changes"]
    assert differing == but_epochs(found["differences"]) != []
    # Its notes say where it came from, and what was changed.
    notes = metalog("notes", "list", "--log", kept, "--json").json["notes"]
    assert [each["at_offset"] for each in notes] == [first, first + 1]
    assert f"what-if` of {cluster}, cluster" in notes[0]["text"]
    assert notes[1]["text"] == found["changed"][0]
    # It can be written, and never written over.
    assert metalog("topics", "create", "after", "--log", kept).code == 0
    again = metalog("what-if", cluster, "--drop", last, "--save", kept)
    assert (again.code, "LOG_EXISTS" in again.err) == (3, True)
    text = metalog("what-if", cluster, "--drop", last, "--save", tmp_path / "other").out
    assert text.splitlines()[-2].startswith(f"{tmp_path / 'other'}: an own log of the fork, up to")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "other"]


def test_added_and_unchanged_decisions_are_kept(
    cluster: Path, metalog: Metalog, tmp_path: Path
) -> None:
    topic = {"name": "more", "assignments": [{"partition_id": 0, "broker_ids": [2, 3]}]}
    first, _ = fencing_of(cluster, metalog, 2)
    line = {"after": first - 1, "command": "topics create", "request": {"topics": [topic]}}
    for options in (("--at", "start"), ("--at", 5, "--add", json.dumps(line))):
        kept = tmp_path / str(len(options))
        found = fork(metalog, cluster, *options, "--save", kept)
        at_end = f"{kept}@{found['saved']['end_offset'] - 1}"
        differing = metalog("diff", f"{cluster}@end", at_end, "--json").json["changes"]
        assert differing == but_epochs(found["differences"])


def test_a_service_keeps_no_fork(metalog: Metalog, tmp_path: Path) -> None:
    options = ("--server", "kafka://localhost:1", "--drop", 3, "--save", tmp_path / "kept")
    refused = metalog("what-if", *options)
    assert (refused.code, "--save needs a log" in refused.err) == (2, True)


def test_refused_requests_are_named(cluster: Path, metalog: Metalog) -> None:
    creation = metalog("history", cluster, "broker:2", "--json").lines[0]["offset"]
    found = fork(metalog, cluster, "--drop", creation)
    codes = {(each["code"], each["offset"]) for each in found["refused"]}
    _, last = fencing_of(cluster, metalog, 2)
    assert "BROKER_ID_NOT_REGISTERED" in {code for code, _ in codes}
    assert any(offset <= last for _, offset in codes)
    assert all(each["text"] for each in found["refused"])
    assert "partition:orders/0" in {each["object"] for each in found["differences"]}


def test_added_command_is_decided_where_it_stands(cluster: Path, metalog: Metalog) -> None:
    first, _ = fencing_of(cluster, metalog, 2)
    line = (
        f'{{"after": {first - 1}, "command": "topics create", "request": {{"topics": '
        '[{"name": "more", "assignments": [{"partition_id": 0, "broker_ids": [2, 3]}]}]}}'
    )
    found = fork(metalog, cluster, "--add", line)
    fields = {each["field"]: each["after"] for each in found["differences"]}
    assert {each["object"] for each in found["differences"]} >= {"topic:more", "partition:more/0"}
    # Broker 2 was fenced afterwards, so that 3 leads there.
    assert (fields["leader"], fields["isr"]) == (3, [3])
    assert found == fork(metalog, cluster, "--add", line), "it draws the same random numbers"


def test_added_record_is_checked_as_an_append_is(cluster: Path, metalog: Metalog) -> None:
    record = '{"type": "FenceBrokerRecord", "data": {"id": 9, "epoch": 1}}'
    found = fork(metalog, cluster, "--at", "end", "--add", record)
    assert [each["code"] for each in found["refused"]] == ["INVALID_RECORD"]
    assert "broker 9" in found["refused"][0]["text"]
    assert not found["differences"]


@pytest.mark.parametrize("place", ["at the end", "before the fencing"])
def test_added_record_takes_effect(cluster: Path, metalog: Metalog, place: str) -> None:
    first, _ = fencing_of(cluster, metalog, 2)
    fields = {"resource_type": 4, "resource_name": "1", "name": "num.io.threads", "value": "7"}
    record = {"type": "ConfigRecord", "data": fields}
    at = "end" if place == "at the end" else first - 1
    found = fork(metalog, cluster, "--at", at, "--add", json.dumps(record))
    assert not found["refused"]
    assert [
        (each["object"], each["field"], each["before"], each["after"])
        for each in found["differences"]
    ] == [("config:broker/1", "num.io.threads", None, "7")]


def test_edited_request_is_decided_instead(cluster: Path, metalog: Metalog) -> None:
    _, last = fencing_of(cluster, metalog, 2)
    line = (
        f'{{"offset": {last}, "command": "brokers fence", '
        '"request": {"broker_id": 3, "fenced": true}}'
    )
    found = fork(metalog, cluster, "--edit", line, "--to", last)
    assert at_first(found)["broker:3#fenced"] == (False, True)
    assert at_first(found)["partition:orders/0#isr"] == ([1, 3], [2, 1])


def test_edited_record_is_applied(cluster: Path, metalog: Metalog) -> None:
    creation = metalog("history", cluster, "topic:orders", "--json").lines[0]["offset"]
    line = f'{{"offset": {creation}, "data": {{"name": "renamed"}}}}'
    found = fork(metalog, cluster, "--edit", line, "--to", creation)
    changed = {each["after"] for each in found["differences"] if each["field"] == "name"}
    assert "renamed" in changed


def test_without_alone_begins_at_the_start(cluster: Path, metalog: Metalog) -> None:
    _, last = fencing_of(cluster, metalog, 2)
    at_start = fork(metalog, cluster, "--at", "start", "--without", "broker:2#fenced=true")
    assert fork(metalog, cluster, "--without", "broker:2#fenced=true") == at_start
    # An offset that is named, too, begins no fork behind what the other option drops.
    both = ("--without", "broker:2#fenced=true", "--drop", last)
    assert fork(metalog, cluster, *both)["changed"] == at_start["changed"]


def test_range_in_a_refusal_makes_sense(cluster: Path, metalog: Metalog) -> None:
    end = metalog("info", cluster, "--json").json["log_end"]
    refused = metalog("what-if", cluster, "--drop-record", end + 7)
    assert f"offset {end + 7} is outside the range, after its last, {end - 1}" in refused.err
    refused = metalog("what-if", cluster, "--at", 20, "--drop", 3)
    assert "offset 3 is outside the range, before its first offset, " in refused.err


def test_record_that_is_dropped_is_not_called_edited(cluster: Path, metalog: Metalog) -> None:
    registered = metalog("history", cluster, "broker:2", "--json").lines[0]["offset"]
    (changed,) = fork(metalog, cluster, "--drop-record", registered)["changed"]
    assert changed.startswith(f"offset {registered} dropped: ")


@each_data_set_where(
    lambda each: str(each) == "ogs59-3node-history/data_kafka-2", is_heavy=lambda _: False
)
def test_what_lasts_comes_first_and_like_partitions_are_one_line(
    data_set: DataSet, tmp_path: Path, metalog: Metalog
) -> None:
    told = metalog("what-if", imported(data_set, tmp_path), "--drop", 26142).out.splitlines()
    table = told.index(next(line for line in told if line.startswith("from ")))
    assert told[table - 1] == "differences: 12, times of 2025-09-22 in UTC"
    assert [line.split()[1:] for line in told[table + 1 : table + 4]] == [
        ["13:41:35", "the", "end", "18", "partitions#isr", "[3]", "[2]"],
        ["13:45:22", "the", "end", "18", "partitions#leader", "3", "2"],
        ["13:41:35", "26227", "13:45:04", "broker:2#in_controlled_shutdown", "true", "false"],
    ]


@each_data_set_where(
    lambda each: str(each) == "azercell3-3node-legacy/data_kafka1", is_heavy=lambda _: False
)
def test_time_without_a_leader_is_that_of_partitions_with_a_leader_in_the_other_past(
    data_set: DataSet, tmp_path: Path, metalog: Metalog
) -> None:
    """By another program's rows: 17 partitions lose their leader with the broker, 1 with the next
    one, and the change gives them a leader until the broker registers again.
    """
    at = {row["offset"]: row for segment in data_set.segments for row in segment.oracle()}
    log = imported(data_set, tmp_path)
    found = fork(metalog, log, "--drop", 166)
    lasted = 17 * (at[186]["timestamp"] - at[166]["timestamp"])
    lasted += at[186]["timestamp"] - at[184]["timestamp"]
    assert found["leaderless"] == {
        "log": {"partitions": 18, "duration_ms": lasted},
        "fork": {"partitions": 0, "duration_ms": 0},
    }
    told = metalog("what-if", log, "--drop", 166).out
    line = "without a leader only in the log: 18 partitions, 5.0 partition-seconds in all"
    assert line in told.splitlines()
    assert "only with the change" not in told
    for each in found["partings"]:
        assert each["from_time"] == at[each["from_offset"]]["timestamp"]
        assert each["to_time"] == at[each["to_offset"]]["timestamp"]


def test_planned_removal_is_no_time_without_a_leader() -> None:
    def parting(number: int, field: str, happened: int, forked: int) -> Parting:
        name = f"partition:orders/{number}"
        return Parting(
            object=name,
            field=field,
            happened=happened,
            forked=forked,
            from_offset=7,
            from_time=1_000,
        )

    lost = [parting(number, "leader", 2, -1) for number in (0, 1)]
    found = only_leaderless([*lost, parting(1, "mode", 0, -1)], 3_500)
    assert (found.log.partitions, found.fork.partitions, found.fork.duration_ms) == (0, 1, 2_500)


def test_naming_a_value_drops_no_creation(cluster: Path, metalog: Metalog) -> None:
    """A broker is born fenced, and a partition with a leader: these are no changes."""
    _, last = fencing_of(cluster, metalog, 2)
    (dropped,) = fork(metalog, cluster, "--without", "broker:2#fenced=true")["changed"]
    assert f"{last} dropped" in dropped
    led = fork(metalog, cluster, "--without", "partition:orders/0#leader")["changed"]
    creation = metalog("history", cluster, "topic:orders", "--json").lines[0]["offset"]
    assert led and not any(f" {creation} " in text for text in led)
    (whole,) = fork(metalog, cluster, "--without", "topic:late")["changed"]
    assert "dropped" in whole, "without a field, the creation is what is not to be"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), "USAGE"),
        (("--at", 20, "--drop", 3), "OFFSET_OUT_OF_RANGE"),
        (("--at", 5, "--add", "{"), "USAGE"),
        (("--at", 5, "--add", '{"command": "no", "request": {}}'), "INVALID_REQUEST"),
        (("--at", 5, "--edit", '{"offset": 7}'), "USAGE"),
        (("--at", 5, "--without", "nothing"), "INVALID_REQUEST"),
    ],
)
def test_malformed_changes_are_refused(
    cluster: Path, metalog: Metalog, options: tuple[object, ...], code: str
) -> None:
    answer = metalog("what-if", cluster, *options)
    assert answer.code == (2 if code == "USAGE" else 3) and code in answer.err


@each_data_set_where(lambda each: str(each) == "azercell3-3node-legacy/data_kafka1")
def test_real_broker_that_is_not_fenced_keeps_its_partitions(
    data_set: DataSet, tmp_path_factory: pytest.TempPathFactory, metalog: Metalog
) -> None:
    """The expected state was computed by hand from rows that another program decoded: it is the
    state before the fencing.
    """
    rows = [row for segment in data_set.segments for row in segment.oracle()]
    fence = next(r for r in rows if r["type"] == "FenceBrokerRecord" and r["data"]["id"] == 2)
    state: dict[tuple[str, int], dict[str, Any]] = {}
    expected: dict[tuple[str, int, str], tuple[Any, Any]] = {}
    for row in rows:
        data = row["data"]
        key = (data.get("topicId", ""), data.get("partitionId", -1))
        if row["offset"] == fence["offset"]:
            break
        if row["type"] == "PartitionRecord":
            state[key] = {"leader": data["leader"], "isr": data["isr"]}
        if row["type"] == "PartitionChangeRecord":
            new = {"leader": data["leader"], "isr": data["isr"]}
            new = {name: value for name, value in new.items() if value not in (None, -2)}
            if row["offset"] >= 66:  # where its fencing begins
                for name, value in new.items():
                    expected[(*key, name)] = (value, state[key][name])
            state[key] = {**state[key], **new}
    log = imported(data_set, tmp_path_factory.mktemp("real"))
    found = fork(metalog, log, "--drop", fence["offset"], "--to", fence["offset"])
    names = {r["data"]["topicId"]: r["data"]["name"] for r in rows if r["type"] == "TopicRecord"}
    by_hand = {f"partition:{names[t]}/{p}#{field}": v for (t, p, field), v in expected.items()}
    assert len(by_hand) > 15
    assert at_first(found) == {"broker:2#fenced": (True, False), **by_hand}
    later = fork(metalog, log, "--drop", fence["offset"])
    assert later["meets_again"] is not None and later["decided"]["inferred"] > 5
    kept = log.with_name("kept")
    saved = fork(metalog, log, "--drop", fence["offset"], "--save", kept)["saved"]
    at_end = f"{kept}@{saved['end_offset'] - 1}"
    differing = metalog("diff", f"{log}@end", at_end, "--json").json["changes"]
    assert differing == but_epochs(later["differences"])


def test_secrets_cannot_be_found_out_by_guessing(metalog: Metalog, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert metalog("init", log).code == 0
    assert metalog("brokers", "register", 1, "--log", log).code == 0
    password = tmp_path / "password"
    password.write_text("pencil")
    key = "ssl.keystore.password"
    file = f"{key}={password}"
    assert metalog("configs", "set", "broker/1", "--from-file", file, "--log", log).code == 0
    (record,) = metalog("dump", log, "--type", "ConfigRecord", "--json").lines
    at = record["offset"]
    added = {"resource_type": 4, "resource_name": "1", "name": key, "value": "pencil"}
    guesses = [
        ["--without", f"config:broker/1#{key}=pencil"],
        ["--edit", json.dumps({"offset": at, "data": {"value": "pencil"}})],
        ["--edit", json.dumps({"offset": at, "data": {"name": "retention.ms"}})],
        ["--add", json.dumps({"after": at, "type": "ConfigRecord", "data": added})],
    ]
    for guess in guesses:
        refused = metalog("what-if", log, "--at", at - 1, *guess)
        assert (refused.code, "with --show-secrets" in refused.err) == (3, True), refused
    for guess in (*guesses[:2], guesses[3]):
        assert metalog("what-if", log, "--at", at - 1, *guess, "--show-secrets").code == 0
    dropped = metalog("what-if", log, "--at", at - 1, "--without", f"config:broker/1#{key}")
    assert (dropped.code, "pencil" in dropped.out) == (0, False)


def test_a_shutdown_whose_beginning_is_dropped_begins_with_the_next_heartbeat(
    metalog: Metalog, tmp_path: Path
) -> None:
    """In the log broker 1 begins to shut down at 16, is fenced at 19, and registers again at 20."""
    log = tmp_path / "log"
    write_scenario(SCENARIOS / "broker_shuts_down_in_order.txt", log)
    found = fork(metalog, log, "--drop", 16)
    assert (found["refused"], found["undecidable"]) == ([], [])
    apart = {
        (each["object"], each["field"]): (each["from_offset"], each["to_offset"])
        for each in found["partings"]
    }
    # It leads on until that heartbeat; then it hands over, and is never fenced.
    assert apart == {
        ("broker:1", "in_controlled_shutdown"): (18, 19),
        ("partition:orders/0", "isr"): (18, 19),
        ("partition:orders/0", "leader"): (18, 19),
        ("partition:orders/1", "isr"): (18, 19),
        ("broker:1", "fenced"): (19, 20),
    }
    assert found["meets_again"] == 20
