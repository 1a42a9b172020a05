"""A cut segment that is not the last: every read that needs the missing offsets raises an error."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from metadata_log.files.fs import OsFs
from metadata_log.format.batch import Batch
from metadata_log.format.needles import Needles, type_needle
from metadata_log.format.segment_file import SegmentFile
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError
from records.topics import TopicRecord
from tests.metadata_log.conftest import StepClock, topics

Offsets = tuple[int, ...]


@pytest.fixture
async def log(directory: Path) -> Path:
    """Three segments of three batches of two topics each, and a leader change before them."""
    for _ in range(3):
        writer = await MetadataLog.open(directory, clock=StepClock())
        for n in range(3):
            await writer.append(topics(2 * n, 2))
        await writer.close()
    return directory


def segments_of(log: Path) -> list[Path]:
    return sorted(log.glob("*.avro"))


def ends_of_blocks(path: Path) -> dict[int, int]:
    """Return the byte at which each block of a segment ends, and the offset expected there."""
    with SegmentFile.opened(OsFs(), path) as segment:
        scan = segment.scan(segment.file.size())
        start = {scan.position: segment.header.base_offset}
        return start | {block.end_position: block.end_offset for block in scan.blocks()}


def offsets(batches: Iterable[Batch], first: int, end: int) -> Offsets:
    rows = (row for batch in batches for row in batch.rows)
    return tuple(row.offset for row in rows if first <= row.offset < end)


def read(log: Path, first: int, end: int) -> Offsets:
    with LogReader.open(log) as reader:
        return offsets(reader.batches(first, end), first, end)


def skim(log: Path, first: int, end: int) -> Offsets:
    needles = Needles()
    needles.add(type_needle(TopicRecord))
    with LogReader.open(log) as reader:
        # The last block of a segment is decoded also when it holds no topic.
        wanted = (
            batch for batch in reader.skim(needles, end, from_offset=first) if has_topic(batch)
        )
        return offsets(wanted, first, end)


def has_topic(batch: Batch) -> bool:
    return any(isinstance(row.payload, TopicRecord) for row in batch.rows)


@pytest.mark.parametrize("look", [read, skim])
@pytest.mark.parametrize("number", [0, 1])
def test_ranges_of_a_cut_segment_are_whole_or_refused(
    log: Path, number: int, look: Callable[[Path, int, int], Offsets]
) -> None:
    path = segments_of(log)[number]
    content = path.read_bytes()
    with LogReader.open(log) as reader:
        end_of_log = reader.end_offset
    ranges = [
        (first, end) for first in range(end_of_log) for end in range(first + 1, end_of_log + 1)
    ]
    whole = {(first, end): look(log, first, end) for first, end in ranges}
    *cuts, (_, next_base) = ends_of_blocks(path).items()
    assert len(cuts) == 4
    for byte, intact_below in cuts:
        path.write_bytes(content[:byte])
        for first, end in ranges:
            if end <= intact_below or first >= next_base:
                assert look(log, first, end) == whole[first, end]
                continue
            with pytest.raises(CorruptLogError, match=rf"{path.name} byte \d+: "):
                look(log, first, end)


def test_the_advice_for_a_cut_segment_can_be_followed(log: Path) -> None:
    path = segments_of(log)[0]
    *_, (byte, intact_below), _ = ends_of_blocks(path).items()
    path.write_bytes(path.read_bytes()[:byte])
    with pytest.raises(CorruptLogError, match=f"offsets below {intact_below} are intact") as raised:
        read(log, 0, intact_below + 1)
    (last,) = re.findall(r"--to (\d+)`", str(raised.value))
    assert read(log, 0, int(last) + 1) == tuple(range(intact_below))
