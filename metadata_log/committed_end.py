"""The end of a log for readers: the commit mark, or a later end that is proven to be acknowledged.

The proof comes from the blocks after the mark.
"""

from pathlib import Path

import msgspec

from metadata_log.commit_mark import CommitMark, Marks, read_marks
from metadata_log.fs import ByteStore
from metadata_log.manifest import Kind, Manifest
from metadata_log.missing_files import moved_up
from metadata_log.names import COMMIT_MARK, segment_name
from metadata_log.proof import look_past, placed
from metadata_log.segment_file import SegmentFile
from metadata_log.segment_scan import check_identity, corrupt, short_copy
from records.errors import CorruptLogError, UnavailableError

_TRIES = 3
"""How often reading starts over because the mark moved."""


def find_end(fs: ByteStore, directory: Path, manifest: Manifest) -> CommitMark:
    """Return the newest commit mark, advanced to the end that later blocks prove acknowledged.

    In a mirror, only a mark shows what Kafka committed, so `confirmed_end` is not advanced.

    An invalid slot may have contained a newer mark; then blocks past the proven end may or may not
    have been acknowledged.

    Raises:
        UnavailableError: only a writer can decide where the log ends, or the log's start moved up.
        CorruptLogError: the mark does not fit its segment, or there is damage below the proven end.
    """
    marks = _marks(fs, directory)
    for _ in range(_TRIES):
        try:
            _check_mark(fs, directory, manifest.cluster_id, marks.newest)
            past = look_past(fs, directory, marks.newest)
            if marks.damaged_byte is None or not past.has_more:
                return _confirmed(past.proven, marks.newest, manifest.kind)
            # A crash or damage can cause this; either way nothing is lost.
            error: CorruptLogError | UnavailableError = UnavailableError(
                f"{directory / COMMIT_MARK} byte {marks.damaged_byte}: this slot is not "
                "whole, and blocks lie behind what the other slot and the blocks prove "
                f"(offset {past.proven.end_offset}): the writer was cut off. The next writer "
                "that opens the log keeps them; try again then"
            )
        except CorruptLogError as damage:
            error = damage
        # A live writer may be in the middle of a block, or of a cut; then its mark moves.
        newer = _marks(fs, directory)
        if newer.newest.sequence == marks.newest.sequence:
            raise error
        marks = newer
    return marks.newest


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
        raise corrupt(path, 0, "the commit mark points into this segment: it is missing")
    file = fs.open(path)
    try:
        size = file.size()
        if size < mark.position:
            raise short_copy(path, size, f"the commit mark says byte {mark.position}")
        check_identity(path, SegmentFile.of(file, path).header, cluster_id)
    finally:
        file.close()
