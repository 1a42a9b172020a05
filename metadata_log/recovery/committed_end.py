"""The end of a log for readers: the commit mark, or a later end that is proven to be acknowledged.

The proof comes from the blocks after the mark. A crash can leave an old mark, or tear the newest
one; in both cases a reader shows the records that are proven, because these cannot vanish. It does
not show the later blocks that the next writer will keep: a second crash could still undo them.
"""

import logging
from pathlib import Path

import msgspec

from metadata_log.files.fs import ByteStore, moved_up
from metadata_log.files.names import COMMIT_MARK, segment_name
from metadata_log.format.commit_mark import CommitMark, Marks, read_marks
from metadata_log.format.manifest import Kind, Manifest
from metadata_log.format.segment_file import SegmentFile
from metadata_log.format.segment_scan import check_identity, corrupt, short_copy
from metadata_log.recovery.proof import look_past, placed
from records.errors import CorruptLogError

_TRIES = 3
"""How often reading starts over because the mark moved."""

_LOG = logging.getLogger(__name__)


class ProvenEnd(msgspec.Struct, frozen=True):
    """The end of a log for readers.

    Attributes:
        mark: The newest commit mark, advanced to the end that later blocks prove acknowledged.
        has_more: True if complete blocks follow after this end: a writer is writing them now; or it
            was cut off, and the next writer keeps them, because they may be acknowledged.
        damaged_byte: Position of a damaged slot in the commit mark, if complete blocks follow.
    """

    mark: CommitMark
    has_more: bool
    damaged_byte: int | None = None

    def warn(self, directory: Path) -> None:
        """Log a warning if a slot of the commit mark is damaged and complete blocks follow."""
        if self.damaged_byte is not None:
            _LOG.warning(
                "%s byte %s: this slot of the commit mark is not whole, by a crash or damage; "
                "shown are the records that are proven to be acknowledged, up to offset %d "
                "(exclusive); the next writer keeps the complete blocks that follow",
                directory / COMMIT_MARK,
                self.damaged_byte,
                self.mark.end_offset,
            )


def find_end(fs: ByteStore, directory: Path, manifest: Manifest) -> ProvenEnd:
    """Return the end of a log that is proven to be acknowledged.

    In a mirror, only a mark shows what Kafka committed, so `confirmed_end` is not advanced.

    Raises:
        UnavailableError: the log's start moved up meanwhile.
        CorruptLogError: the mark does not fit its segment, or there is damage below the proven end.
    """
    marks = _marks(fs, directory)
    for _ in range(_TRIES):
        error: CorruptLogError | None = None
        try:
            _check_mark(fs, directory, manifest.cluster_id, marks.newest)
            past = look_past(fs, directory, marks.newest)
        except CorruptLogError as damage:
            error = damage
        else:
            found = ProvenEnd(_confirmed(past.proven, marks.newest, manifest.kind), past.has_more)
            if marks.damaged_byte is None or not past.has_more:
                return found
        # A live writer may be in the middle of a slot, a block, or a cut; then its mark moves.
        newer = _marks(fs, directory)
        if newer.newest.sequence == marks.newest.sequence:
            if error is not None:
                raise error
            return msgspec.structs.replace(found, damaged_byte=marks.damaged_byte)
        marks = newer
    return ProvenEnd(marks.newest, has_more=True)


def _confirmed(proven: CommitMark, mark: CommitMark, kind: Kind) -> CommitMark:
    if kind is Kind.OWN:
        return proven
    return msgspec.structs.replace(proven, confirmed_end=mark.confirmed_end)


def _marks(fs: ByteStore, directory: Path) -> Marks:
    found = read_marks(fs, directory)
    return Marks(placed(fs, directory, found.newest), found.damaged_byte)


def _check_mark(fs: ByteStore, directory: Path, cluster_id: str, mark: CommitMark) -> None:
    """Check that the mark fits the segment it points into."""
    path = directory / segment_name(mark.segment_offset)
    if not fs.exists(path):
        if _marks(fs, directory).newest.segment_offset > mark.segment_offset:
            raise moved_up(path)
        raise corrupt(path, 0, "the commit mark points into this segment, which is missing")
    file = fs.open(path)
    try:
        size = file.size()
        if size < mark.position:
            raise short_copy(path, size, f"the commit mark says byte {mark.position}")
        check_identity(path, SegmentFile.of(file, path).header, cluster_id)
    finally:
        file.close()
