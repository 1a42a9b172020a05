"""A node's folder as it follows a shared log: every block is checked, then written unchanged."""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import google_crc32c
import msgspec
from msgspec.structs import replace

from metadata_log.files.fs import Fs
from metadata_log.files.names import segment_name, segment_offsets
from metadata_log.format.batch import Batch
from metadata_log.format.block import ReadBlock
from metadata_log.format.commit_mark import NO_MARK, read_mark
from metadata_log.format.manifest import Kind
from metadata_log.format.segment import SegmentHeader, decode_header
from metadata_log.format.segment_file import BlockPlace
from metadata_log.format.segment_scan import SegmentScan
from metadata_log.format.tail import EMPTY_TAIL, Tail
from metadata_log.limits import SEGMENT_SIZE_BYTES_MAX
from metadata_log.shared.shared_log import (
    EMPTY,
    EntryKind,
    Group,
    Position,
    SharedLog,
    kept_group,
)
from metadata_log.writer.node_writer import NodeWriter
from metadata_log.writer.owned_log import OwnedLog, take_over
from metadata_log.writer.request_window import RequestWindow
from records.errors import CorruptLogError, UnknownHistoryError


class LostRecordsError(CorruptLogError):
    """The shared log lacks records that a node's folder has, or has others in their place.

    The store has lost acknowledged data, for example by an asynchronous fail-over or an old dump.

    Attributes:
        from_offset: The first offset that differs, as far as it is known.
        end_offset: The folder's end.
    """

    def __init__(self, message: str, *, from_offset: int, end_offset: int) -> None:
        super().__init__(message)
        self.from_offset = from_offset
        self.end_offset = end_offset


class FolderCopy:
    """A folder that follows a shared log; owns the folder's lock through its writer.

    Attributes:
        position: The end of the shared log up to which the folder has everything.
        requests: The request window at the folder's end, for a writer that leads.
        requests_at: The end of the folder, and its last CRC, of which `requests` is the window;
            None if a writer has it, or a step did not end.
    """

    def __init__(
        self, directory: Path, owned: OwnedLog, position: Position, requests: RequestWindow
    ) -> None:
        """Continue to follow at a position that `place_of` returned.

        Args:
            requests: As read from the folder.
        """
        assert isinstance(owned.writer, NodeWriter)
        self._directory = directory
        self._cluster_id = owned.cluster_id
        self._writer = owned.writer
        self._owned = owned
        self._is_open = True
        self.position = position
        self.requests = requests
        self.requests_at: tuple[int, int] | None = _end_of(self.tail)
        self._header: SegmentHeader | None = None
        # Parts of the checkpoint that the log starts from, as far as they were read.
        self._base: list[bytes] = []

    @property
    def durable_end(self) -> int:
        """Offset up to which the folder is on stable storage, as far as this process knows."""
        return self._writer.durable_end

    @property
    def tail(self) -> Tail:
        """The end of the folder."""
        return self._writer.tail

    def apply(self, groups: Iterable[Group]) -> list[Batch]:
        """Write groups of batches of the shared log to the folder; return these batches.

        Readers of the folder see the batches afterwards. The groups must be committed, and the
        first one must be at `position`.

        Raises:
            CorruptLogError: a group does not continue the folder's chain of blocks.
            UnavailableError, OSError: the disk is full or fails; open the folder again.
        """
        batches: list[Batch] = []
        self.requests_at = None
        for group in groups:
            assert group.number == self.position.number, "groups are applied in order"
            for entry in group.entries:
                match entry.kind:
                    case EntryKind.BASE:
                        self._base += [entry.content] if self._is_new else []
                    case EntryKind.SEGMENT:
                        self._start_segment(entry.content)
                    case EntryKind.BLOCK:
                        batches += self._copy_block(entry.content)
            if not self._is_new:
                self._check_end(group)
            self.position = group.end
        self._writer.commit()
        self.requests_at = _end_of(self.tail)
        return batches

    def requests_of(self, tail: Tail) -> RequestWindow | None:
        """Return the request window for a folder that ends like this one did, else None."""
        return self.requests if self.requests_at == _end_of(tail) else None

    def sync(self) -> None:
        """Put everything on stable storage."""
        self._writer.sync_mark()

    def hand_over(self) -> OwnedLog:
        """Give the folder to a writer that leads; this copy is closed afterwards."""
        self._is_open = False
        self.requests_at = None
        return self._owned

    def close(self) -> None:
        """Sync and release the folder, unless it was handed over."""
        if self._is_open:
            self._is_open = False
            try:
                self._writer.close()
            finally:
                self._owned.lock.release()

    def abandon(self) -> None:
        """Release the folder without writing, after an error of the disk."""
        if self._is_open:
            self._is_open = False
            self._writer.abandon()
            self._owned.lock.release()

    @property
    def _is_new(self) -> bool:
        """True if the folder has neither records nor the checkpoint that the log starts from."""
        tail = self.tail
        return tail.end_offset == tail.last_crc32c == tail.previous_length == 0

    def _start_segment(self, content: bytes) -> None:
        header, size = decode_header(content)
        if self._base:
            self._writer.begin(header, content, b"".join(self._base))
            self._header, self._base = header, []
            return
        expected = self._writer.next_header(header.leader_epoch)
        if header.base_offset < self.tail.end_offset:
            return  # the folder has it, and blocks behind it
        same = msgspec.structs.replace(expected, schema_json=header.schema_json)
        if size != len(content) or header != same:
            raise self._differs(f"a segment begins with {header}, expected {expected}")
        self._writer.copy_segment(header, content)
        self._header = header

    def _copy_block(self, content: bytes) -> tuple[Batch, ...]:
        tail = self.tail
        block = self._parsed(content, tail)
        if block is None:
            return ()
        end_position = tail.position + len(content)
        self._writer.copy_block(
            content,
            msgspec.structs.replace(
                tail,
                end_offset=block.end_offset,
                leader_epoch=block.leader_epoch,
                position=end_position,
                last_crc32c=google_crc32c.value(content),
                max_timestamp=max(block.max_timestamp, tail.max_timestamp or block.max_timestamp),
            ),
            [row.payload for row in block.rows],
        )
        place = BlockPlace(tail.segment_offset, tail.position, end_position)
        self.requests.follow(block.batches[0], place)
        return block.batches

    def _parsed(self, content: bytes, tail: Tail) -> ReadBlock | None:
        """Return a block that continues at the tail; None if the folder already has the block."""
        header = self._header or self._writer.last_header()
        self._header = header
        scan = SegmentScan(
            _Bytes(content, tail.position),
            self._directory / segment_name(tail.segment_offset),
            header,
            position=tail.position,
            limit=tail.position + len(content),
            next_offset=tail.end_offset,
            last_crc32c=tail.last_crc32c,
        )
        first = scan.peek_offset()
        if first is not None and first < tail.end_offset:
            return None
        (block,) = scan.blocks()
        return block

    def _check_end(self, group: Group) -> None:
        tail = self.tail
        if (tail.end_offset, tail.last_crc32c) != (group.end_offset, group.crc32c):
            raise self._differs(
                f"group {group.number} ends at offset {group.end_offset} with CRC "
                f"0x{group.crc32c:08x}, the folder at {tail.end_offset} with "
                f"0x{tail.last_crc32c:08x}"
            )

    def _differs(self, what: str) -> CorruptLogError:
        return CorruptLogError(f"{self._directory} is no copy of the shared log: {what}")


def _end_of(tail: Tail) -> tuple[int, int]:
    return tail.end_offset, tail.last_crc32c


class _Bytes:
    """The bytes of one block, read like the file that contains the block."""

    def __init__(self, content: bytes, position: int) -> None:
        self._content = content
        self._position = position

    def pread(self, size: int, position: int) -> bytes:
        start = position - self._position
        return self._content[start : start + size]

    def size(self) -> int:
        return self._position + len(self._content)

    def close(self) -> None:
        """Do nothing."""


async def take_copy_over(
    log: SharedLog,
    fs: Fs,
    directory: Path,
    *,
    segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX,
) -> OwnedLog:
    """Take over a node's folder, as `take_over`; cut off what is damaged.

    Whole segments are removed only if the shared log has what the folder then lacks.

    Raises:
        RequestError, UnavailableError, FencedError: as `take_over`; or the store does not answer.
        CorruptLogError: a segment before the last one is damaged, or the last one's header, and the
            shared log is trimmed beyond it; nothing was removed.
        UnknownHistoryError: the folder has no segments, and the shared log is trimmed.
        LostRecordsError, MissingGroupError: such damage, and the store has lost records of the
            folder; nothing was removed.
    """
    take = partial(
        take_over,
        fs,
        directory,
        Kind.OWN,
        is_copy=True,
        segment_size_bytes_max=segment_size_bytes_max,
    )
    try:
        return await asyncio.to_thread(take)
    except CorruptLogError:
        least_end = await _least_end(log, fs, directory)
    try:
        return await asyncio.to_thread(take, least_end=least_end)
    except CorruptLogError as damage:
        if not least_end:
            raise
        if not segment_offsets(fs.list(directory)):
            raise too_old(directory, EMPTY_TAIL) from damage
        raise CorruptLogError(
            f"{damage}; the shared log is trimmed, so nothing of the folder was removed: put the "
            f"file back from a backup, or keep a copy of {directory}, remove it, and fill it by "
            "`metalog restore` from the archive or from a backup of another node"
        ) from damage


async def _least_end(log: SharedLog, fs: Fs, directory: Path) -> int:
    """Return the lowest end that a damaged folder can be continued from, as `place_of` judges it.

    Raises:
        LostRecordsError, MissingGroupError, UnavailableError: as `place_of`, of the folder's mark.
    """
    try:
        mark = read_mark(fs, directory)
    except CorruptLogError:
        mark = NO_MARK
    marked = replace(EMPTY_TAIL, end_offset=mark.end_offset, last_crc32c=mark.last_crc32c)
    with contextlib.suppress(UnknownHistoryError):  # the folder may go on behind its mark
        await place_of(log, marked, directory)
    start = await log.start()
    if start == 0:
        return 0
    end = await log.confirmed_end()
    return max(1, (await kept_group(log, start, end.number - 1)).end_offset)


async def place_of(log: SharedLog, tail: Tail, directory: Path) -> Position:
    """Return the place in a shared log from which a folder that ends at `tail` continues.

    It is the position before the first group that the folder lacks, or has only in part.

    Raises:
        UnknownHistoryError: the shared log is trimmed beyond the folder's end.
        LostRecordsError: the folder has records that the shared log does not have.
        MissingGroupError: the store has lost the group that the folder continues from.
        UnavailableError: the store does not answer.
    """
    if tail.end_offset == 0:
        if await log.start() > 0:
            raise too_old(directory, tail)
        return EMPTY
    end = await log.confirmed_end()
    _check_reaches(end, directory, tail.end_offset)
    low, high = await log.start(), end.number - 1
    first = await kept_group(log, low, high)
    if low > 0 and first.end_offset > tail.end_offset:
        await kept_group(log, low, low)  # the store has lost it, and the folder may lack no more
        raise too_old(directory, tail)
    while low < high:
        middle = (low + high) // 2
        found = await kept_group(log, middle, high)
        if found.end_offset >= tail.end_offset:
            high = middle
        else:
            low = found.number + 1
    group = await kept_group(log, low, end.number - 1)
    if group.end_offset == tail.end_offset:
        if group.crc32c != tail.last_crc32c:
            raise _lost(directory, group, tail)
        # Without a block it is not the group that the folder ends with, which is trimmed: a
        # segment may begin in it that the folder lacks.
        return group.end if _has_block(group) else replace(group.end, number=group.number)
    if not any(_ends_with(group, tail)):
        if group.number > low:
            await kept_group(log, low, low)  # the store has lost it, and it may be the folder's end
        raise _lost(directory, group, tail)
    return EMPTY if low == 0 else (await kept_group(log, low - 1, low - 1)).end


def _check_reaches(end: Position, directory: Path, end_offset: int) -> None:
    """Check that a shared log that ends at `end` has what a folder has, up to its end."""
    if end.end_offset < end_offset:
        raise LostRecordsError(
            f"{directory} ends at offset {end_offset}, the shared log at {end.end_offset}: "
            "the store has lost acknowledged records",
            from_offset=end.end_offset,
            end_offset=end_offset,
        )


def _has_block(group: Group) -> bool:
    return any(entry.kind is EntryKind.BLOCK for entry in group.entries)


def _ends_with(group: Group, tail: Tail) -> Iterator[bool]:
    """Yield for each block of a group: True if the folder ends with this block."""
    for entry in group.entries:
        if entry.kind is EntryKind.BLOCK:
            yield google_crc32c.value(entry.content) == tail.last_crc32c


def too_old(directory: Path, tail: Tail) -> UnknownHistoryError:
    """Return the error for a folder that lacks groups that the shared log has already trimmed."""
    return UnknownHistoryError(
        f"{directory} ends at offset {tail.end_offset}, and the shared log is trimmed beyond it: "
        f"remove {directory}, fill it by `metalog restore` from the archive or from a backup of "
        "another node, and start this node again"
    )


def _lost(directory: Path, group: Group, tail: Tail) -> LostRecordsError:
    return LostRecordsError(
        f"{directory} and the shared log have other records before offset {tail.end_offset} "
        f"(group {group.number}): the store has lost acknowledged records, or this is another "
        "log's folder",
        from_offset=tail.end_offset - 1,
        end_offset=tail.end_offset,
    )
