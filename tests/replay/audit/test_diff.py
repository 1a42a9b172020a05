"""The difference of two states, computed by Spark alone, equals replay's own on real logs.

Each object is compared by its id and each field by its value, secrets included. Random histories
are in test_named_queries.py.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from records.configs import FeatureLevelRecord
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.text import uuid_text
from replay.audit.audit import Audit
from replay.audit.committed_files import committed_files
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.image.configs import RESOURCE_NAMES, TOPIC
from replay.image.metadata import MetadataImage
from replay.time_travel.kinds import KINDS
from replay.timeline import Timeline
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.audit import replayed
from tests.replay.audit.log_on_disk import write_log
from tests.replay.builders import batches
from tests.samples import cases, sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Difference = tuple[str, str, str, str | None, str | None]
"""Part, id of the object, field, value before, value after."""

_SMALL = "azercell3-3node-legacy/data_kafka1"
_DERIVED = {"leader_epoch", "partition_epoch", "partitions", "topic_id"}
"""Fields that replay derives or shows beside its own: no record sets them, so no change does."""
_PARTS = {
    "topic": "topics",
    "partition": "partitions",
    "broker": "brokers",
    "controller": "controllers",
    "voter": "voters",
    "config": "configs",
    "feature": "features",
}
_CLUSTER = ("kraft_version", "producer_ids", "zk_migration")
"""Parts of one object, which replay names in other words."""
_FIELDS = {"feature": {"level": "feature_level"}}


@sampled
@each_data_set_where(lambda each: True, is_heavy=lambda each: str(each) != _SMALL)
def test_differences_of_two_points_of_a_real_log_are_those_of_replay(
    spark: "SparkSession", tmp_path: Path, data_set: DataSet
) -> None:
    import_directory(open_directory(data_set.materialise(tmp_path)), tmp_path / "log")
    with (
        LogReader.open(tmp_path / "log") as reader,
        Audit(spark, committed_files(reader), keep=True) as audit,
    ):
        timeline, compared = Timeline.of(reader), 0
        for first, last in points(reader):
            expected = set(by_replay(timeline, first - 1, last))
            assert by_spark(audit, first, last) == expected, (first, last)
            compared += len(expected)
    assert compared


def test_nothing_changes_while_no_record_sets_anything(
    spark: "SparkSession", tmp_path: Path
) -> None:
    files = write_log(tmp_path, batches([BeginTransactionRecord()], [EndTransactionRecord()]))
    with Audit(spark, files) as audit:
        assert by_spark(audit, 0, files.end_offset - 1) == set()


def test_a_range_that_begins_inside_a_transaction_has_all_its_changes(
    spark: "SparkSession", tmp_path: Path
) -> None:
    one, two = (FeatureLevelRecord(name=name, feature_level=1) for name in "ab")
    history = batches([BeginTransactionRecord()], [one], [two], [EndTransactionRecord()], [one])
    with Audit(spark, write_log(tmp_path, history)) as audit:
        both = {("features", name, "feature_level", None, "1") for name in "ab"}
        assert by_spark(audit, 2, 4) == both
        assert by_spark(audit, 4, 4) == set()


def points(reader: LogReader) -> Iterator[tuple[int, int]]:
    """Yield ranges: the whole log, and some with random ends."""
    start, last = reader.history_start, reader.end_offset - 1
    rng = random.Random(last)
    yield start, last
    for end in (last, rng.randint(start, last))[: cases(2, 1)]:
        for _ in range(cases(4, 1)):
            yield rng.randint(start, end), end


def by_spark(audit: Audit, first: int, last: int) -> set[Difference]:
    frame = audit.query(QUERIES["diff"], Range(first, last), show_secrets=True)
    rows = frame.select("kind", "id", "field", "baseline", "now").collect()
    return {tuple(row) for row in rows if row["kind"] not in _CLUSTER}


def by_replay(timeline: Timeline, before: int, after: int) -> Iterator[Difference]:
    images = timeline.image(after), timeline.image(before)
    for change in timeline.diff(before, after):
        kind, _, label = change.object.partition(":")
        if kind == "cluster" or change.field in _DERIVED:
            continue
        field = _FIELDS.get(kind, {}).get(change.field, change.field)
        values = replayed.text(change.before), replayed.text(change.after)
        yield _PARTS[kind], id_of(kind, label, images), field, *values


def id_of(kind: str, label: str, images: tuple[MetadataImage, MetadataImage]) -> str:
    """Return the id that the audit uses for an object that replay names."""
    found = ((image, KINDS[kind].find(image, label)) for image in images)
    image, key = next((image, key) for image, key in found if key is not None)
    match kind:
        case "topic":
            return uuid_text(key)
        case "partition":
            return f"{uuid_text(key[0])}/{key[1]}"
        case "config":
            return f"{RESOURCE_NAMES.get(key[0], key[0])}/{resource_id(image, *key)}"
    return str(key)


def resource_id(image: MetadataImage, type_: int, name: str) -> Any:
    """Return the id of a topic with configs, or the name of any other resource."""
    topic = image.topic_by_full_name(name) if type_ == TOPIC else None
    return name if topic is None else uuid_text(topic.topic_id)
