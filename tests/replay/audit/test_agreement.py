"""The audit and replay give the same results: two implementations of docs/replay.md and
docs/digest.md.
"""

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metadata_log.format.batch import Batch
from metadata_log.format.checkpoint import CheckpointRecord
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror import MirrorBuilder
from records.configs import ClientQuotaRecord, EntityData
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    KRaftVersionRecord,
)
from replay.audit import log_frame
from replay.audit.committed_files import committed_files
from replay.audit.digest import audit_digest
from replay.audit.digest_lines import digest_lines
from replay.audit.history import History
from replay.audit.log_files import LogFiles
from replay.audit.state import sums
from replay.image.digest import FIRST_PARTS, image_digest, part_digests
from replay.image.records import image_records
from replay.loader import BatchSource, images, load_image
from tests.histories import random_history
from tests.real_logs import DataSet, each_covering_data_set
from tests.replay.audit.log_on_disk import write_log
from tests.replay.builders import FakeLog, batches, partition, topic
from tests.samples import cases, sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def lines_by_replay(source: BatchSource, at: int) -> list[str]:
    """Return the digest lines of docs/digest.md, so that a difference names its part."""
    parts = part_digests(load_image(source, at))
    return [
        f"{part} {digest.count} {' '.join(map(str, digest.lanes))}\n"
        for part, digest in parts.items()
        if part in FIRST_PARTS or digest.count
    ]


def lines_by_audit(spark: "SparkSession", files: LogFiles, at: int) -> list[str]:
    with History(spark, files, at) as history:
        return digest_lines(sums(history))


@sampled
@pytest.mark.parametrize("seed", range(cases(4, 2)))
def test_audit_agrees_with_replay_on_a_random_history(
    spark: "SparkSession", tmp_path: Path, seed: int
) -> None:
    """Histories have every record type; the offsets are random, some inside transactions."""
    rng = random.Random(seed)
    history = random_history(rng, 250)
    files, log = write_log(tmp_path, history), FakeLog(history)
    at = rng.choice([log.end_offset - 1, rng.randrange(log.end_offset // 2, log.end_offset)])
    assert lines_by_audit(spark, files, at) == lines_by_replay(log, at)


def test_audit_agrees_with_replay_before_the_first_record(
    spark: "SparkSession", tmp_path: Path
) -> None:
    history = random_history(random.Random(0), 20)
    files, log = write_log(tmp_path, history), FakeLog(history)
    assert lines_by_audit(spark, files, -1) == lines_by_replay(log, -1)


def test_audit_agrees_with_replay_without_the_reader_of_spark(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_frame, "READERS", ())
    user = EntityData(entity_type="user", entity_name="ada")
    quota = ClientQuotaRecord(entity=(user,), key="k", value=1.0, remove=False)
    history = batches([quota], [topic("orders"), partition("orders", 0)])
    files, log = write_log(tmp_path, history), FakeLog(history)
    assert lines_by_audit(spark, files, 2) == lines_by_replay(log, 2)


def test_entity_of_a_quota_is_a_set(spark: "SparkSession", tmp_path: Path) -> None:
    user = EntityData(entity_type="user", entity_name="ada")
    twice = ClientQuotaRecord(entity=(user, user), key="k", value=1.0, remove=False)
    once = ClientQuotaRecord(entity=(user,), key="k", value=2.0, remove=False)
    history = batches([twice], [once])
    files, log = write_log(tmp_path, history), FakeLog(history)
    assert lines_by_audit(spark, files, 1) == lines_by_replay(log, 1)


def test_control_record_takes_effect_though_its_transaction_is_aborted(
    spark: "SparkSession", tmp_path: Path
) -> None:
    version = KRaftVersionRecord(version=0, kraft_version=1)
    begin, abort = BeginTransactionRecord(), AbortTransactionRecord()
    history = batches([begin, topic("never")], [version], [abort], [topic("orders")])
    files, log = write_log(tmp_path, history), FakeLog(history)
    found = lines_by_audit(spark, files, 4)
    assert any(line.startswith("kraft_version 1 ") for line in found)
    assert found == lines_by_replay(log, 4)
    assert lines_by_audit(spark, files, 2) == lines_by_replay(log, 2)


def test_audit_agrees_with_replay_on_the_demo(spark: "SparkSession", demo_log: Path) -> None:
    with LogReader.open(demo_log) as reader:
        for at in (reader.end_offset // 2, reader.end_offset - 1):
            with History(spark, committed_files(reader), at) as history:
                assert audit_digest(history) == image_digest(load_image(reader, at))


@each_covering_data_set
def test_audit_agrees_with_replay_at_the_end_of_a_real_log(
    spark: "SparkSession", tmp_path: Path, data_set: DataSet
) -> None:
    directory = data_set.materialise(tmp_path)
    import_directory(open_directory(directory), tmp_path / "log")
    with LogReader.open(tmp_path / "log") as reader:
        at = reader.end_offset - 1
        found = lines_by_audit(spark, committed_files(reader), at)
        assert found == lines_by_replay(reader, at)


def test_audit_agrees_with_replay_on_a_log_that_starts_at_a_checkpoint(
    spark: "SparkSession", tmp_path: Path
) -> None:
    log = log_with_base(tmp_path / "log", random_history(random.Random(3), 120))
    with LogReader.open(log) as reader:
        assert reader.base is not None
        for at in (reader.history_start - 1, reader.end_offset - 1):
            found = lines_by_audit(spark, committed_files(reader), at)
            assert found == lines_by_replay(reader, at)


def log_with_base(directory: Path, history: list[Batch]) -> Path:
    """Write a mirror with the second half of a history, and a base checkpoint of the first half."""
    for batch, image in images(FakeLog(history), 0, history[-1].end_offset):
        whole = image.provenance.pending_transaction is None
        if batch.base_offset > history[-1].end_offset // 2 and whole:
            break
    with MirrorBuilder(directory, "test-cluster") as mirror:
        mirror.write_base(
            [CheckpointRecord(record, version) for record, version in image_records(image)],
            end_offset=batch.end_offset,
            leader_epoch=batch.leader_epoch,
            timestamp=batch.timestamp,
        )
        for later in history[history.index(batch) + 1 :]:
            mirror.append(later.rows, later.end_offset)
        mirror.finish(confirmed_end=0)
    return directory
