"""The bench of the service with many partitions, run with few."""

import asyncio
import itertools
from pathlib import Path

from benchmarks import large_service
from benchmarks.partitions_log import moves, write_partitions_log
from controller.log_check import check_log
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from replay.image.metadata import MetadataImage
from replay.loader import load_image


def test_generated_log_holds_the_partitions_and_violates_no_invariant(tmp_path: Path) -> None:
    log = tmp_path / "log"
    asyncio.run(_write(log, partitions=250))
    with LogReader.open(log) as reader:
        image = load_image(reader)
        found = check_log(reader, MetadataImage.EMPTY, reader.end_offset)
    assert found == []
    assert (image.topic_count, image.partition_count) == (3, 250)
    moved = [p for topic in image.topics() for p in image.partitions(topic.topic_id)]
    assert all(partition.leader == partition.replicas[1] for partition in moved)


async def _write(directory: Path, partitions: int) -> None:
    """Write a log, and move the leader of each partition once."""
    await write_partitions_log(directory, partitions)
    log = await MetadataLog.open(directory)
    await log.append(NewBatch(records=tuple(itertools.islice(moves(partitions), partitions))))
    await log.close()


def test_bench_compares_start_memory_and_change_of_two_services(tmp_path: Path) -> None:
    results = large_service.run(tmp_path, 1_000, rounds=1)
    assert len(results) == 8
    assert all(result.ratio is not None and result.ratio > 0 for result in results)
    assert all("at 1,000 partitions / at 10" in result.name for result in results)
    judged = [result.name.split(" at ")[0] for result in results if result.target is not None]
    assert judged == ["leader moved", "topic created"]
