"""Spark reads exactly the committed records, without those of a fenced writer."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metadata_log.care.backup import back_up
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import open_store
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.avro.schema import envelope_schema
from records.control import NoteRecord
from records.errors import CorruptLogError
from replay.audit.audit import Audit
from replay.audit.committed_files import committed_files, readable_files
from replay.audit.log_frame import open_log
from replay.audit.python_source import SegmentSource
from replay.audit.queries.asking import Range

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


async def append(log: MetadataLog, text: str) -> None:
    await log.append(NewBatch(records=(NoteRecord(at_offset=0, author="ada", text=text),)))


@pytest.fixture
async def taken_over(tmp_path: Path) -> Path:
    """A log of two writers; the first one kept writing after the second one had taken over."""
    create_log(tmp_path / "first", "test-cluster")
    first = await MetadataLog.open(tmp_path / "first")
    await append(first, "committed")
    shutil.copytree(tmp_path / "first", tmp_path / "log")
    await append(first, "lost")
    await first.close()
    second = await MetadataLog.open(tmp_path / "log")
    await append(second, "committed")
    await second.close()
    (segment,) = [path for path in (tmp_path / "first").glob("*.avro") if path.stat().st_size]
    shutil.copy(segment, tmp_path / "log" / segment.name)
    return tmp_path / "log"


def test_what_a_fenced_writer_wrote_is_not_read(
    spark: "SparkSession", taken_over: Path, tmp_path: Path
) -> None:
    with LogReader.open(taken_over) as reader:
        offsets = [row.offset for batch in reader.batches() for row in batch.rows]
        files = committed_files(reader)
        assert [path.name for path in files.cut] == ["00000000000000000000.avro"]
        (tmp_path / "scratch").mkdir()
        frame = open_log(spark, files.frozen(tmp_path / "scratch"))
        rows = frame.select("offset", "payload.member_NoteRecord.text").collect()
    assert sorted(row["offset"] for row in rows) == offsets
    assert "lost" not in {row["text"] for row in rows}


def test_archive_in_a_bucket_is_fetched_as_far_as_it_is_asked_for(
    spark: "SparkSession", taken_over: Path, tmp_path: Path, s3_place: str
) -> None:
    with LogReader.open(taken_over) as reader:
        back_up(OsFs(), reader, open_store(s3_place))
        first, second = reader.segment_paths
        offsets = [row.offset for batch in reader.batches() for row in batch.rows]
    fetched: list[str] = []
    with LogReader.open(s3_place) as reader:
        files = readable_files(reader, tmp_path, lambda path, size: fetched.append(str(path)))
        start = int(second.stem)
        later = open_log(spark, files, start=start).select("offset").collect()
        assert sorted(row["offset"] for row in later) == [o for o in offsets if o >= start]
        assert fetched == [f"{s3_place}/{second.name}"]
        whole = [row["offset"] for row in open_log(spark, files).select("offset").collect()]
        assert sorted(whole) == offsets
        assert fetched == [f"{s3_place}/{path.name}" for path in (second, first)]


def test_workers_read_by_ranges_where_no_folder_is_seen_by_all_nodes(
    spark: "SparkSession", taken_over: Path
) -> None:
    """Nothing is copied, as on a cluster without a shared folder."""
    with LogReader.open(taken_over) as reader:
        first, second = reader.segment_paths
        offsets = [row.offset for batch in reader.batches() for row in batch.rows]
        files = readable_files(reader, None, lambda path, size: None)
        whole = Range(0, reader.end_offset - 1)
    assert list(files.by_ranges) == [first]
    with Audit(spark, files) as audit:
        found = audit.sql("SELECT offset FROM log", whole).collect()
        assert sorted(row["offset"] for row in found) == offsets
        # The condition is found above a scan of our own, too, so that one segment is enough.
        early = audit.sql(f"SELECT offset FROM log WHERE offset < {second.stem}", whole)
        assert second.name not in early._jdf.queryExecution().toString()


def test_worker_reads_an_object_of_a_bucket_by_ranges(taken_over: Path, s3_place: str) -> None:
    with LogReader.open(taken_over) as reader:
        back_up(OsFs(), reader, open_store(s3_place))
        offsets = [row.offset for batch in reader.batches() for row in batch.rows]
    with LogReader.open(s3_place) as reader:
        files = readable_files(reader, None, lambda path, size: None)
    assert tuple(files.by_ranges) == files.segments
    sizes = [[str(path), size] for path, size in files.by_ranges.items()]
    options = {"files": json.dumps(sizes), "avroSchema": json.dumps(envelope_schema())}
    source = SegmentSource(options)
    tasks = source.reader(source.schema())
    batches = [batch for task in tasks.partitions() for batch in tasks.read(task)]
    assert [offset for batch in batches for offset in batch["offset"].to_pylist()] == offsets


def test_segment_that_was_shortened_is_damage(taken_over: Path) -> None:
    first, _ = sorted(taken_over.glob("*.avro"))
    with LogReader.open(taken_over) as reader:
        (size,) = committed_files(reader).cut.values()
    with first.open("r+b") as segment:
        segment.truncate(size - 1)
    with (
        LogReader.open(taken_over) as reader,
        pytest.raises(CorruptLogError, match=rf"{first.name} .* past byte {size - 1}, "),
    ):
        committed_files(reader)


async def test_missing_segment_is_named_by_the_offsets_around_it(tmp_path: Path) -> None:
    create_log(tmp_path, "test-cluster")
    for text in ("first", "longer than the first", "last"):
        log = await MetadataLog.open(tmp_path)
        await append(log, text)
        await log.close()
    first, missing, last = sorted(tmp_path.glob("*.avro"))
    missing.unlink()
    place = f"the segment ends here at offset {int(missing.stem)}, {last.name} was written after"
    with (
        LogReader.open(tmp_path) as reader,
        pytest.raises(CorruptLogError, match=rf"{first.name} byte \d+: {place}.*missing"),
    ):
        committed_files(reader)
