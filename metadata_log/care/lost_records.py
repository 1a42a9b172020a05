"""The offset at which a node's folder and its shared log diverge, because the store lost records.

Blocks and groups carry a chain of CRCs. So if a group ends with a block of the folder, everything
before this block is equal, too. The last such group is found by binary search, which reads one
group in each step.
"""

from collections.abc import Iterator
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.files.fs import ByteStore
from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import (
    EMPTY,
    EntryKind,
    Group,
    Position,
    SharedLog,
    kept_group,
)
from records.errors import UnknownHistoryError


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The offset at which a folder and a shared log diverge. Ends are exclusive.

    Attributes:
        from_offset: Offset below which both have the same blocks.
        folder_end: The folder's end; above `from_offset` if the folder has records of its own.
        shared_end: The shared log's end; above `from_offset` if it has records of its own.
    """

    from_offset: int
    folder_end: int
    shared_end: Position

    @property
    def lost(self) -> int:
        """Number of records that only the folder has."""
        return self.folder_end - self.from_offset

    @property
    def appended(self) -> int:
        """Number of records that only the shared log has."""
        return self.shared_end.end_offset - self.from_offset


async def divergence(log: SharedLog, fs: ByteStore, directory: Path) -> Divergence:
    """Compare a folder with a shared log.

    Takes no lock. The number of groups read grows with the logarithm of the number of all groups.

    Raises:
        UnknownHistoryError: folder and shared log diverge before the first group that the shared
            log keeps.
        UnavailableError: the store does not answer.
        CorruptLogError: the folder is damaged.
    """
    end = await log.confirmed_end()
    with LogReader.open(directory, fs=fs) as reader:
        return Divergence(
            from_offset=await _equal_end(log, reader, end),
            folder_end=reader.end_offset,
            shared_end=end,
        )


def lost_batches(fs: ByteStore, directory: Path, found: Divergence) -> Iterator[Batch]:
    """Yield the batches that only the folder has."""
    with LogReader.open(directory, fs=fs) as reader:
        yield from reader.batches(found.from_offset, found.folder_end)


async def _equal_end(log: SharedLog, reader: LogReader, end: Position) -> int:
    """Return the end of the last block that the folder and the shared log both have."""
    if has_block(reader, end.end_offset, end.crc32c):
        return end.end_offset
    start = low = await log.start()
    high = end.number - 1  # the last group, which the folder does not have
    while low < high:
        middle = (low + high) // 2
        group = await kept_group(log, middle, high)
        if has_block(reader, group.end_offset, group.crc32c):
            low = group.number + 1
        else:
            high = middle
    if low == start > 0:
        raise UnknownHistoryError(
            f"{reader.directory} and the shared log diverge before batch group {low}, the first "
            "that the shared log keeps; the offset where they diverge is unknown"
        )
    before = EMPTY if low == 0 else (await kept_group(log, low - 1, low - 1)).end
    return _equal_blocks(reader, before.end_offset, await kept_group(log, low, low))


def has_block(reader: LogReader, offset: int, crc32c: int) -> bool:
    """True if the folder has a block that ends at this offset and has this CRC.

    Also True if the folder no longer keeps the offset: records before its start count as equal.
    """
    if offset > reader.end_offset:
        return False
    if offset <= reader.start_offset:
        return True
    if offset == reader.end_offset:
        return reader.mark.last_crc32c == crc32c
    _, block = next(iter(reader.placed_blocks(offset)))
    first = block.batches[0].rows[0]
    return block.base_offset == offset and (first.previous_crc32c or 0) == crc32c


def _equal_blocks(reader: LogReader, offset: int, group: Group) -> int:
    """Return the end of a group's last block that is also in the folder; `offset` if none is."""
    crcs = [google_crc32c.value(e.content) for e in group.entries if e.kind is EntryKind.BLOCK]
    for crc32c, (_, block) in zip(crcs, reader.placed_blocks(offset), strict=False):
        if block.crc32c != crc32c:
            break
        offset = block.end_offset
    return offset
