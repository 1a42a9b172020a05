"""The generated log that benchmarks and tests use when no real one is available."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.generate_kraft import CLUSTER_ID, generate
from metadata_log.format.batch import Batch
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft_format.batch_codec import encode_batch
from replay.loader import Replayer


def _content(partition: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in partition.iterdir()}


def test_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first = generate(tmp_path / "first", records=2_000, seed=7)
    again = generate(tmp_path / "again", records=2_000, seed=7)
    other = generate(tmp_path / "other", records=2_000, seed=8)
    assert _content(first) == _content(again) != _content(other)


@pytest.mark.parametrize("records", [1, 2, 500, 3_001])
def test_log_holds_exactly_as_many_records_as_asked_for(tmp_path: Path, records: int) -> None:
    directory = open_directory(generate(tmp_path / "node", records=records))
    assert sum(len(read.rows) for read in directory.batches()) == records


def test_log_is_whole_and_varied(tmp_path: Path) -> None:
    partition = generate(tmp_path / "node", records=20_000, segment_size_bytes=300_000)
    directory = open_directory(tmp_path / "node")
    assert directory.cluster_id == CLUSTER_ID
    assert len(directory.segments) > 3
    types: Counter[str] = Counter()
    sizes: set[int] = set()
    stored = b""
    for read in directory.batches():
        types.update(type(row.payload).__name__ for row in read.rows)
        sizes.add(len(read.rows))
        stored += encode_batch(read.rows)
    assert stored == b"".join(path.read_bytes() for path in sorted(partition.glob("*.log")))
    assert types["NoOpRecord"] < 2_000
    assert min(sizes) == 1
    assert 80 < max(sizes) <= 100
    assert len(types) >= 15


def test_replay_finds_nothing_that_a_controller_could_not_have_written(tmp_path: Path) -> None:
    generate(tmp_path / "node", records=20_000, seed=3)
    replayer = Replayer()
    for read in open_directory(tmp_path / "node").batches():
        replayer.replay(Batch.of(read.rows))
    image = replayer.image()
    assert image.partition_count > 1_000
    for topic in image.topics():
        for partition in image.partitions(topic.topic_id):
            assert set(partition.isr) <= set(partition.replicas)
            assert partition.leader in partition.isr
            assert len(partition.directories) == len(partition.replicas)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    generate(tmp_path / "node", records=10)
    with pytest.raises(FileExistsError):
        generate(tmp_path / "node", records=10)
