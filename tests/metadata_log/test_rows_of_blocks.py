"""Blocks with valid bytes whose rows are not valid batches at their position."""

from pathlib import Path

import pytest

from metadata_log.format.segment import decode_header
from metadata_log.reader.log_reader import LogReader
from records.control import NoOpRecord
from records.envelope import Envelope
from records.errors import CorruptLogError
from tests.metadata_log.mirrors import mirror_of_blocks


def rows(*places: tuple[int, int], epoch: int = 1) -> list[Envelope]:
    """Return rows of the given offsets and batch offsets."""
    return [
        Envelope(
            offset=offset,
            leader_epoch=epoch,
            timestamp=1_000,
            batch_offset=batch_offset,
            record_version=0,
            payload=NoOpRecord(),
        )
        for offset, batch_offset in places
    ]


ANYWHERE = [
    (rows((2, 0), (3, 0)), "the first row has offset 2, its batch starts at 0;"),
    (rows((2, 2), (4, 2)), "a row has offset 4, expected 3;"),
    (rows((2, 2), (2, 2)), "a row has offset 2, expected 3;"),
    (rows((3, 3), (4, 3)), "the batch has offset 3, expected 2;"),
    (rows((1, 1), (2, 1)), "the batch has offset 1, expected 2;"),
]


def check_is_reported(log: Path, what: str) -> None:
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


@pytest.mark.parametrize(
    ("block", "what"),
    [
        (rows((2, 2), (3, 3)), "row at offset 3 belongs to the batch at 3, .* batch at 2;"),
        (rows((2, 2), (3, 0)), "row at offset 3 belongs to the batch at 0, .* batch at 2;"),
        *ANYWHERE,
    ],
)
def test_block_that_is_not_one_batch_at_its_place_is_reported(
    tmp_path: Path, block: list[Envelope], what: str
) -> None:
    blocks = [rows((0, 0), (1, 0)), block]
    check_is_reported(mirror_of_blocks(tmp_path / "log", blocks, holds_batches=False), what)


@pytest.mark.parametrize(
    ("block", "what"),
    [
        (rows((2, 2), (3, 0)), "the first row has offset 3, its batch starts at 0;"),
        (rows((2, 2), (4, 4)), "the batch has offset 4, expected 3;"),
        (rows((2, 2), (2, 3)), "the first row has offset 2, its batch starts at 3;"),
        ([*rows((2, 2)), *rows((3, 3), epoch=2)], "batch at offset 3 is of epoch 2, .* epoch 1"),
        *ANYWHERE,
    ],
)
def test_block_that_is_not_batches_at_their_place_is_reported(
    tmp_path: Path, block: list[Envelope], what: str
) -> None:
    blocks = [rows((0, 0), (1, 1)), block]
    check_is_reported(mirror_of_blocks(tmp_path / "log", blocks, holds_batches=True), what)


def test_batches_of_a_block_are_read_one_by_one(tmp_path: Path) -> None:
    blocks = [rows((0, 0), (1, 0), (2, 2)), rows((3, 3), (4, 4), (5, 4))]
    log = mirror_of_blocks(tmp_path / "log", blocks, holds_batches=True)
    with LogReader.open(log) as reader:
        found = [(batch.base_offset, batch.end_offset) for batch in reader.batches()]
        assert found == [(0, 2), (2, 3), (3, 4), (4, 6)]
        inside = [batch.base_offset for batch in reader.batches(1, 4)]
        # An empty range has none, also inside a batch.
        assert [*reader.batches(1, 1)] == [*reader.batches(3, 2)] == []
        assert inside == [0, 2, 3]
        assert [batch.base_offset for batch in reader.batches(5)] == [4]
