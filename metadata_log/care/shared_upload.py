"""Groups of batches for a shared log, made from the unchanged blocks of a folder."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing

from msgspec.structs import replace

from metadata_log.files.fs import missing_as_unavailable
from metadata_log.format.checkpoint import Checkpoint
from metadata_log.format.segment_file import SegmentFile
from metadata_log.reader.committed import CommittedSegment
from metadata_log.shared.shared_log import (
    NONCE_SIZE,
    Entry,
    EntryKind,
    Group,
    Position,
    claim_of,
)

_GROUP_BYTES = 4 * 1024 * 1024
"""A group of batches is complete once its blocks have this many bytes."""


def base_groups(base: Checkpoint, first: CommittedSegment, at: Position) -> Iterator[Group]:
    """Yield a claim, and groups with the checkpoint that a log starts from.

    They end where the log's first segment begins: at its offset, with the CRC before it.

    Args:
        first: The log's first segment.
        at: The end of the shared log, which is empty.

    Raises:
        UnavailableError: the checkpoint was removed meanwhile.
    """
    start = replace(at, end_offset=first.base_offset, crc32c=first.header.previous_crc32c)
    claim = new_claim(start, max(base.leader_epoch, 1))
    yield claim
    at = claim.end
    with missing_as_unavailable(base.path.parent), closing(base.fs.open(base.path)) as file:
        for position in range(0, base.size, _GROUP_BYTES):
            part = file.pread(min(_GROUP_BYTES, base.size - position), position)
            made = _group(at, [Entry(EntryKind.BASE, part)])
            yield made
            at = made.end


def groups_of(segment: CommittedSegment, at: Position, from_offset: int = 0) -> Iterator[Group]:
    """Yield a segment's groups of batches, after a claim if the segment begins a new epoch.

    Args:
        at: The end of the shared log, at which the first group is appended.
        from_offset: Blocks below this offset are left out, because the shared log has them.

    Raises:
        CorruptLogError: the segment is damaged.
    """
    epoch = segment.header.leader_epoch
    with SegmentFile.opened(segment.fs, segment.path) as opened:
        if epoch == at.epoch == 0 and segment.size == opened.first_position:
            return  # of a log that nobody has written to yet
        if epoch > at.epoch:
            claim = new_claim(at, epoch)
            yield claim
            at = claim.end
        entries, size = list[Entry](), 0
        if segment.base_offset >= from_offset:
            entries.append(Entry(EntryKind.SEGMENT, opened.file.pread(opened.first_position, 0)))
        for block in opened.scan(segment.size).blocks():
            if block.end_offset <= from_offset:
                continue
            stored = opened.file.pread(block.end_position - block.position, block.position)
            entries.append(Entry(EntryKind.BLOCK, stored))
            size += len(stored)
            at = replace(at, end_offset=block.end_offset, crc32c=block.crc32c)
            if size >= _GROUP_BYTES:
                made = _group(at, entries)
                yield made
                at, entries, size = made.end, [], 0
        if entries:
            yield _group(at, entries)


def new_claim(at: Position, epoch: int) -> Group:
    """Return a new claim of an epoch at a position, with a random nonce."""
    return claim_of(at, epoch, secrets.token_bytes(NONCE_SIZE))


def _group(at: Position, entries: Sequence[Entry]) -> Group:
    """Return a group of `entries` that has the number, epoch, end offset and CRC of `at`."""
    return Group(
        number=at.number,
        epoch=at.epoch,
        nonce=secrets.token_bytes(NONCE_SIZE),
        end_offset=at.end_offset,
        crc32c=at.crc32c,
        entries=tuple(entries),
    )
