"""The chain of CRCs continues from one segment to the next.

The damage in these tests leaves valid blocks with the right offsets, and files of the right length:
only the CRC of the block before a segment border shows that it is not the one that was written.
"""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import OsFs
from metadata_log.files.names import COMMIT_MARK
from metadata_log.format.commit_mark import SLOT_SPACING, read_mark
from metadata_log.format.segment import decode_header
from metadata_log.reader.cursor import LogCursor
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.errors import CorruptLogError
from tests.metadata_log.conftest import StepClock, topics
from tests.metadata_log.test_damage import flip, read_all

FIRST = "00000000000000000000.avro"
SECOND = "00000000000000000002.avro"


async def write_epoch(log: Path, *names: int) -> None:
    """Append batches of one topic each, with a new writer, which begins a new segment."""
    writer = await MetadataLog.open(log, clock=StepClock())
    for name in names:
        await writer.append(topics(name, 1))
    await writer.close()


async def two_segments(log: Path, first: int, *more: int) -> Path:
    """Write a log of two segments; with other one-digit numbers the lengths stay the same."""
    create_log(log, "test-cluster")
    await write_epoch(log, first, *more)
    await write_epoch(log, 9)
    return log


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    return await two_segments(tmp_path / "log", 1)


@pytest.fixture
async def fork(tmp_path: Path) -> Path:
    return await two_segments(tmp_path / "fork", 2)


def blocks_of(path: Path) -> tuple[bytes, bytes]:
    """Return a segment's header, and all of its blocks."""
    data = path.read_bytes()
    _, start = decode_header(data)
    return data[:start], data[start:]


def exchange(log: Path, fork: Path, *names: str) -> None:
    """Copy files of a fork over those of a log."""
    for name in names:
        assert (log / name).read_bytes() != (fork / name).read_bytes()
        shutil.copy(fork / name, log / name)


def spoil_unused_bit(log: Path, fork: Path) -> None:
    """Flip a bit of the last block before the border that does not change its content."""
    frame = (log / FIRST).read_bytes().rindex(b"\x28\xb5\x2f\xfd")
    flip(log / FIRST, frame + 4, 4)


def take_first_segment(log: Path, fork: Path) -> None:
    assert (log / FIRST).stat().st_size == (fork / FIRST).stat().st_size
    exchange(log, fork, FIRST)


def take_second_segment(log: Path, fork: Path) -> None:
    exchange(log, fork, SECOND, COMMIT_MARK)


def take_blocks_of_second_segment(log: Path, fork: Path) -> None:
    """Replace the blocks of the second segment, but not its header.

    Then only the first block contains the CRC of the block before it.
    """
    header, _ = blocks_of(log / SECOND)
    _, blocks = blocks_of(fork / SECOND)
    (log / SECOND).write_bytes(header + blocks)
    mark = msgspec.structs.replace(read_mark(OsFs(), fork), position=len(header) + len(blocks))
    (log / COMMIT_MARK).write_bytes(mark.encode().ljust(SLOT_SPACING, b"\0") * 2)


def read(log: Path) -> None:
    read_all(log)


def follow(log: Path) -> None:
    LogCursor(log).read()


def verify(log: Path) -> None:
    for finding in inspect_log(OsFs(), log).damage:
        raise CorruptLogError(f"{log / finding.file} byte {finding.byte}: {finding.what}")


@pytest.mark.parametrize("look", [read, follow, verify])
@pytest.mark.parametrize(
    ("spoil", "file"),
    [
        (spoil_unused_bit, FIRST),
        (take_first_segment, FIRST),
        (take_second_segment, FIRST),
        (take_blocks_of_second_segment, SECOND),
    ],
)
def test_what_does_not_stand_before_the_border_as_it_was_is_reported(
    log: Path,
    fork: Path,
    spoil: Callable[[Path, Path], None],
    file: str,
    look: Callable[[Path], None],
) -> None:
    look(log)
    spoil(log, fork)
    # A reader blames the block; `verify` the header that speaks of it.
    place = SECOND if look is verify else file
    with pytest.raises(CorruptLogError, match=rf"{place} byte \d+: .*CRC"):
        look(log)


async def test_writer_refuses_a_block_past_its_mark_that_the_next_segment_does_not_follow(
    tmp_path: Path,
) -> None:
    """A crash set the mark back, and a segment past it was replaced by that of a fork."""
    for name, number in (("log", 1), ("fork", 2)):
        create_log(tmp_path / name, "test-cluster")
        await write_epoch(tmp_path / name)
        mark = (tmp_path / name / COMMIT_MARK).read_bytes()
        await write_epoch(tmp_path / name, number)
        await write_epoch(tmp_path / name)
    log, fork = tmp_path / "log", tmp_path / "fork"
    (log / COMMIT_MARK).write_bytes(mark)
    _, past_mark, _ = sorted(path.name for path in log.glob("*.avro"))
    assert (log / past_mark).stat().st_size == (fork / past_mark).stat().st_size
    exchange(log, fork, past_mark)
    kept = {path.name: path.read_bytes() for path in log.glob("*.avro")}
    with pytest.raises(CorruptLogError, match=rf"{past_mark} byte \d+: .*another end"):
        await MetadataLog.open(log)
    assert {path.name: path.read_bytes() for path in log.glob("*.avro")} == kept


async def test_segment_that_goes_on_behind_its_end_is_cut_only_if_that_end_is_its_own(
    log: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A writer that lost the log may have appended blocks after the end of its segment: they are
    cut.

    If the segment is that of another log, they are damage.
    """
    longer = await two_segments(tmp_path / "longer", 1, 3)
    other = await two_segments(tmp_path / "other", 2, 3)
    header, blocks = blocks_of(log / FIRST)
    end = len(header) + len(blocks)
    for source in (longer, other):
        assert (source / FIRST).stat().st_size > end
    shutil.copy(other / FIRST, log / FIRST)
    kept = (log / FIRST).read_bytes()
    with pytest.raises(CorruptLogError, match=rf"{FIRST} byte {end}: "):
        await MetadataLog.open(log)
    assert (log / FIRST).read_bytes() == kept
    shutil.copy(longer / FIRST, log / FIRST)
    surplus = (log / FIRST).stat().st_size - end
    with caplog.at_level(logging.WARNING):
        await (await MetadataLog.open(log)).close()
    assert f"{FIRST}: cut {surplus} bytes from byte {end} on" in caplog.text
    assert (log / FIRST).read_bytes() == header + blocks
