"""Recovery: finds the end of a log when a writer opens it, starting at the commit mark.

A machine crash can lose the newest marks, so the mark may be behind the acknowledged end. All bytes
past the mark are examined; recovery_rules.py decides which of them are kept. The kept part is
written to a new file that replaces the segment, for two reasons: after a failed sync the system can
have, and show, bytes that never reached the disk; and a fenced writer may still truncate the file
it has open.
"""

import logging
from itertools import zip_longest
from pathlib import Path

import msgspec

from metadata_log.files.file_publish import Owner, publish_file
from metadata_log.files.fs import File, Fs, copy_start
from metadata_log.files.names import segment_name, segment_offsets
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import ScanStart, SegmentFile, read_segment_header
from metadata_log.format.segment_scan import corrupt, short_copy
from metadata_log.format.tail import Tail
from metadata_log.recovery.marked_block import check_marked_block
from metadata_log.recovery.proof import placed, proves_more
from metadata_log.recovery.recovery_rules import Action, Marked, Next, Rest, decide
from records.errors import CorruptLogError

_LOG = logging.getLogger(__name__)


def recover(fs: Fs, directory: Path, mark: CommitMark, owner: Owner) -> Tail:
    """Cut bytes that were never committed, and return the end of the log. Idempotent.

    Raises:
        CorruptLogError: acknowledged records are damaged or missing; names file, byte and offset.
        FencedError: another writer took over meanwhile.
        UnavailableError: the disk has no room for a copy of the last segment.
    """
    path = directory / segment_name(mark.segment_offset)
    mark = placed(fs, directory, mark)
    _check_marked(fs, path, mark)
    check_marked_block(fs, directory, mark)
    bases = [b for b in segment_offsets(fs.list(directory)) if b >= mark.segment_offset]
    tail = _marked_tail(fs, path, mark)
    for base, following in zip_longest(bases, bases[1:]):
        tail = _Segment(fs, directory, base, following, tail, owner).recover()
    return tail


class _Segment:
    """Recovery of one segment, which is read from `tail` on.

    At first `tail` is the commit mark or the end of the preceding segment.
    """

    def __init__(
        self,
        fs: Fs,
        directory: Path,
        base: int,
        following: int | None,
        tail: Tail,
        owner: Owner,
    ) -> None:
        self._fs = fs
        self._path = directory / segment_name(base)
        self._base = base
        self._following = None if following is None else directory / segment_name(following)
        self._tail = tail
        self._owner = owner

    def recover(self) -> Tail:
        """Decide which bytes of this segment to keep, cut the others, and return the new tail."""
        file = self._fs.open(self._path, write=True)
        try:
            return self._recover(file)
        finally:
            file.close()

    def _recover(self, file: File) -> Tail:
        segment = SegmentFile.of(file, self._path)
        header = segment.header
        if self._base != self._tail.segment_offset:
            self._tail = msgspec.structs.replace(
                self._tail,
                leader_epoch=header.leader_epoch,
                segment_offset=self._base,
                position=segment.first_position,
                previous_length=header.previous_length,
            )
        next_is, after = self._look_at_next()
        limit = file.size() if after is None else min(after.previous_length, file.size())
        tail, damage, intact_below = self._whole_blocks(segment, limit)
        if after is not None and not tail.precedes(after):
            next_is = Next.LATER
        rest = self._rest(segment, tail, intact_below)
        action = decide(Marked.LONG_ENOUGH, next_is, rest)
        if action is Action.DAMAGE:
            raise self._damage(tail, damage, next_is)
        if action in (Action.CUT, Action.CUT_AND_GO_ON):
            _LOG.warning(
                "%s: cut %d bytes from byte %d on, written but never committed (%s)",
                self._path,
                file.size() - tail.position,
                tail.position,
                damage or "a later segment begins there",
            )
        if tail.position > self._tail.position:
            self._keep(file, tail.position)
        else:
            if file.size() > tail.position:
                file.truncate(tail.position)
            file.sync()
        return tail

    def _keep(self, file: File, end: int) -> None:
        """Replace the file by a new one with the bytes up to `end`."""
        publish_file(
            self._fs, self._path, lambda new: copy_start(file, new, end), self._owner
        ).close()

    def _look_at_next(self) -> tuple[Next, SegmentHeader | None]:
        """Return the state of the next segment and, if it is readable, its header."""
        if self._following is None:
            return Next.NONE, None
        try:
            return Next.FOLLOWS, read_segment_header(self._fs, self._following)
        except CorruptLogError:
            return Next.UNREADABLE, None

    def _whole_blocks(
        self, segment: SegmentFile, limit: int
    ) -> tuple[Tail, CorruptLogError | None, int | None]:
        """Read the intact blocks from the tail up to the limit.

        Returns:
            The new tail; the error that ended the search, or None; and in case of an error the
            offset below which everything is intact.
        """
        tail = self._tail
        start = ScanStart(tail.position, tail.end_offset, tail.last_crc32c)
        scan = segment.scan(limit, start)
        epoch, max_timestamp = tail.leader_epoch, tail.max_timestamp
        damage: CorruptLogError | None = None
        try:
            for block in scan.blocks():
                epoch, latest = block.leader_epoch, block.max_timestamp
                max_timestamp = max(latest, max_timestamp or latest)
        except CorruptLogError as error:
            damage = error
        assert scan.next_offset is not None and scan.last_crc32c is not None
        return (
            msgspec.structs.replace(
                tail,
                end_offset=scan.next_offset,
                leader_epoch=epoch,
                position=scan.position,
                last_crc32c=scan.last_crc32c,
                max_timestamp=max_timestamp,
            ),
            damage,
            None if damage is None else scan.intact_below,
        )

    def _rest(self, segment: SegmentFile, tail: Tail, intact_below: int | None) -> Rest:
        if tail.position == segment.file.size():
            return Rest.NOTHING
        if intact_below is not None and proves_more(segment, tail.position, intact_below):
            return Rest.TORN_BELOW_LIMIT
        return Rest.TORN

    def _damage(self, tail: Tail, damage: CorruptLogError | None, next_is: Next) -> CorruptLogError:
        if next_is is Next.UNREADABLE and self._following is not None:
            return corrupt(self._following, 0, "the header is damaged", tail.end_offset)
        if damage is not None:
            return damage
        return corrupt(
            self._path,
            tail.position,
            f"{self._following} was written when this file had another end",
            tail.end_offset,
        )


def _check_marked(fs: Fs, path: Path, mark: CommitMark) -> None:
    """Check that the file that the mark points into exists and is long enough."""
    try:
        file = fs.open(path)
    except FileNotFoundError:
        marked, size = Marked.MISSING, 0
    else:
        size = file.size()
        marked = Marked.SHORT if size < mark.position else Marked.LONG_ENOUGH
        file.close()
    action = decide(marked, Next.NONE, Rest.NOTHING)
    if action is Action.DAMAGE:
        raise corrupt(path, 0, "the commit mark points into this segment, which is missing")
    if action is Action.SHORT_COPY:
        raise short_copy(path, size, f"the commit mark says byte {mark.position}")


def _marked_tail(fs: Fs, path: Path, mark: CommitMark) -> Tail:
    with SegmentFile.opened(fs, path) as segment:
        known = mark.max_timestamp or _max_timestamp_before(segment, mark)
    return Tail(
        end_offset=mark.end_offset,
        leader_epoch=mark.leader_epoch,
        segment_offset=mark.segment_offset,
        position=mark.position,
        previous_length=segment.header.previous_length,
        last_crc32c=mark.last_crc32c,
        max_timestamp=known,
    )


def _max_timestamp_before(segment: SegmentFile, mark: CommitMark) -> int | None:
    """Return the highest append time of the records below a mark that does not contain it.

    Reads all blocks of the segment up to the mark.
    """
    times = [block.max_timestamp for block in segment.scan(mark.position).blocks()]
    if segment.header.max_timestamp is not None:
        times.append(segment.header.max_timestamp)
    return max(times, default=None)
