"""A complete log, a checkpoint, a damaged and a torn log, given as known correct bytes."""

from pathlib import Path
from typing import Any

import pytest

from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft_format.batch_codec import encode_batch
from records.control import AbortTransactionRecord, LeaderChangeMessage
from records.errors import CorruptLogError
from records.topics import RemoveTopicRecord, TopicRecord
from tests.metadata_log.kraft.logs import LogFiles
from tests.real_logs import binary_vectors, needs_reference

pytestmark = [*needs_reference, pytest.mark.usefixtures("either_codec")]


@pytest.fixture
def files(tmp_path: Path) -> LogFiles:
    return LogFiles(tmp_path / "node")


def _vector(name: str) -> tuple[dict[str, Any], bytes]:
    vector = binary_vectors()[name]
    return vector, bytes.fromhex(vector["hex"])


def test_whole_log_is_read_and_written(files: LogFiles) -> None:
    vector, data = _vector("whole_log")
    files.segment(0, data)
    batches = list(open_directory(files.directory).batches())
    assert (len(batches), batches[-1].end_offset) == (vector["batches"], vector["next_offset"])
    assert b"".join(encode_batch(read.rows) for read in batches) == data
    payloads = [row.payload for read in batches for row in read.rows]
    assert isinstance(payloads[0], LeaderChangeMessage)
    assert isinstance(payloads[12], AbortTransactionRecord)
    assert isinstance(payloads[13], RemoveTopicRecord)


def test_whole_checkpoint_is_read_and_written(files: LogFiles) -> None:
    _, data = _vector("whole_checkpoint")
    kept = KraftCheckpoint(files.checkpoint(8, 1, [data]))
    (data_rows,) = kept.rows()
    assert [row.payload.name for row in data_rows if isinstance(row.payload, TopicRecord)] == [
        "foo"
    ]
    assert b"".join(encode_batch(read.rows) for read in kept.batches()) == data


def test_damage_is_found_behind_what_is_intact(files: LogFiles) -> None:
    _, data = _vector("corrupt_log")
    files.segment(0, data)
    batches = open_directory(files.directory).batches()
    assert [next(batches).base_offset for _ in range(6)] == [0, 1, 5, 8, 9, 10]
    with pytest.raises(CorruptLogError, match=r"CRC 0x.*; offsets below 13 are intact"):
        next(batches)


def test_torn_tail_is_counted(files: LogFiles) -> None:
    _, data = _vector("torn_tail")
    files.segment(0, data)
    directory = open_directory(files.directory)
    batches = list(directory.batches())
    assert len(batches) == 6
    assert directory.trailing_bytes == len(data) - sum(read.size for read in batches) > 0
