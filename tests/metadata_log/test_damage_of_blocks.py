"""Valid blocks that were moved, repeated, removed or taken from another log count as damage."""

from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.format.segment import decode_header
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError
from tests.metadata_log.conftest import StepClock, topics
from tests.metadata_log.test_damage import SEGMENT, read_all

Blocks = list[bytes]

# The block at index 4 holds the offsets 10 to 12; the one at 3 those from 7 on.
CHANGES: dict[str, Callable[[Blocks], Blocks]] = {
    "exchanged with the next": lambda b: [*b[:4], b[5], b[4], *b[6:]],
    "written twice": lambda b: [*b[:4], b[3], *b[4:]],
    "removed": lambda b: [*b[:4], *b[5:]],
    "zeroed": lambda b: [*b[:4], bytes(len(b[4])), *b[5:]],
    "replaced by an earlier one": lambda b: [*b[:4], b[2], *b[5:]],
}


@pytest.fixture
async def sealed(written: Path) -> Path:
    """The same log with another segment after the one with the batches."""
    log = await MetadataLog.open(written)
    await log.close()
    return written


def split(path: Path) -> tuple[bytes, Blocks]:
    """Return the header and the blocks of a segment."""
    data = path.read_bytes()
    header, start = decode_header(data)
    *blocks, rest = data[start:].split(header.sync_marker)
    assert rest == b""
    return data[:start], [block + header.sync_marker for block in blocks]


@pytest.mark.parametrize("what", CHANGES)
async def test_block_that_does_not_stand_where_it_was_written_is_reported(
    sealed: Path, what: str
) -> None:
    path = sealed / SEGMENT
    header, blocks = split(path)
    first = len(header) + sum(map(len, blocks[:4]))
    path.write_bytes(header + b"".join(CHANGES[what](blocks)))
    place = rf"{SEGMENT} byte {first}: .* below 10 are intact"
    with LogReader.open(sealed) as reader, pytest.raises(CorruptLogError, match=place):
        list(reader.batches(7, 20))


async def test_block_of_another_log_of_the_same_cluster_is_reported(
    sealed: Path, tmp_path: Path
) -> None:
    create_log(tmp_path / "other", "test-cluster")
    other = await MetadataLog.open(tmp_path / "other", clock=StepClock())
    for n in range(10):
        await other.append(topics(1_000 + 3 * n, 3))
    await other.close()
    header, blocks = split(sealed / SEGMENT)
    _, strays = split(tmp_path / "other" / SEGMENT)
    (sealed / SEGMENT).write_bytes(header + b"".join([*blocks[:4], strays[4], *blocks[5:]]))
    with pytest.raises(CorruptLogError, match=r"\.avro byte \d+: .*CRC"):
        read_all(sealed)


async def test_exchanged_segments_are_reported(directory: Path) -> None:
    for _ in range(2):
        log = await MetadataLog.open(directory)
        await log.append(topics(0, 1))
        await log.close()
    first, second = sorted(directory.glob("*.avro"))
    data = first.read_bytes(), second.read_bytes()
    first.write_bytes(data[1])
    second.write_bytes(data[0])
    with pytest.raises(CorruptLogError, match=r"\.avro byte \d+: "):
        read_all(directory)
