"""Check of the block before the commit mark against the CRC in the mark.

A mark that was copied from another log, or from another history of this log, can point to a place
where a block happens to end. A writer that trusted such a mark would cut the blocks after that
place, because none of them continues a block with the mark's CRC.
"""

from contextlib import suppress
from pathlib import Path

import msgspec

from metadata_log.files.fs import Fs
from metadata_log.files.names import segment_name
from metadata_log.format.block import SYNC_SIZE, parse_block
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.offset_index import read_index
from metadata_log.format.segment_file import SegmentFile
from metadata_log.format.segment_scan import corrupt
from records.errors import CorruptLogError


def check_marked_block(fs: Fs, directory: Path, mark: CommitMark) -> None:
    """Check that a block with the mark's CRC ends at the mark's position.

    Reads from the last index entry before the mark; without an entry, the whole last segment.
    Blocks are not decoded: their content is checked when they are read.

    Raises:
        CorruptLogError: no block ends at the position, or the block that ends there has another
            CRC.
    """
    path = directory / segment_name(mark.segment_offset)
    with SegmentFile.opened(fs, path) as segment:
        if mark.position <= segment.first_position:
            last = _Block(0, segment.header.previous_crc32c)
        else:
            last = _last_block(fs, segment, mark)
    if last.crc32c != mark.last_crc32c:
        raise corrupt(
            path,
            last.position,
            f"the block before byte {mark.position} has CRC 0x{last.crc32c:08x}, the commit mark "
            f"says 0x{mark.last_crc32c:08x}: one of them is damaged, or of another log",
        )


class _Block(msgspec.Struct, frozen=True):
    position: int
    crc32c: int


def _last_block(fs: Fs, segment: SegmentFile, mark: CommitMark) -> _Block:
    start = segment.first_position
    entry = read_index(fs, segment.path.parent, mark.segment_offset).at_offset(mark.end_offset - 1)
    if entry is not None and start < entry.position < mark.position:
        # The index may belong to another log, so it is only a hint.
        with suppress(CorruptLogError):
            return _walk(segment, entry.position, mark)
    return _walk(segment, start, mark)


def _walk(segment: SegmentFile, start: int, mark: CommitMark) -> _Block:
    """Walk over the blocks up to the mark; return the last block."""
    marker = segment.header.sync_marker
    data = segment.file.pread(mark.position - start + SYNC_SIZE, start - SYNC_SIZE)
    at = SYNC_SIZE
    block = None
    try:
        if data[:SYNC_SIZE] != marker:
            raise CorruptLogError("no block begins here")
        while at < len(data):
            block = parse_block(data, at, start + at - SYNC_SIZE, marker)
            if block is None:
                raise CorruptLogError(
                    f"the block runs past byte {mark.position}, where the commit mark says that "
                    "the log ends: the block is damaged, or the mark is of another log"
                )
            at = SYNC_SIZE + block.end_position - start
    except CorruptLogError as error:
        raise corrupt(segment.path, start + at - SYNC_SIZE, str(error)) from error
    assert block is not None
    return _Block(block.position, block.crc32c)
