"""Comparison of a node's folder with its shared log, block by block."""

from collections.abc import Callable, Iterator
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.care.findings import Finding
from metadata_log.files.fs import ByteStore
from metadata_log.reader.committed import committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import EntryKind, Group, SharedLog

_READ_BYTES = 4 * 1024 * 1024


class _Block(msgspec.Struct, frozen=True, gc=False):
    """A block of the folder: its place, its end offset, and its CRC-32C."""

    file: str
    byte: int
    end_offset: int
    crc32c: int


class Compared(msgspec.Struct, kw_only=True):
    """The relation of a folder to its shared log.

    Attributes:
        difference: The first block that differs, None if there is none.
        groups: Number of groups that were compared.
        from_offset: Offset of the first compared block; the folder or the shared log has no blocks
            before it.
        to_offset: End of the equal blocks, exclusive.
        missing: Number of records in the shared log that the folder does not have yet.
    """

    difference: Finding | None = None
    groups: int = 0
    from_offset: int | None = None
    to_offset: int = 0
    missing: int = 0


async def compare_with_folder(
    log: SharedLog, fs: ByteStore, directory: Path, progress: Callable[[int], None] | None = None
) -> Compared:
    """Compare the committed blocks of a shared log with the blocks of the folder, in order.

    Args:
        progress: Called with the end offset of each group compared.

    Raises:
        UnavailableError: the store does not answer.
        CorruptLogError: the folder is damaged.
    """
    found = Compared()
    with LogReader.open(directory, fs=fs) as reader:
        blocks = _blocks(fs, reader)
        end, number = await log.confirmed_end(), await log.start()
        while number < end.number:
            for group in await log.read(number, _READ_BYTES):
                number = group.number + 1
                if group.number == 0:  # a claim, where the first records begin
                    found.from_offset = max(group.end_offset, reader.start_offset)
                    found.to_offset = found.from_offset
                if number > end.number or found.difference is not None:
                    continue
                if 0 < reader.start_offset >= group.end_offset:
                    continue  # the folder has dropped it
                _compare(found, group, blocks)
                if progress is not None:
                    progress(found.to_offset)
        found.missing = max(end.end_offset - reader.end_offset, 0)
        if found.difference is None and end.end_offset < reader.end_offset:
            found.difference = Finding(
                file="",
                byte=0,
                what=f"the folder ends at offset {reader.end_offset}, the shared log at "
                f"{end.end_offset}: the store has lost records",
                remedy="keep all nodes stopped: this folder has records that the store lacks",
                from_offset=end.end_offset,
            )
    return found


def _blocks(fs: ByteStore, reader: LogReader) -> Iterator[_Block]:
    for segment in committed_segments(fs, reader):
        with segment.scan() as scan:
            for block in scan.blocks():
                yield _Block(segment.path.name, block.position, block.end_offset, block.crc32c)


def _compare(found: Compared, group: Group, blocks: Iterator[_Block]) -> None:
    """Compare the blocks of a group with the folder's next blocks."""
    if group.is_claim:
        return
    for entry in group.entries:
        if entry.kind is not EntryKind.BLOCK:
            continue
        crc32c = google_crc32c.value(entry.content)
        block = next(blocks, None)
        if found.from_offset is None:  # after blocks of groups that are trimmed
            while block is not None and block.crc32c != crc32c and _is_before(block, group):
                found.to_offset = block.end_offset
                block = next(blocks, None)
            found.from_offset = found.to_offset
        if block is None:
            return  # the folder is behind
        if block.crc32c != crc32c:
            found.difference = Finding(
                file=block.file,
                byte=block.byte,
                what=f"the block up to offset {block.end_offset} has CRC 0x{block.crc32c:08x}, in "
                f"the shared log (group {group.number}) 0x{crc32c:08x}",
                remedy="if `metalog verify` without --shared finds the folder whole, it is of "
                "another log, or the store has lost records",
                from_offset=found.to_offset,
            )
            return
        found.to_offset = block.end_offset
    found.groups += 1


def _is_before(block: _Block, group: Group) -> bool:
    return block.end_offset < group.end_offset
