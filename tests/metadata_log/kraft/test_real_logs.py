"""Real logs, compared with what another program decoded from them."""

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from metadata_log.kraft.directory import KraftDirectory, open_directory
from metadata_log.kraft_format.batch import KraftBatch
from metadata_log.kraft_format.batch_codec import encode_batch
from records.base import Record
from records.kafka.layout import ArrayOf, FieldType, Layout, layout
from records.text import uuid_text
from tests.real_logs import DataSet, each_data_set, each_data_set_where


class Node:
    """The directory of a node, and its batches, read once."""

    def __init__(self, directory: KraftDirectory) -> None:
        self.directory = directory

    @functools.cached_property
    def batches(self) -> list[KraftBatch]:
        return list(self.directory.batches())


@pytest.fixture(scope="module")
def node(either_codec: None, data_set: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Node:
    return Node(open_directory(data_set.materialise(tmp_path_factory.mktemp("node"))))


@each_data_set
def test_log_holds_what_another_program_read_in_it(data_set: DataSet, node: Node) -> None:
    assert node.directory.cluster_id == data_set.cluster_id
    assert node.directory.base_checkpoint is None
    oracle = chain.from_iterable(segment.oracle() for segment in data_set.segments)
    count = _compare(node.batches, oracle)
    assert count == sum(segment.record_count for segment in data_set.segments)
    assert node.directory.trailing_bytes == 0


@each_data_set
def test_checkpoints_hold_what_another_program_read_in_them(data_set: DataSet, node: Node) -> None:
    directory = node.directory
    ends = [kept.end_offset for kept in directory.checkpoints]
    assert directory.committed_end_offset == max(ends, default=0)
    assert [kept.path.name for kept in directory.checkpoints] == [
        stored.name for stored in data_set.checkpoints
    ]
    for kept, stored in zip(directory.checkpoints, data_set.checkpoints, strict=True):
        assert _compare(kept.batches(), stored.oracle()) == stored.record_count
        assert kept.timestamp == next(stored.oracle())["data"]["lastContainedLogTimestamp"]


@each_data_set
def test_log_and_checkpoints_are_given_back_byte_for_byte(data_set: DataSet, node: Node) -> None:
    stored = b"".join(segment.read() for segment in data_set.segments)
    assert _encoded(node.batches) == stored
    for kept, checkpoint in zip(node.directory.checkpoints, data_set.checkpoints, strict=True):
        assert _encoded(kept.batches()) == checkpoint.read()


@each_data_set_where(lambda data_set: bool(data_set.earlier_sizes))
def test_log_as_it_once_was_is_the_beginning_of_the_log(
    data_set: DataSet, node: Node, tmp_path: Path
) -> None:
    last = data_set.segments[-1]
    for size in data_set.earlier_sizes:
        target = tmp_path / str(size)
        # Checkpoints are as they are now, and may end beyond the log as it was then.
        directory = open_directory(data_set.materialise(target, sizes={last.name: size}))
        batches = list(directory.batches())
        # No assert of lists: pytest would compare them again to tell their difference.
        assert (batches == node.batches[: len(batches)]) is True
        assert batches[-1].position + batches[-1].size == size
        assert directory.trailing_bytes == 0


def _encoded(batches: Iterable[KraftBatch]) -> bytes:
    return b"".join(encode_batch(read.rows) for read in batches)


def _compare(batches: Iterable[KraftBatch], oracle: Iterator[dict[str, Any]]) -> int:
    """Compare record by record; return the number of records."""
    count = 0
    for read in batches:
        for row in read.rows:
            said = next(oracle)
            of = layout(type(row.payload), row.record_version)
            found = {
                "offset": row.offset,
                "epoch": row.leader_epoch,
                "timestamp": row.timestamp,
                "batchBaseOffset": row.batch_offset,
                "control": read.is_control,
                "type": type(row.payload).__name__,
                "version": row.record_version,
                "data": _fields(row.payload, of),
            }
            assert found == {name: said[name] for name in found}
            assert row.extra is None
            count += 1
    assert next(oracle, None) is None
    return count


def _fields(record: Record, of: Layout) -> dict[str, Any]:
    """Return the fields of a layout version, with Kafka's names."""
    return {
        re.sub("_(.)", lambda found: found[1].upper(), field.name): _json(
            getattr(record, field.name), field.type
        )
        for field in (*of.fields, *of.tagged)
    }


def _json(value: Any, field_type: FieldType) -> Any:
    match field_type:
        case _ if value is None:
            return None
        case Layout():
            return _fields(value, field_type)
        case ArrayOf(item):
            return [_json(element, item) for element in value]
        case "uuid":
            return uuid_text(value)
    return value
