"""The first contradiction found by Spark, with its own rules, is the one at which replay stops."""

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metadata_log.format.batch import Batch
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.kraft_format.names import PARTITION_DIRECTORY, segment_name
from metadata_log.reader.log_reader import LogReader
from records.base import Record, Uuid
from records.brokers import FenceBrokerRecord, UnfenceBrokerRecord, UnregisterBrokerRecord
from records.configs import ProducerIdsRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.errors import ContradictionError, CorruptLogError
from records.partitions import PartitionChangeRecord
from records.security import (
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
)
from records.topics import RemoveTopicRecord, TopicRecord
from replay.audit.audit import Audit
from replay.audit.committed_files import committed_files
from replay.audit.contradictions import first_contradiction
from replay.audit.history import History
from replay.audit.log_files import LogFiles
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import Range
from replay.loader import load_image
from tests.api.contradicting_log import BATCHES, ORDERS
from tests.metadata_log.kraft.logs import rows
from tests.mutated_logs.kafka_bytes import put_together
from tests.mutated_logs.mutations import MUTATIONS
from tests.mutated_logs.test_mutated_logs import logs
from tests.real_logs import data_sets
from tests.replay.audit.log_on_disk import write_log
from tests.replay.builders import FakeLog
from tests.samples import cases, sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BEGIN, END, ABORT = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()
STRANGER = Uuid(b"stranger" + bytes(8))
NOT_THERE = PartitionChangeRecord(partition_id=7, topic_id=ORDERS, leader=2)

# Each follows the whole part of a log: brokers 1 and 2 with those epochs, and the topic orders.
TAILS: dict[str, tuple[Record, ...]] = {
    "none": (UnregisterBrokerRecord(broker_id=1, broker_epoch=1),),
    "unknown broker": (FenceBrokerRecord(id=9, epoch=1),),
    "epoch of a broker": (UnfenceBrokerRecord(id=2, epoch=3),),
    "broker that is gone": (
        UnregisterBrokerRecord(broker_id=1, broker_epoch=1),
        FenceBrokerRecord(id=1, epoch=1),
    ),
    "topic id": (TopicRecord(name="other", topic_id=ORDERS),),
    "name of a topic": (TopicRecord(name="orders", topic_id=STRANGER),),
    "name that is free again": (
        RemoveTopicRecord(topic_id=ORDERS),
        TopicRecord(name="orders", topic_id=STRANGER),
    ),
    "unknown topic": (RemoveTopicRecord(topic_id=STRANGER),),
    "partition of an earlier topic": (
        RemoveTopicRecord(topic_id=ORDERS),
        TopicRecord(name="orders", topic_id=ORDERS),
        PartitionChangeRecord(partition_id=0, topic_id=ORDERS, leader=2),
    ),
    "producer ids": tuple(
        ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=n) for n in (1, 3, 2)
    ),
    "removals": (
        RemoveAccessControlEntryRecord(id=STRANGER),
        RemoveUserScramCredentialRecord(name="ada", mechanism=1),
        RemoveDelegationTokenRecord(token_id="secret"),
    ),
    "scram": (RemoveUserScramCredentialRecord(name="ada", mechanism=1),),
    "token": (RemoveDelegationTokenRecord(token_id="secret"),),
    "inside a transaction": (BEGIN, NOT_THERE, END),
    "aborted": (BEGIN, NOT_THERE, ABORT),
    "open": (BEGIN, NOT_THERE),
    "begin inside": (BEGIN, NOT_THERE, BEGIN, END),
    "end outside": (BEGIN, END, END, NOT_THERE),
}


def batches(tail: tuple[Record, ...]) -> Iterator[Batch]:
    """Yield the first part of the contradicting log, and `tail` as batches of one record."""
    at = 0
    for records in (*BATCHES[:6], *((record,) for record in tail)):
        batch = Batch.of(rows(at, 1, *records))
        yield batch
        at = batch.end_offset


def by_replay(log: FakeLog | LogReader) -> int | None:
    try:
        load_image(log)
    except ContradictionError as error:
        return error.record.offset if error.record else -1
    return None


def by_spark(spark: "SparkSession", files: LogFiles) -> int | None:
    with Audit(spark, files) as audit:
        query = QUERIES["contradictions"]
        frame = audit.query(query, Range(0, files.end_offset - 1))
        assert frame.dtypes == [(name, column.type) for name, column in query.columns.items()]
        found = frame.collect()
    assert "secret" not in repr(found)
    return found[0].offset if found else None


@sampled
@pytest.mark.parametrize("name", list(TAILS)[cases(0, 2) :: cases(1, 5)])
def test_first_contradiction_is_that_of_replay(
    spark: "SparkSession", tmp_path: Path, name: str
) -> None:
    log = list(batches(TAILS[name]))
    expected = by_replay(FakeLog(log))
    assert (expected is None) == (name in ("none", "name that is free again", "aborted", "open"))
    assert by_spark(spark, write_log(tmp_path, log)) == expected


def test_rare_records_are_read_from_the_cache(spark: "SparkSession", tmp_path: Path) -> None:
    files = write_log(tmp_path, list(batches(TAILS["end outside"])))
    with History(spark, files, files.end_offset - 1, columns=("timestamp",)) as history:
        found = first_contradiction(history)
        assert history.rare_written.storageLevel.useMemory
        assert "InMemoryTableScan" in found._jdf.queryExecution().executedPlan().toString()


@sampled
@pytest.mark.real_logs
@pytest.mark.skipif(not data_sets(), reason="no real Kafka logs")
def test_first_contradiction_of_a_mutated_real_log_is_that_of_replay(
    spark: "SparkSession", tmp_path: Path
) -> None:
    compared = [
        (number, by_replay(reader), by_spark(spark, committed_files(reader)))
        for number, reader in islice(mutated_mirrors(tmp_path), cases(20, 2))
    ]
    assert [(number, theirs) for number, theirs, _ in compared] == [
        (number, mine) for number, _, mine in compared
    ]
    assert any(theirs is not None for _, theirs, _ in compared)


def mutated_mirrors(folder: Path) -> Iterator[tuple[int, LogReader]]:
    """Yield mutated logs without damage, each with its number."""
    for number in range(1_000):
        rng = random.Random(number)
        log = [batch.copy() for batch in rng.choice(logs())]
        MUTATIONS[number % len(MUTATIONS)](log, rng)
        source = folder / str(number) / PARTITION_DIRECTORY
        source.mkdir(parents=True)
        (source / segment_name(0)).write_bytes(put_together(log))
        target = folder / str(number) / "log"
        try:
            import_directory(open_directory(source), target)
        except CorruptLogError:
            continue
        with LogReader.open(target) as reader:
            yield number, reader
