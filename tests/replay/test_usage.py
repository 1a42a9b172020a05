"""Space usage, compared with numbers and sizes of records that fastavro reads from the files."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import fastavro

from metadata_log.reader.log_reader import LogReader
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline
from replay.usage import UNKNOWN, Usage, usage
from tests.histories import random_history
from tests.metadata_log.kraft.test_import_of_real_logs import Node
from tests.own_logs import write_history
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.audit.test_agreement import log_with_base


def _usage(log: Path, at: int | None = None) -> tuple[dict[str, list[Usage]], MetadataImage]:
    with LogReader.open(log) as reader:
        image = Timeline(reader).image(at)
        found = usage(reader, image, reader.end_offset - 1 if at is None else at)
    ways = dict.fromkeys(row.by for row in found)
    return {by: [row for row in found if row.by == by] for by in ways}, image


def _stored(log: Path) -> tuple[Counter[str], int]:
    """Return the number of records of a closed log by type, and the stored bytes of all blocks."""
    types: Counter[str] = Counter()
    size = 0
    for path in sorted(log.glob("*.avro")):
        with path.open("rb") as file:
            for block in fastavro.block_reader(file, return_record_name=True):
                size += block.size
                for row in block:
                    assert isinstance(row, dict)
                    types[_type(row)] += 1
    for ends in ("SnapshotHeaderRecord", "SnapshotFooterRecord"):
        del types[ends]
    return types, size


def _type(row: dict[str, Any]) -> str:
    name, _ = row["payload"]
    return str(name).rpartition(".")[2]


def _check(log: Path) -> None:
    types, size = _stored(log)
    found, image = _usage(log)
    assert {row.name: row.records for row in found["type"] if row.records} == dict(types)
    for by in ("type", "cause", "principal"):
        assert sum(row.bytes_log for row in found[by]) == size, by
    for by in ("cause", "principal"):
        assert sum(row.records or 0 for row in found[by]) == types.total(), by
    objects = {row.name: row.objects for row in found["type"]}
    assert objects.get("TopicRecord", 0) == image.topic_count
    assert objects.get("PartitionRecord", 0) == sum(
        len(image.partitions(topic.topic_id)) for topic in image.topics()
    )
    held = {row.name for row in found["topic"] if row.objects}
    assert held >= {image.full_name(topic) for topic in image.topics()}
    files = sum(path.stat().st_size for path in log.iterdir() if path.is_file())
    assert sum(row.bytes_log for row in found["file"]) == files


async def test_shares_add_up_to_what_is_stored(tmp_path: Path) -> None:
    _check(await write_history(tmp_path / "log", seed=11, batches=120))


def test_a_base_counts_as_part_of_the_log(tmp_path: Path) -> None:
    log = log_with_base(tmp_path / "log", random_history(random.Random(3), 120))
    # The base's header and footer share its blocks, and are no records of the cluster.
    types, _ = _stored(log)
    found, _ = _usage(log)
    assert {row.name: row.records for row in found["type"] if row.records} == dict(types)


async def test_up_to_a_point_nothing_later_counts(tmp_path: Path) -> None:
    log = await write_history(tmp_path / "log", seed=5, batches=60)
    with LogReader.open(log) as reader:
        middle = reader.end_offset // 2
    found, _ = _usage(log, middle)
    assert sum(row.records or 0 for row in found["type"]) == middle + 1


@each_data_set_where(lambda data_set: sum(each.size for each in data_set.segments) < 2_000_000)
def test_a_real_log_adds_up(data_set: DataSet, tmp_path: Path) -> None:
    log = Node(data_set, tmp_path).open().directory
    found, _ = _usage(log)
    types, _ = _stored(log)
    assert {row.name: row.records for row in found["type"] if row.records} == dict(types)
    # Kafka names neither.
    for by in ("cause", "principal"):
        assert [row.name for row in found[by]] == [UNKNOWN]


async def test_files_are_told_by_their_kind(tmp_path: Path) -> None:
    by, _ = _usage(await write_history(tmp_path / "log", seed=1, batches=20))
    kinds = {row.name for row in by["file"]}
    assert {"segments", "indexes", "epoch claims", "commit.mark"} <= kinds
