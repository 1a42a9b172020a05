"""The table of effective changes, compared with computations in plain Python."""

import dataclasses
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.configs import ConfigRecord
from records.control import AbortTransactionRecord, BeginTransactionRecord
from records.partitions import ReplicaDeletionRecord
from records.security import UserScramCredentialRecord
from records.text import uuid_text
from records.topics import (
    MoveTopicRecord,
    RemoveNamespaceRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replay.audit.audit import Audit
from replay.audit.changes import COLUMNS, relation
from replay.audit.committed_files import committed_files
from replay.audit.decoding import log_scan
from replay.audit.fold.settings import RESOURCE_TYPES
from replay.audit.history import History
from replay.audit.log_files import LogFiles
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.audit.relations import SCHEMA
from replay.image.configs import NAMESPACE, RESOURCE_NAMES, TOPIC
from replay.loader import BatchSource
from replay.time_travel.asked_for import AskedFor
from replay.timeline import Timeline
from replay.transactions import effective_rows
from tests.histories import random_history
from tests.replay.asked_log import asked_log, who_asked
from tests.replay.audit import replayed
from tests.replay.audit.log_on_disk import write_base, write_log
from tests.replay.builders import (
    Base,
    FakeLog,
    batches,
    change,
    image_after,
    namespace,
    partition,
    topic,
    uid,
)
from tests.samples import cases, sampled

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

pytestmark = pytest.mark.spark


def changes_in(spark: "SparkSession", files: LogFiles, first: int = 0) -> "list[Row]":
    at = files.end_offset - 1
    with History(spark, files, at, columns=COLUMNS) as history:
        rows: list[Row] = (
            relation(history, "changes", first).orderBy("offset", "kind", "name", "field").collect()
        )
    return rows


def test_change_names_what_was_before_whoever_aborted_in_between(
    spark: "SparkSession", tmp_path: Path
) -> None:
    log = batches(
        (namespace("shop"), topic("orders"), partition("orders", 0)),
        (
            BeginTransactionRecord(),
            change("orders", 0, leader=2),
            change("orders", 0, leader=3),
            AbortTransactionRecord(),
        ),
        (change("orders", 0, leader=1),),
        (MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("shop"), name="sales"),),
        (change("orders", 0, leader=2), BeginTransactionRecord(), change("orders", 0, leader=3)),
    )
    found = changes_in(spark, write_log(tmp_path, log), first=3)
    assert list(found[0].asDict()) == list(SCHEMA)
    leaders = [
        (r["offset"], r["name"], r["before"], r["after"], r["in_effect"])
        for r in found
        if r["field"] == "leader"
    ]
    # A record that names the leader that stands changes nothing; an open transaction is not known.
    assert leaders == [
        (4, "orders/0", "1", "2", False),
        (5, "orders/0", "2", "3", False),
        (9, "shop:sales/0", "1", "2", True),
    ]


def test_resources_of_configs_are_named_as_in_the_image() -> None:
    assert RESOURCE_TYPES == RESOURCE_NAMES


def test_what_a_topic_holds_goes_with_it_and_secrets_stay_hidden(
    spark: "SparkSession", tmp_path: Path
) -> None:
    def config(value: str, type_: int = TOPIC, of: str = "orders") -> Record:
        return ConfigRecord(resource_type=type_, resource_name=of, name="unknown", value=value)

    scram = UserScramCredentialRecord(
        name="ada", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"k", iterations=4_096
    )
    log = batches(
        (topic("orders"), partition("orders", 0), config("a"), scram),
        (RemoveTopicRecord(topic_id=uid("orders")),),
        (config("b"),),
        (namespace("shop"), config("c", NAMESPACE, "shop")),
    )
    found = changes_in(spark, write_log(tmp_path, log))
    id_ = uuid_text(uid("orders"))
    gone = {(r["kind"], r["id"], r["field"]) for r in found if r["after"] is None}
    assert {
        ("topics", id_, "name"),
        ("partitions", f"{id_}/0", "isr"),
        ("configs", f"topic/{id_}", "unknown"),
    } <= gone
    configs = [(r["offset"], r["id"], r["name"]) for r in found if r["kind"] == "configs"]
    assert configs == [
        (2, f"topic/{id_}", "topic/orders"),
        (4, f"topic/{id_}", "topic/orders"),
        (5, "topic/orders", "topic/orders"),
        (7, "namespace/shop", "namespace/shop"),
    ]
    values = {r["after"] for r in found if r["kind"] in ("configs", "scram")}
    assert values == {"(redacted)", "4096", None}


def test_secret_that_was_set_back_is_no_difference(spark: "SparkSession", tmp_path: Path) -> None:
    def config(value: str) -> Record:
        return ConfigRecord(resource_type=4, resource_name="1", name="unknown", value=value)

    log = batches((config("a"),), (config("b"),), (config("a"),))
    with Audit(spark, write_log(tmp_path, log)) as audit:
        changed, back = (
            audit.query(QUERIES["diff"], Range(1, last)).select("baseline", "now").collect()
            for last in (1, 2)
        )
    assert (changed, back) == ([("(redacted)", "(redacted)")], [])


@pytest.mark.parametrize("seed", range(2))
def test_changes_equal_those_of_replay_on_a_random_history(
    spark: "SparkSession", tmp_path: Path, seed: int
) -> None:
    history = random_history(random.Random(seed), 200)
    log = FakeLog(history)
    expected = Counter(
        (c.offset, kind, c.field, replayed.text(c.before), replayed.text(c.after), c.in_effect)
        for c in Timeline(log).changes(0, log.end_offset)
        if (kind := replayed.kind_of(c)) and c.field in replayed.FIELDS
    )
    found = Counter(
        (r["offset"], r["kind"], field, r["before"], r["after"], r["in_effect"])
        for r in changes_in(spark, write_log(tmp_path, history))
        if (field := r["field"].removeprefix("feature_")) in replayed.FIELDS
        and r["kind"] in replayed.KINDS.values()
    )
    assert (found - expected, expected - found) == (Counter(), Counter())


@pytest.mark.parametrize("seed", range(2))
def test_objects_are_named_as_replay_names_them_on_a_random_history(
    spark: "SparkSession", tmp_path: Path, seed: int
) -> None:
    history = random_history(random.Random(seed), 400)
    kinds = kinds_named_alike(spark, write_log(tmp_path, history), FakeLog(history))
    assert kinds == set(replayed.NAMED)


def test_objects_of_the_demo_are_named_as_replay_names_them(
    spark: "SparkSession", demo_log: Path
) -> None:
    with LogReader.open(demo_log) as reader:
        kinds = kinds_named_alike(spark, committed_files(reader), reader)
    assert kinds == {"namespace", "partition", "removal", "topic"}  # it deletes no replicas


def kinds_named_alike(spark: "SparkSession", files: LogFiles, source: BatchSource) -> set[str]:
    """Compare the names of changed objects with those of replay; return the kinds compared."""
    expected = {
        (change.offset, change.object)
        for change in Timeline(source).changes(0, source.end_offset)
        if change.in_effect
        and change.object.partition(":")[0] in replayed.NAMED
        and change.field in replayed.FIELDS
    }
    found = {
        (row["offset"], name)
        for row in changes_in(spark, files)
        if row["in_effect"]
        # A move to another namespace is a change of the name for replay.
        and row["field"] in replayed.FIELDS | {"namespace_id"}
        and (name := replayed.object_of(row["kind"], row["name"], row["id"]))
    }
    assert (found - expected, expected - found) == (set(), set())
    return {name.partition(":")[0] for _, name in found}


def test_replica_deletion_has_the_name_of_its_topic_also_after_the_topic_is_gone(
    spark: "SparkSession", tmp_path: Path
) -> None:
    def deletion(state: int) -> Record:
        return ReplicaDeletionRecord(
            topic_id=uid("sales"), partition_id=0, broker_id=1, state=state
        )

    sales = TopicRecord(topic_id=uid("sales"), namespace_id=uid("shop:billing"), name="sales")
    log = batches(
        (namespace("shop:billing"), sales, partition("sales", 0)),
        (deletion(4),),
        (RemoveTopicRecord(topic_id=uid("sales")),),
        (deletion(7),),
        (RemoveNamespaceRecord(namespace_id=uid("shop:billing")),),
    )
    found = changes_in(spark, write_log(tmp_path, log))
    name, id_ = "shop:billing:sales/0/1", f"{uuid_text(uid('sales'))}/0/1"
    deletions = [row for row in found if row["kind"] == "replica_deletions"]
    assert [(r["offset"], r["name"], r["id"], r["before"], r["after"]) for r in deletions] == [
        (3, name, id_, None, "4"),
        (5, name, id_, "4", None),
    ]
    spaces = [row for row in found if row["kind"] == "namespaces"]
    assert [(r["offset"], r["name"], r["id"]) for r in spaces] == [
        (offset, "shop:billing", uuid_text(uid("shop:billing"))) for offset in (0, 6)
    ]


def test_changes_do_not_depend_on_the_number_of_tasks(
    spark: "SparkSession", tmp_path: Path
) -> None:
    history = random_history(random.Random(5), 120)
    for folder in ("one", "many"):
        (tmp_path / folder).mkdir()
    one = changes_in(spark, write_log(tmp_path / "one", history, batches_a_segment=1_000))
    many = changes_in(spark, write_log(tmp_path / "many", history, batches_a_segment=30))
    assert Counter(one) == Counter(many)
    assert {row["in_effect"] for row in one} == {True, False}


@pytest.mark.parametrize("batches_a_segment", [1, 100])
def test_sorting_changes_computes_them_once(
    spark: "SparkSession", tmp_path: Path, batches_a_segment: int
) -> None:
    log = batches((topic("orders"), partition("orders", 0)), (change("orders", 0, leader=2),))
    files = write_log(tmp_path, log, batches_a_segment=batches_a_segment)
    with Audit(spark, files) as audit:
        audit.spark.conf.set("spark.sql.shuffle.partitions", "2")
        rows = audit.query(QUERIES["changes"], Range(0, files.end_offset - 1))
        plan = rows._jdf.queryExecution().executedPlan().toString()
        found = [row.offset for row in rows.collect()]
    # An exchange by ranges takes a sample first, which computes all that is not behind another.
    sampled, computed = plan.find("rangepartitioning"), plan.find("MapInArrow")
    assert computed > 0
    assert sampled < 0 or sampled < plan.find("hashpartitioning(id") < computed
    assert found == sorted(found) and len(set(found)) == 3


@pytest.mark.parametrize(
    ("text", "is_stored"),
    [
        ("SELECT kind, count(*) FROM changes GROUP BY kind", False),
        ("SELECT * FROM changes ORDER BY offset, field", True),
        ("SELECT a.id FROM changes a JOIN changes b ON a.before = b.after", True),
        ("WITH c AS (SELECT * FROM changes) SELECT * FROM (SELECT * FROM c ORDER BY id) d", True),
        ("SELECT * FROM partition_states ORDER BY offset", True),
        ("SELECT * FROM changes_by_principal ORDER BY first", False),
    ],
)
def test_rows_that_a_query_reads_again_are_stored_by_a_shuffle(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    is_stored: bool,
) -> None:
    log = batches((topic("orders"), partition("orders", 0)), (change("orders", 0, leader=2),))
    files = write_log(tmp_path, log, batches_a_segment=1)
    # Then a task does not read both segments.
    size = max(path.stat().st_size for path in tmp_path.iterdir())
    monkeypatch.setattr(log_scan, "TASK_BYTES", size)
    with Audit(spark, files) as audit:
        frame = audit.sql(text, Range(0, files.end_offset - 1))
        plan = frame._jdf.queryExecution().optimizedPlan().toString()
        assert frame.collect()
    assert ("RepartitionByExpression [id" in plan) == is_stored


def test_change_carries_the_request_that_caused_it(spark: "SparkSession", tmp_path: Path) -> None:
    log = asked_log()
    found = changes_in(spark, write_log(tmp_path, log))
    offsets: dict[int, set[str]] = defaultdict(set)
    for row in found:
        if row["asked_offset"] is not None:
            who = row["asked_principal"].removeprefix("User:")
            assert row["asked_reason"] == f"{who} said so"
            offsets[row["offset"]].add(who)
    assert offsets == {offset: set(who.split()) for offset, who in who_asked().items()}
    asked_alike(found, FakeLog(log))


@sampled
@pytest.mark.parametrize("cut", range(2, 26, cases(4, 8)))
def test_what_was_asked_before_the_kept_history_is_not_known(
    spark: "SparkSession", tmp_path: Path, cut: int
) -> None:
    log = asked_log()[:cut], asked_log()[cut:]
    base = Base.of(image_after(log[0]))
    path = write_base(tmp_path, base.end_offset, base.records)
    found = write_log(tmp_path, log[1])
    files = dataclasses.replace(found, base=path, base_end_offset=base.end_offset)
    asked_alike(changes_in(spark, files, base.end_offset), FakeLog(log[1], base=base))


@sampled
@pytest.mark.parametrize("seed", range(cases(6, 1)))
def test_who_asked_equals_that_of_replay_on_a_random_history(
    spark: "SparkSession", tmp_path: Path, seed: int
) -> None:
    history = random_history(random.Random(seed), 600)
    assert asked_alike(changes_in(spark, write_log(tmp_path, history)), FakeLog(history)) > 3


def test_who_asked_in_the_demo_equals_that_of_replay(spark: "SparkSession", demo_log: Path) -> None:
    with LogReader.open(demo_log) as reader:
        assert asked_alike(changes_in(spark, committed_files(reader)), reader) > 5


def asked_alike(found: "list[Row]", source: BatchSource) -> int:
    """Compare who asked for each change in effect with replay; return how many others asked for."""
    rows = {
        row.offset: row
        for row in effective_rows(
            source.batches(source.history_start, source.end_offset),
            source.history_start,
            source.end_offset,
        )
    }
    asked_for = AskedFor(source)
    kinds = {part: word for word, part in replayed.NAMED.items()}
    count = 0
    for row in found:
        expected = None
        if row["in_effect"] and row["kind"] in kinds and row["offset"] in rows:
            # Deletions go by the topic's id, whose name has no slash.
            label = row["id"] if row["kind"] != "topics" else row["name"]
            expected = asked_for.of(rows[row["offset"]], kinds[row["kind"]], label)
        origin = None if expected is None else expected.origin
        assert (row["asked_offset"], row["asked_principal"], row["asked_reason"]) == (
            expected and expected.offset,
            origin and origin.principal,
            origin and origin.reason,
        ), row
        count += expected is not None
    return count
