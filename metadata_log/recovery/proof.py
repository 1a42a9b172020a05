"""Proof that blocks past the commit mark were acknowledged.

A block is encoded after everything below its `durable_end` was on stable storage, and a segment
starts only when everything before it is. So the proven end, the limit, is

    max(mark, durable_end of any intact block after the mark, base of any later segment)

After a machine crash the mark on disk may be up to a second old. A reader reads the log up to the
limit; a writer that finds damage below the limit refuses to open the log.
"""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import msgspec

from metadata_log.files.fs import ByteStore, ReadableFile
from metadata_log.files.names import segment_name, segment_offsets
from metadata_log.format.block import SYNC_SIZE, block_size
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.segment_file import ScanStart, SegmentFile, read_segment_header
from metadata_log.format.segment_scan import SegmentScan
from records.errors import CorruptLogError


class PastMark(msgspec.Struct, frozen=True):
    """The mark, advanced to the proven end, and whether complete blocks follow after it."""

    proven: CommitMark
    has_more: bool


def placed(fs: ByteStore, directory: Path, mark: CommitMark) -> CommitMark:
    """Return the mark with its position corrected to the current file.

    A mark in an empty segment has the length of the header as its position. A later writer may have
    replaced that header by one whose epoch has more digits.

    Raises:
        CorruptLogError: the header is damaged.
    """
    path = directory / segment_name(mark.segment_offset)
    if mark.end_offset > mark.segment_offset or not fs.exists(path):
        return mark
    with SegmentFile.opened(fs, path) as segment:
        return msgspec.structs.replace(mark, position=segment.first_position)


def look_past(fs: ByteStore, directory: Path, mark: CommitMark) -> PastMark:
    """Read the blocks past a mark, and return the end that they prove to have been acknowledged.

    Raises:
        CorruptLogError: a block below the proven end is damaged, or a live writer is still writing
            it. In the latter case the log's mark has advanced meanwhile.
    """
    walk = _Walk(mark)
    bases = [b for b in segment_offsets(fs.list(directory)) if b >= mark.segment_offset]
    for base in bases:
        walk.prove(base)
    for base, following in zip_longest(bases, bases[1:]):
        path = directory / segment_name(base)
        file = fs.open(path)
        try:
            if file.size() == mark.position and len(bases) == 1:
                break
            limit = file.size()
            if following is not None:
                after = read_segment_header(fs, directory / segment_name(following))
                limit = min(limit, after.previous_length)
            walk.go_over(file, path, limit)
        finally:
            file.close()
    return walk.result()


class _Walk:
    """Reads the blocks past a mark, in order. `_ends` lists the mark as it would be after each
    block.
    """

    def __init__(self, mark: CommitMark) -> None:
        self._ends = [mark]
        self._all_is_confirmed = mark.confirmed_end == mark.end_offset
        self._limit = mark.end_offset

    def prove(self, end_offset: int) -> None:
        self._limit = max(self._limit, end_offset)

    def go_over(self, file: ReadableFile, path: Path, limit: int) -> None:
        segment = SegmentFile.of(file, path)
        header, last = segment.header, self._ends[-1]
        is_same = header.base_offset == last.segment_offset
        position = last.position if is_same else segment.first_position
        scan = segment.scan(limit, ScanStart(position, last.end_offset, last.last_crc32c))
        try:
            for block in scan.blocks():
                self.prove(block.durable_end)
                self._ends.append(
                    msgspec.structs.replace(
                        last,
                        leader_epoch=block.leader_epoch,
                        end_offset=block.end_offset,
                        segment_offset=header.base_offset,
                        position=block.end_position,
                        confirmed_end=(
                            block.end_offset if self._all_is_confirmed else last.confirmed_end
                        ),
                        last_crc32c=block.crc32c,
                        max_timestamp=max(block.max_timestamp, self._ends[-1].max_timestamp),
                    )
                )
        except CorruptLogError:
            intact = scan.intact_below
            assert intact is not None
            if self._limit > intact or proves_more(segment, scan.position, intact):
                raise

    def result(self) -> PastMark:
        proven = max(
            (mark for mark in self._ends if mark.end_offset <= self._limit),
            key=lambda mark: mark.end_offset,
        )
        return PastMark(proven, has_more=self._ends[-1].end_offset > proven.end_offset)


def proves_more(segment: SegmentFile, position: int, end_offset: int) -> bool:
    """True if a later intact block proves that more than `end_offset` was on stable storage.

    Args:
        position: The byte at which the valid blocks end.
    """
    size = segment.file.size()
    data = segment.file.pread(size - position, position)
    for start in _block_starts(data, segment.header.sync_marker):
        scan = segment.scan(size, ScanStart(position + start))
        if _durable_end_at(scan) > end_offset:
            return True
    return False


def _block_starts(data: bytes, sync_marker: bytes) -> Iterator[int]:
    """Yield possible starts of blocks in bytes that begin with a damaged block.

    These are: the first byte (the block may be intact but out of sequence), the end according to
    the block's own length (only its sync marker may be damaged), and the byte after each sync
    marker.
    """
    yield 0
    named = block_size(data, 0)
    if named is not None:
        yield named
    at = data.find(sync_marker)
    while at >= 0:
        yield at + SYNC_SIZE
        at = data.find(sync_marker, at + 1)


def _durable_end_at(scan: SegmentScan) -> int:
    """Return the `durable_end` of the block at the scan's start; 0 if there is no valid block."""
    try:
        for block in scan.blocks():
            return block.durable_end
    except CorruptLogError:
        pass
    return 0
