"""Lost groups in the middle of a shared log, and new groups for them from a node's folder.

It is not known how the lost records were divided into groups, and nothing depends on it. So each
lost number gets a new group with some of the folder's blocks. If there are more numbers than
blocks, the remaining groups repeat the header of an earlier segment, which readers skip.
"""

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

import google_crc32c
import msgspec
from msgspec.structs import replace

from metadata_log.care.lost_records import has_block
from metadata_log.care.shared_upload import new_claim
from metadata_log.files.fs import ByteStore
from metadata_log.format.batch import Batch
from metadata_log.format.segment_file import SegmentFile
from metadata_log.reader.committed import CommittedSegment, committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import (
    EMPTY,
    NONCE_SIZE,
    Entry,
    EntryKind,
    Group,
    Position,
    SharedLog,
)


class _Piece(msgspec.Struct, frozen=True):
    """A segment header or block of a folder, its segment's epoch, and the log's end after it."""

    entry: Entry
    epoch: int
    end_offset: int
    crc32c: int


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive groups that a shared log has lost, although it has later groups.

    Attributes:
        numbers: The numbers of the lost groups.
        before: The last group before them, which may be trimmed; None if there is none, or the
            store does not have it any more.
        following: The first group after them.
        from_offset: Offset of the first lost record; 0 if `is_placed` is False.
        end_offset: Offset after the last lost record; the end of `following` if `in_folder` is
            False.
        in_folder: True if the folder has all lost records and agrees with the groups around them.
    """

    numbers: range
    before: Group | None
    following: Group
    from_offset: int
    end_offset: int
    in_folder: bool

    @property
    def text(self) -> str:
        """The groups and the offsets of their records, for messages."""
        first, last = self.numbers.start, self.numbers.stop - 1
        groups = f"group {first}" if first == last else f"groups {first} to {last}"
        if self.from_offset == self.end_offset:
            return f"{groups} without records"
        from_text = f"offsets {self.from_offset} to" if self.is_placed else "offsets up to"
        up_to = "" if self.in_folder else "at most "
        return f"{groups} ({from_text} {up_to}{self.end_offset - 1})"

    @property
    def is_placed(self) -> bool:
        """True if the store tells where the groups begin, so that they can be put back."""
        return self.before is not None or self.numbers.start == 0

    @property
    def begin(self) -> Position:
        """The position of the first lost group."""
        return EMPTY if self.before is None else self.before.end


async def lost_groups(log: SharedLog, fs: ByteStore, directory: Path) -> list[Gap]:
    """Return the gaps in a shared log, and for each if a folder has its records. Takes no lock.

    Raises:
        UnavailableError: the store does not answer.
        CorruptLogError: the folder is damaged.
    """
    found = []
    with LogReader.open(directory, fs=fs) as reader:
        for numbers in await log.lost():
            is_first = numbers.start == await log.start()
            before = await (log.last_trimmed() if is_first else _group_at(log, numbers.start - 1))
            following = await _group_at(log, numbers.stop)
            found.append(_gap(reader, numbers, before, following))
    return found


async def _group_at(log: SharedLog, number: int) -> Group:
    return (await log.read(number, 0))[0]


def batches_of(fs: ByteStore, directory: Path, gap: Gap) -> Iterator[Batch]:
    """Yield a folder's batches that the shared log has lost."""
    with LogReader.open(directory, fs=fs) as reader:
        yield from reader.batches(gap.from_offset, gap.end_offset)


def groups_in_place(fs: ByteStore, directory: Path, gap: Gap) -> list[Group]:
    """Return groups for the lost numbers, made from the unchanged blocks of a folder.

    Args:
        gap: A gap whose records are in the folder (`in_folder`).
    """
    with LogReader.open(directory, fs=fs) as reader:
        segments = committed_segments(fs, reader)
        parts = _parts(list(_pieces(segments, gap)), gap)
        repeated = [each for each in segments if each.base_offset < gap.end_offset] or segments
        header = _header(repeated[-1])
    _divide(parts, len(gap.numbers))
    groups, at = list[Group](), gap.begin
    for part in parts:
        groups.append(new_claim(at, part) if isinstance(part, int) else _group(at, part))
        at = groups[-1].end
    while len(groups) < len(gap.numbers):
        groups.append(_group(at, [_Piece(header, at.epoch, at.end_offset, at.crc32c)]))
        at = groups[-1].end
    assert at.number == gap.following.number, "a folder has no more parts than were committed"
    return groups


def _gap(reader: LogReader, numbers: range, before: Group | None, following: Group) -> Gap:
    begin = EMPTY if before is None else before.end
    gap = Gap(
        numbers=numbers,
        before=before,
        following=following,
        from_offset=begin.end_offset,
        end_offset=following.end_offset,
        in_folder=False,
    )
    if (
        gap.is_placed
        and reader.start_offset <= begin.end_offset
        and has_block(reader, begin.end_offset, begin.crc32c)
        and has_block(reader, following.end_offset, following.crc32c)
    ):
        blocks = [block for _, block in reader.placed_blocks(begin.end_offset)]
        ends = [begin.end_offset, *(block.end_offset for block in blocks)]
        # Chained by CRCs: from the end of the following group its blocks lead back to its start.
        kept = sum(entry.kind is EntryKind.BLOCK for entry in following.entries)
        end_offset = ends[ends.index(following.end_offset) - kept]
        return replace(gap, end_offset=end_offset, in_folder=True)
    return gap


def _pieces(segments: Sequence[CommittedSegment], gap: Gap) -> Iterator[_Piece]:
    """Yield a folder's segment headers and blocks that belong to the lost groups."""
    known = [group.entries[at] for group, at in _beside(gap) if group.entries]
    epoch_max = gap.following.epoch - gap.following.is_claim
    crc32c = gap.begin.crc32c
    whole = [each for each in segments if each.base_offset <= gap.from_offset]
    for segment in segments[max(len(whole) - 1, 0) :]:
        base, epoch = segment.base_offset, segment.header.leader_epoch
        if base > gap.end_offset or epoch > epoch_max:
            return
        header = _header(segment)
        if base >= gap.from_offset and header not in known:
            yield _Piece(header, epoch, base, crc32c)
        with SegmentFile.opened(segment.fs, segment.path) as opened:
            for block in opened.scan(segment.size).blocks():
                if gap.from_offset <= block.base_offset < gap.end_offset:
                    stored = opened.file.pread(block.end_position - block.position, block.position)
                    crc32c = google_crc32c.value(stored)
                    yield _Piece(Entry(EntryKind.BLOCK, stored), epoch, block.end_offset, crc32c)


def _beside(gap: Gap) -> Iterator[tuple[Group, int]]:
    """Yield the groups before and after a gap, each with the index of its entry next to the gap."""
    if gap.before is not None:
        yield gap.before, -1
    yield gap.following, 0


def _parts(pieces: list[_Piece], gap: Gap) -> list[int | list[_Piece]]:
    """Split pieces into parts, each for one group; an epoch stands for the claim of that epoch."""
    parts, epoch = list[int | list[_Piece]](), gap.begin.epoch
    for piece in pieces:
        if piece.epoch > epoch:
            epoch = piece.epoch
            parts.append(epoch)
        last = parts[-1] if parts else None
        if isinstance(last, list):
            last.append(piece)
        else:
            parts.append([piece])
    if not gap.following.is_claim and gap.following.epoch > epoch:
        parts.append(gap.following.epoch)
    return parts


def _divide(parts: list[int | list[_Piece]], count: int) -> None:
    """Halve the largest parts until there are `count`, or none can be halved.

    The first block gets a part of its own: where the shared log begins with it, a folder that ends
    in the first group is too old.
    """
    if parts and isinstance(first := parts[0], list) and len(first) > 1 and len(parts) < count:
        parts[0:1] = [first[:1], first[1:]]
    while len(parts) < count:
        sizes = [_size(part) if isinstance(part, list) and len(part) > 1 else 0 for part in parts]
        largest = max(sizes, default=0)
        if not largest:
            return
        place = sizes.index(largest)
        part = parts[place]
        assert isinstance(part, list)
        parts[place : place + 1] = [part[: len(part) // 2], part[len(part) // 2 :]]


def _size(part: list[_Piece]) -> int:
    return sum(len(piece.entry.content) for piece in part)


def _header(segment: CommittedSegment) -> Entry:
    with SegmentFile.opened(segment.fs, segment.path) as opened:
        return Entry(EntryKind.SEGMENT, opened.file.pread(opened.first_position, 0))


def _group(at: Position, part: list[_Piece]) -> Group:
    return Group(
        number=at.number,
        epoch=at.epoch,
        nonce=secrets.token_bytes(NONCE_SIZE),
        end_offset=part[-1].end_offset,
        crc32c=part[-1].crc32c,
        entries=tuple([piece.entry for piece in part]),
    )
