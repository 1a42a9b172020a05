"""The named queries, compared with plain Python computations, on real and random logs."""

import dataclasses
import datetime
import json
import random
import zoneinfo
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from controller.authorization.acls import PatternType, PermissionType
from controller.authorization.authorizer import Operation, ResourceType
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from records.envelope import Envelope
from records.errors import RequestError
from records.secrets import PUBLIC_CONFIGS, REDACTED
from replay import acl_words
from replay.audit.audit import Audit
from replay.audit.committed_files import committed_files
from replay.audit.log_files import LogFiles
from replay.audit.queries import QUERIES, settings_and_rights
from replay.audit.queries.asking import Range, chosen_parameters
from replay.loader import BatchSource
from replay.time_travel.kinds import KINDS
from replay.timeline import Timeline
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.audit import plain, replayed
from tests.replay.audit.log_on_disk import write_log
from tests.replay.builders import FakeLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Asked:
    """An audit of a range of a log, and its records; the session's time zone is not UTC."""

    audit: Audit
    offsets: Range
    rows: Sequence[Envelope]
    source: BatchSource

    def rows_of(self, name: str, parameters: Any = None) -> list[dict[str, Any]]:
        """Return the answer to a query with times in ms; check that it has the documented
        columns.
        """
        query = QUERIES[name]
        frame = self.audit.query(query, self.offsets, parameters)
        assert frame.dtypes == [(name, column.type) for name, column in query.columns.items()]
        rows = [_in_ms(row.asDict()) for row in frame.collect()]
        nullable = {name for name, column in query.columns.items() if column.null}
        for row in rows:
            assert {name for name, value in row.items() if value is None} <= nullable, row
        return rows

    def tuples(self, query: str, *columns: str) -> list[tuple[Any, ...]]:
        """Return some columns of an answer."""
        return [tuple(row[column] for column in columns) for row in self.rows_of(query)]


def _in_ms(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: round(value.timestamp() * 1_000) if isinstance(value, datetime.datetime) else value
        for name, value in row.items()
    }


@pytest.fixture
def far_away(spark: "SparkSession") -> "Iterator[SparkSession]":
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")


@each_data_set_where(lambda each: str(each) == "ogs59-3node-history/data_kafka-2")
def test_queries_equal_plain_computations_on_a_real_log(
    far_away: "SparkSession", tmp_path: Path, data_set: DataSet
) -> None:
    answers_agree_on(far_away, data_set, tmp_path, parts=2)


MORE_LOGS = {
    "azercell3-3node-legacy/data_kafka1": 3,  # fenced brokers, elections
    "log4j2-migration-removetopic/data": 3,  # a deletion, 1,173 changes of partitions
    "indus-rig-removetopic-snapshots/kafka-data": 9,  # two deletions
    "greenhouse-rolled-history/kafka_data_data": 3,  # two segments, 1,483 changes of partitions
    "flink-on-prem-63-topics/data": 12,  # 63 topics with 375 configs
}
"""Each with the part of the log that is before the range: so much lies in the range."""


@pytest.mark.heavy
@each_data_set_where(lambda each: str(each) in MORE_LOGS)
def test_queries_equal_plain_computations_on_more_real_logs(
    far_away: "SparkSession", tmp_path: Path, data_set: DataSet
) -> None:
    far_away.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        answers_agree_on(far_away, data_set, tmp_path, parts=MORE_LOGS[str(data_set)])
    finally:
        far_away.conf.set("spark.sql.shuffle.partitions", "1")


def answers_agree_on(spark: "SparkSession", data_set: DataSet, folder: Path, *, parts: int) -> None:
    """Compare the answers for a range of a real log, each query by itself as on the command
    line.
    """
    import_directory(open_directory(data_set.materialise(folder)), folder / "log")
    with LogReader.open(folder / "log") as reader:
        files = committed_files(reader)
        rows = [row for batch in reader.batches() for row in batch.rows]
        offsets = Range(files.end_offset // parts, files.end_offset - 1)
        answers_agree(spark, files, rows, offsets, reader, keep=False)


@pytest.mark.parametrize("seed", [11])
def test_queries_equal_plain_computations_on_a_random_history(
    far_away: "SparkSession", tmp_path: Path, seed: int
) -> None:
    history = random_history(random.Random(seed), 400)
    files = write_log(tmp_path, history)
    rows = [row for batch in history for row in batch.rows]
    offsets = Range(files.end_offset // 3, files.end_offset - 1)
    answers_agree(far_away, files, rows, offsets, FakeLog(history), keep=True)


BY_TOPIC = ("who", "objects", "diff", "leader-churn", "availability", "reassignments", "placement")


def test_answers_do_not_depend_on_the_number_of_tasks(
    spark: "SparkSession", tmp_path: Path
) -> None:
    history = random_history(random.Random(5), 120)
    answers = []
    for segments, batches_a_segment in (("one", 1_000), ("many", 30)):
        (tmp_path / segments).mkdir()
        files = write_log(tmp_path / segments, history, batches_a_segment=batches_a_segment)
        offsets = Range(files.end_offset // 3, files.end_offset - 1)
        with Audit(spark, files) as audit:
            rows = {name: audit.query(QUERIES[name], offsets).collect() for name in BY_TOPIC}
        answers.append({name: Counter(map(repr, found)) for name, found in rows.items()})
    one, many = answers
    assert one == many
    assert all(one.values())


def answers_agree(
    spark: "SparkSession",
    files: LogFiles,
    rows: Sequence[Envelope],
    offsets: Range,
    source: BatchSource,
    *,
    keep: bool,
) -> None:
    with Audit(spark, files, keep=keep) as audit:
        asked = Asked(audit, offsets, rows, source)
        partitions_agree(asked)
        brokers_agree(asked)
        topics_and_rights_agree(asked)
        sums_agree(asked)
        differences_agree(asked)


def partitions_agree(asked: Asked) -> None:
    past = plain.Histories(asked.rows, asked.offsets.first)
    churn = {
        (row["hour"], row["id"], column): row[column]
        for row in asked.rows_of("leader-churn")
        for column in ("leader_changes", "isr_shrinks")
        if row[column]
    }
    assert churn == plain.churn(past)
    columns = ("outages", "unavailable_ms", "shortages", "under_replicated_ms")
    found = {row[0]: row[1:] for row in asked.tuples("availability", "id", *columns)}
    assert found == plain.availability(past)
    unclean = asked.tuples("unclean-elections", "offset", "id", "leader")
    assert set(unclean) == plain.unclean_elections(past)
    moves = asked.tuples("reassignments", "id", "from_offset", "to_offset", "outcome")
    assert set(moves) == plain.reassignments(past)
    modes = asked.tuples("modes", "id", "offset", "before", "mode", "to_offset")
    assert set(modes) == plain.modes(past)
    placed = asked.tuples("placement", "hour", "broker", "replicas", "leaders")
    assert {row[:2]: row[2:] for row in placed} == plain.placement(past)


def brokers_agree(asked: Asked) -> None:
    past = plain.Histories(asked.rows, asked.offsets.first)
    states = asked.tuples("fencing", "broker", "offset", "state", "ms")
    assert {(str(broker), *rest) for broker, *rest in states} == plain.fencing(past)
    flaps = {
        (row["hour"], str(row["broker"]), is_fenced): row[column]
        for row in asked.rows_of("flapping")
        for is_fenced, column in ((True, "fenced"), (False, "unfenced"))
        if row[column]
    }
    assert flaps == plain.flapping(past)


def topics_and_rights_agree(asked: Asked) -> None:
    rows, first = asked.rows, asked.offsets.first
    columns = ("name", "topic_id", "from_offset", "to_offset", "to_record")
    assert set(asked.tuples("topic-lives", *columns)) == plain.topic_lives(rows, first)
    acls = asked.tuples(
        "acl-changes", "offset", "change", "id", "acl_principal", "host", "resource"
    )
    assert sorted(acls) == plain.acl_changes(rows, first)
    codes = {name: code for code, name in settings_and_rights.MECHANISMS.items()}
    scram = asked.tuples("scram-changes", "offset", "change", "user", "mechanism")
    assert sorted((*row, codes[name]) for *row, name in scram) == plain.scram_changes(rows, first)
    quotas = asked.tuples("quota-changes", "offset", "quota", "before", "after")
    assert sorted(quotas, key=repr) == plain.quota_changes(rows, first)


def differences_agree(asked: Asked) -> None:
    """Compare the difference of two states, also from inside a transaction, with replay's own."""
    timeline = Timeline(asked.source)
    last = asked.offsets.last
    rng = random.Random(last)
    for first in (asked.offsets.first, rng.randrange(asked.source.history_start, last)):
        expected = Counter(
            (kind, change.field, replayed.text(change.before), replayed.text(change.after))
            for change in timeline.diff(first - 1, last)
            if (kind := replayed.kind_of(change)) and change.field in replayed.FIELDS
        )
        elsewhere = dataclasses.replace(asked, offsets=Range(first, last))
        columns = ("kind", "field", "baseline", "now")
        found = Counter(
            (kind, field.removeprefix("feature_"), *values)
            for kind, field, *values in elsewhere.tuples("diff", *columns)
            if kind in replayed.KINDS.values() and field.removeprefix("feature_") in replayed.FIELDS
        )
        assert (found - expected, expected - found) == (Counter(), Counter()), first
    baseline_agrees(asked, timeline)


def baseline_agrees(asked: Asked, timeline: Timeline) -> None:
    """Compare configs with those that `metalog image --part configs --json` prints for another
    offset.
    """
    before, now = (
        {
            f"config:{KINDS['config'].label(image, key)}": dict(image.config(*key))
            for key, _ in image.configs()
        }
        for image in map(timeline.image, (asked.offsets.first - 1, asked.offsets.last))
    )
    shown = [{"object": name, "version": 1, **fields} for name, fields in before.items()]
    baseline = json.dumps({"parts": {"configs": shown}})
    found = {
        (f"config:{row['name']}", row["field"]): (row["baseline"], row["now"])
        for row in asked.rows_of("baseline-drift", {"baseline": baseline})
        if row["now"] != REDACTED
    }
    names = {(name, field) for each in (before, now) for name in each for field in each[name]}
    assert found == {
        (name, field): values
        for name, field in names
        if (values := (before.get(name, {}).get(field), now.get(name, {}).get(field)))[0]
        != values[1]
        and (field in PUBLIC_CONFIGS or values[1] is None)
    }


def sums_agree(asked: Asked) -> None:
    """Compare the queries that sum up changes with sums of the changes tested in
    test_changes.py.
    """
    every = asked.rows_of("changes")
    done = [row for row in every if row["in_effect"]]
    who: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    objects: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    fields: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in done:
        who[row["principal"], row["command"]].append(row)
        objects[_object(row)].append(row)
        fields[*_object(row), row["field"]].append(row)
    counts = ("principal", "command", "changes", "records", "objects")
    assert sorted(asked.tuples("who", *counts), key=repr) == sorted(
        (
            (
                *key,
                len(rows),
                len({r["offset"] for r in rows}),
                len({(r["kind"], r["id"]) for r in rows}),
            )
            for key, rows in who.items()
        ),
        key=repr,
    )
    found = {row[:2]: row[2:] for row in asked.tuples("objects", "kind", "id", "changes", "name")}
    assert found == {
        key: (len(rows), max(rows, key=lambda r: r["offset"])["name"])
        for key, rows in objects.items()
    }
    listed = Counter(asked.tuples("unexplained", "offset", "kind", "id"))
    assert set(listed.values()) <= {1}
    assert set(listed) == {
        (_offset(r), *_object(r)) for r in done if None in (r["principal"], r["reason"])
    }
    elsewhere: dict[str, Any] = {"zone": "Asia/Tokyo", "from_hour": 0, "to_hour": 7}
    for parameters in ({}, elsewhere):
        late = {(_offset(r), *_object(r)) for r in done if is_late(r["time"], **parameters)}
        found_late = asked.rows_of("out-of-hours", parameters)
        assert {(_offset(r), *_object(r)) for r in found_late} == late
    drifted = asked.tuples("diff", "kind", "id", "field", "baseline", "now")
    expected = {(*key, rows[0]["before"], rows[-1]["after"]) for key, rows in fields.items()}
    differ = {row for row in expected if row[-2] != row[-1]}
    secret = {row for row in expected if row[-2] == row[-1] == REDACTED}
    assert differ <= set(drifted) <= differ | secret
    configs = asked.tuples("config-drift", "id", "field", "baseline", "now")
    assert set(configs) == {row[1:] for row in drifted if row[0] == "configs"}
    deletions_agree(asked, done)


def _offset(row: dict[str, Any]) -> Any:
    return row["offset"]


def _object(row: dict[str, Any]) -> tuple[Any, Any]:
    return row["kind"], row["id"]


def deletions_agree(asked: Asked, done: list[dict[str, Any]]) -> None:
    gone = {
        (row["offset"], row["kind"], row["id"], row["field"] if row["kind"] == "configs" else None)
        for row in done
        if row["after"] is None
        and (row["record"].startswith(("Remove", "Unregister")) or row["kind"] in _UNSET_ALONE)
        and row["kind"] != "pending_partition_removals"
        and (row["kind"] == "topics" or row["record"] != "RemoveTopicRecord")
    }
    found = asked.tuples("deletions", "offset", "kind", "id", "config")
    assert len(found) == len(set(found))
    assert set(found) == gone


_UNSET_ALONE = ("configs", "client_quotas", "features")


def is_late(time_ms: int, zone: str = "UTC", from_hour: int = 8, to_hour: int = 18) -> bool:
    time = datetime.datetime.fromtimestamp(time_ms / 1_000, zoneinfo.ZoneInfo(zone))
    return time.weekday() >= 5 or not from_hour <= time.hour < to_hour


def test_parameters_are_those_of_the_query() -> None:
    query = QUERIES["out-of-hours"]
    chosen = chosen_parameters(query, {"zone": "Asia/Tokyo"})
    assert chosen == {"from_hour": 8, "to_hour": 18, "zone": "Asia/Tokyo"}
    with pytest.raises(RequestError, match="no parameter until"):
        chosen_parameters(query, {"until": 3})
    with pytest.raises(RequestError, match="from_hour of out-of-hours must be of type int"):
        chosen_parameters(query, {"from_hour": "8"})


def test_baseline_that_is_something_else_is_refused() -> None:
    for text in ("[]", '{"parts": {"configs": [{"name": "a"}]}}', "no JSON"):
        with pytest.raises(RequestError, match="the baseline is not what `metalog image LOG"):
            chosen_parameters(QUERIES["baseline-drift"], {"baseline": text})


def test_names_of_codes_are_those_of_the_authorizer() -> None:
    tables = acl_words
    assert {each.value: each.name for each in Operation} == tables.OPERATIONS
    assert {each.value: each.name for each in ResourceType} == tables.RESOURCE_TYPES
    for names, codes in ((tables.PATTERN_TYPES, PatternType), (tables.PERMISSIONS, PermissionType)):
        assert all(codes(code).name == name for code, name in names.items())
