"""Any flipped bit in a segment is reported with the file and the byte to look at.

That byte is 0 for a header, and otherwise the start of the block. Files are held in memory: there
are 100,000 bits; the suite flips every third, SAMPLES=whole all of them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from metadata_log.format.segment import decode_header
from metadata_log.format.segment_scan import read_header
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError
from tests.metadata_log.conftest import StepClock, topics
from tests.samples import cases, sampled
from tests.simulated_disk.disk import ROOT, DiskState, SimulatedDisk

LOG = Path(ROOT) / "log"
SEGMENT = LOG / "00000000000000000000.avro"


@pytest.fixture
async def small(tmp_path: Path) -> Path:
    """A log of one segment: a leader change and three batches of three topics."""
    create_log(tmp_path / "log", "test-cluster")
    log = await MetadataLog.open(tmp_path / "log", clock=StepClock())
    for n in range(3):
        await log.append(topics(3 * n, 3))
    await log.close()
    return tmp_path / "log"


@pytest.fixture(params=["active", "sealed"])
async def on_disk(small: Path, request: pytest.FixtureRequest) -> DiskState:
    """The log in memory, with its segment as the last one, or followed by that of another
    writer.
    """
    if request.param == "sealed":
        await (await MetadataLog.open(small, clock=StepClock())).close()
    files: DiskState = {str(LOG / path.name): path.read_bytes() for path in small.iterdir()}
    return {ROOT: None, str(LOG): None, **files}


def flips(data: bytes, start: int, end: int) -> Iterator[tuple[tuple[int, int], bytearray]]:
    """Yield a file with the bits of a range of bytes flipped in turn, and the byte and bit
    flipped.
    """
    # Not divisible by 8: of each byte other bits are flipped.
    for number in range(start * 8, end * 8, cases(1, 3)):
        byte, bit = divmod(number, 8)
        damaged = bytearray(data)
        damaged[byte] ^= 1 << bit
        yield (byte, bit), damaged


def damage_in(read: Callable[[], object]) -> str:
    """Return the message about damage; empty if none is noticed. Faster than pytest.raises."""
    try:
        read()
    except CorruptLogError as error:
        return str(error)
    return ""


def read_all(state: DiskState) -> list[int]:
    with LogReader.open(LOG, fs=SimulatedDisk(state)) as reader:
        return [batch.base_offset for batch in reader.batches()]


def block_starts(data: bytes) -> list[int]:
    """Return the start positions of the blocks, and the end position of the last one."""
    header, start = decode_header(data)
    starts = [start]
    while starts[-1] < len(data):
        starts.append(data.index(header.sync_marker, starts[-1]) + len(header.sync_marker))
    return starts


@sampled
def test_every_flipped_bit_of_a_header_is_reported_with_file_and_byte(small: Path) -> None:
    data = (small / SEGMENT.name).read_bytes()
    _, end = decode_header(data)
    for place, damaged in flips(data, 0, end):
        file = SimulatedDisk({str(SEGMENT): bytes(damaged)}).open(SEGMENT)
        message = damage_in(partial(read_header, file, SEGMENT))
        assert message.startswith(f"{SEGMENT} byte 0: "), place


def test_flipped_bit_of_a_header_is_reported_by_a_reader(on_disk: DiskState) -> None:
    data = on_disk[str(SEGMENT)]
    assert data is not None
    _, end = decode_header(data)
    # One bit of each 97th byte: that every bit is noticed is the test above.
    for byte in [*range(0, end, 97), end - 1]:
        ((_, damaged), *_) = flips(data, byte, byte + 1)
        message = damage_in(partial(read_all, {**on_disk, str(SEGMENT): bytes(damaged)}))
        assert message.startswith(f"{SEGMENT} byte 0: "), byte


@sampled
def test_every_flipped_bit_of_a_segment_is_reported_with_file_and_byte(on_disk: DiskState) -> None:
    data = on_disk[str(SEGMENT)]
    assert data is not None
    offsets = read_all(on_disk)[:4]
    blocks = list(pairwise(block_starts(data)))
    assert len(blocks) == len(offsets)
    for (start, end), offset in zip(blocks, offsets, strict=True):
        for place, damaged in flips(data, start, end):
            message = damage_in(partial(read_all, {**on_disk, str(SEGMENT): bytes(damaged)}))
            assert message.startswith(f"{SEGMENT} byte {start}: "), (place, message)
            assert f"; offsets below {offset} are intact" in message, (place, message)
