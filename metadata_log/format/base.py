"""The base checkpoint, from which a log starts: finds it and checks that it belongs to the log.

A segment's header contains the length and the last CRC of the preceding file. For the first
segment, that file is either

- the base itself, in a log that was imported with one, or
- a segment that was dropped when the log's start moved up: the base then has the same two values in
  its own header.

Blocks are chained by their CRCs, so equal values mean an equal history. A checkpoint of another
cluster, or of a fork of this one, is refused. Bases of early releases lack these values; only their
cluster id, offset and epoch are compared.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.files.fs import ByteStore, missing_as_unavailable
from metadata_log.files.names import (
    MANIFEST,
    checkpoint_id,
    checkpoint_name,
    segment_name,
)
from metadata_log.format.checkpoint import Checkpoint, open_checkpoint, read_checkpoint_header
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import read_segment_header
from records.errors import CorruptLogError


class _Identity(msgspec.Struct, frozen=True):
    """Values of a checkpoint that must match the header of the segment after the checkpoint."""

    path: Path
    header: SegmentHeader
    size: int
    last_crc32c: int | None


def find_base(
    fs: ByteStore, directory: Path, cluster_id: str, names: list[str], segments: Sequence[int]
) -> Checkpoint | None:
    """Return the checkpoint that replay starts from, read and checked; None if the log needs none.

    Args:
        names: Names of the files in the directory.
        segments: Base offsets of the segments, ascending.

    Raises:
        CorruptLogError: the checkpoint is missing, damaged, or not of this log.
        UnavailableError: the checkpoint was removed meanwhile, because the log's start moved up.
    """
    path = _needed(directory, names, segments[0])
    if path is None:
        return None
    base = open_checkpoint(fs, path)
    check_checkpoint(fs, base, cluster_id, segments)
    return base


def check_base_header(
    fs: ByteStore, directory: Path, cluster_id: str, names: list[str], segments: Sequence[int]
) -> None:
    """Check the base checkpoint by its header alone, without reading its records.

    This is enough for a writer that opens the log. Without segments there is nothing to check.

    Raises:
        CorruptLogError: the base is missing, its header is damaged, or it is not of this log.
    """
    path = _needed(directory, names, segments[0]) if segments else None
    if path is not None:
        header, size = read_checkpoint_header(fs, path)
        _check(fs, _Identity(path, header, size, header.last_crc32c), cluster_id, segments)


def check_checkpoint(
    fs: ByteStore, checkpoint: Checkpoint, cluster_id: str, segments: Sequence[int]
) -> bool:
    """Check that a checkpoint belongs to the history of a log.

    Args:
        segments: Base offsets of the log's segments, ascending.

    Returns:
        True if the CRCs prove that it belongs to the history; False for a checkpoint of an early
        release, which has no CRCs and was compared by cluster id, offset and epoch only.

    Raises:
        CorruptLogError: the checkpoint is of another cluster or history, or a header is damaged.
    """
    known = _Identity(checkpoint.path, checkpoint.header, checkpoint.size, checkpoint.last_crc32c)
    return _check(fs, known, cluster_id, segments)


def _needed(directory: Path, names: list[str], start: int) -> Path | None:
    """Return the oldest checkpoint at or above the first segment's start; None if the log needs
    none.

    A log that starts at offset 0 needs none, unless its cluster started with a checkpoint at 0.
    """
    found = sorted(
        identity
        for name in names
        if (identity := checkpoint_id(name)) is not None and identity[0] >= start
    )
    if found and (start > 0 or found[0][0] == 0):
        return directory / checkpoint_name(*found[0])
    if start > 0:
        raise CorruptLogError(
            f"{directory / segment_name(start)} byte 0: this is the log's first "
            "segment, but no checkpoint at or above its start exists, so the state before it is "
            "lost; restore the missing checkpoint or segments from a backup"
        )
    return None


def _check(fs: ByteStore, base: _Identity, cluster_id: str, segments: Sequence[int]) -> bool:
    header, directory = base.header, base.path.parent
    if header.cluster_id != cluster_id:
        raise _foreign(
            base.path,
            f"the checkpoint is of cluster {header.cluster_id!r}, but {MANIFEST} says "
            f"{cluster_id!r}",
        )
    if _previous(_read_segment_header(fs, directory, segments[0])) == (base.size, base.last_crc32c):
        return True
    end_offset = header.base_offset
    if end_offset not in segments:
        raise _foreign(
            base.path,
            f"no segment starts at the checkpoint's end offset {end_offset}, and "
            f"{segment_name(segments[0])} was not written after the checkpoint",
        )
    following = _read_segment_header(fs, directory, end_offset)
    if header.leader_epoch > following.leader_epoch:
        raise _foreign(
            base.path,
            f"the checkpoint's epoch is {header.leader_epoch}, but {segment_name(end_offset)} "
            f"goes on with epoch {following.leader_epoch}",
        )
    if header.last_crc32c is None:
        return False
    if _previous(header) != _previous(following):
        raise _foreign(
            base.path,
            f"the checkpoint was made {_after(header)}, but {segment_name(end_offset)} was "
            f"written {_after(following)}",
        )
    return True


def _previous(header: SegmentHeader) -> tuple[int, int]:
    return header.previous_length, header.previous_crc32c


def _after(header: SegmentHeader) -> str:
    if not header.previous_length:
        return "with no log before it"
    return (
        f"after a file of {header.previous_length} bytes whose last block has CRC "
        f"0x{header.previous_crc32c:08x}"
    )


def _read_segment_header(fs: ByteStore, directory: Path, base_offset: int) -> SegmentHeader:
    path = directory / segment_name(base_offset)
    with missing_as_unavailable(directory):
        return read_segment_header(fs, path)


def _foreign(path: Path, why: str) -> CorruptLogError:
    return CorruptLogError(
        f"{path} byte 0: this checkpoint is not of this log: {why}; put the log's own checkpoint "
        "back from a backup or archive"
    )
