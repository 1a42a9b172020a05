"""Walk over the blocks of one segment that continues after damage.

After bytes that are no valid block, the walk continues after the next sync marker, where a block
may begin. The skipped bytes are reported. The blocks after them are checked as usual, except that
the first one need not be linked to the block before it.
"""

from collections.abc import Iterator

import msgspec

from metadata_log.format.block import SYNC_SIZE, ReadBlock
from metadata_log.format.segment_file import ScanStart, SegmentFile
from records.errors import CorruptLogError

_SEARCH_SIZE = 1024 * 1024


class BadBytes(msgspec.Struct, frozen=True):
    """Bytes that are not valid blocks.

    `end_position` is where the next valid block starts; None if there is none.
    """

    position: int
    end_position: int | None
    next_offset: int | None
    why: str


class BlockWalk:
    """Walks over the blocks of a segment up to a limit.

    Attributes:
        scan: The scan that reads the blocks; its position shows how far the walk has come.
        is_whole: True if everything so far was readable and each block followed the one before it.
    """

    def __init__(
        self,
        segment: SegmentFile,
        limit: int,
        start: ScanStart | None = None,
    ) -> None:
        self._file = segment.file
        self._sync_marker = segment.header.sync_marker
        self._limit = limit
        self.is_whole = True
        self._last: ReadBlock | None = None
        self.scan = segment.scan(limit, start)

    def __iter__(self) -> Iterator[ReadBlock | BadBytes]:
        """Yield each block, and each range of bad bytes, in order.

        If a valid block does not continue the preceding block, the preceding block is damaged. It
        has been yielded as a block by then; its bytes are yielded again as bad, before the valid
        block.
        """
        while self.scan.position < self._limit:
            try:
                for block in self.scan.blocks():
                    self._last = block
                    yield block
            except CorruptLogError as error:
                self.is_whole = False
                yield self._before_broken_link(error) or self._skip(error)

    def _before_broken_link(self, error: CorruptLogError) -> BadBytes | None:
        """Return the preceding block as bad bytes if the next block is valid but not linked to it.

        The walk then continues at the valid block, without checking that link. Return None in all
        other cases.
        """
        position, next_offset = self.scan.position, self.scan.next_offset
        if self._last is None or self.scan.last_crc32c is None:
            return None
        self.scan.last_crc32c = None
        try:
            next(self.scan.blocks())
        except CorruptLogError:
            return None
        finally:
            self.scan.skip_to(position)
            self.scan.next_offset = next_offset
        last, why = self._last, str(error.__cause__ or error)
        return BadBytes(last.position, last.end_position, last.base_offset, why)

    def _skip(self, error: CorruptLogError) -> BadBytes:
        start, next_offset = self.scan.position, self.scan.next_offset
        marker = self._find_marker(start)
        if marker is None or marker + SYNC_SIZE >= self._limit:
            self.scan.skip_to(self._limit)
            return BadBytes(start, None, next_offset, str(error.__cause__ or error))
        end = marker + SYNC_SIZE
        self.scan.skip_to(end)
        return BadBytes(start, end, next_offset, str(error.__cause__ or error))

    def _find_marker(self, position: int) -> int | None:
        at = position
        while at < self._limit:
            data = self._file.pread(min(_SEARCH_SIZE + SYNC_SIZE, self._limit - at), at)
            found = data.find(self._sync_marker)
            if found >= 0:
                return at + found
            at += _SEARCH_SIZE
        return None
