"""Blocks whose bytes are whole, but whose rows are not one batch at its place."""

from pathlib import Path

import pytest

from metadata_log.log_reader import LogReader
from metadata_log.mirror import MirrorBuilder
from metadata_log.segment import decode_header
from records.control import NoOpRecord
from records.envelope import Envelope
from records.errors import CorruptLogError


def rows(*places: tuple[int, int]) -> list[Envelope]:
    """Return rows of the given offsets and batch offsets."""
    return [
        Envelope(
            offset=offset,
            leader_epoch=1,
            timestamp=1_000,
            batch_offset=batch_offset,
            record_version=0,
            payload=NoOpRecord(),
        )
        for offset, batch_offset in places
    ]


@pytest.mark.parametrize(
    ("block", "end_offset", "what"),
    [
        (rows((2, 2), (3, 3)), 4, "row at offset 3 belongs to the batch at 3, .* batch at 2;"),
        (rows((2, 2), (3, 0)), 4, "row at offset 3 belongs to the batch at 0, .* batch at 2;"),
        (rows((2, 0), (3, 0)), 4, "first row has offset 2, its batch starts at 0;"),
        (rows((2, 2), (4, 2)), 5, "found offset 4, expected 3;"),
        (rows((2, 2), (2, 2)), 3, "found offset 2, expected 3;"),
        (rows((3, 3), (4, 3)), 5, "found offset 3, expected 2;"),
        (rows((1, 1), (2, 1)), 3, "found offset 1, expected 2;"),
    ],
)
def test_block_that_is_not_one_batch_at_its_place_is_reported(
    tmp_path: Path, block: list[Envelope], end_offset: int, what: str
) -> None:
    log = tmp_path / "log"
    with MirrorBuilder(log, "kafka-cluster") as builder:
        builder.append(rows((0, 0), (1, 0)), 2)
        builder.append(block, end_offset)
        builder.finish(end_offset)
    path = log / "00000000000000000000.avro"
    data = path.read_bytes()
    header, _ = decode_header(data)
    second = data.rindex(header.sync_marker, 0, len(data) - 16) + 16
    with (
        LogReader.open(log) as reader,
        pytest.raises(CorruptLogError, match=rf"{path.name} byte {second}: .*{what}") as found,
    ):
        list(reader.batches())
    assert "offsets below 2 are intact" in str(found.value)
