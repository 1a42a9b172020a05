"""The chain of segments: checks headers and lengths, without reading the blocks.

Each header contains the length of the preceding file, so a missing, exchanged or shortened file is
detected when a log is opened. The content of blocks is checked when they are read.
"""

import logging
from itertools import pairwise
from pathlib import Path

import msgspec

from metadata_log.files.fs import File, Fs
from metadata_log.files.names import segment_name, segment_offsets
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import SegmentFile
from metadata_log.format.segment_scan import check_identity, corrupt
from records.errors import CorruptLogError

_LOG = logging.getLogger(__name__)


class _Segment(msgspec.Struct, frozen=True):
    path: Path
    header: SegmentHeader
    length: int


class Surplus(msgspec.Struct, frozen=True):
    """A segment that has bytes past `end`.

    `end` is the segment's length as the next segment's header gives it. A fenced writer wrote the
    later bytes after its successor had taken over; they were never committed.
    """

    path: Path
    end: int


def check_chain(fs: Fs, directory: Path, cluster_id: str) -> list[Surplus]:
    """Check each segment's header, and the segment's length against the next segment's header.

    Returns:
        The segments with bytes past their end, for `cut_surplus`.

    Raises:
        CorruptLogError: a header is damaged, or no block of a segment ends where the next header
            requires; names the file and the required length.
    """
    surplus: list[Surplus] = []
    for before, segment in pairwise(_segments(fs, directory, cluster_id)):
        expected = segment.header.previous_length
        if before.length == expected:
            continue
        if not _goes_on(fs, before, segment):
            raise corrupt(
                before.path,
                min(before.length, expected),
                f"{segment.path.name} was written after a file of {expected} bytes, this file has "
                f"{before.length}: the file was shortened, or a segment between them is missing",
            )
        surplus.append(Surplus(before.path, expected))
    return surplus


def cut_surplus(fs: Fs, surplus: list[Surplus], *, level: int = logging.WARNING) -> None:
    """Truncate segments to their ends, unless recovery already did; log each cut at `level`."""
    for segment in surplus:
        file = fs.open(segment.path, write=True)
        try:
            if file.size() > segment.end:
                _cut(file, segment, level)
        finally:
            file.close()


def _segments(fs: Fs, directory: Path, cluster_id: str) -> list[_Segment]:
    bases = segment_offsets(fs.list(directory))
    return [_look(fs, directory / segment_name(base), cluster_id) for base in bases]


def _look(fs: Fs, path: Path, cluster_id: str) -> _Segment:
    with SegmentFile.opened(fs, path) as segment:
        header, length = segment.header, segment.file.size()
    check_identity(path, header, cluster_id)
    return _Segment(path, header, length)


def _goes_on(fs: Fs, before: _Segment, segment: _Segment) -> bool:
    """True if `before` has valid blocks exactly up to the end that the header of `segment` gives.

    Bytes after that end are not read.
    """
    if before.length < segment.header.previous_length:
        return False
    try:
        with SegmentFile.opened(fs, before.path) as opened:
            scan = opened.scan(segment.header.previous_length)
            for _ in scan.blocks():
                pass
    except CorruptLogError:
        return False
    return (scan.next_offset, scan.last_crc32c) == (
        segment.header.base_offset,
        segment.header.previous_crc32c,
    )


def _cut(file: File, segment: Surplus, level: int) -> None:
    _LOG.log(
        level,
        "%s: cut %d bytes from byte %d on, where the next segment says that it ends",
        segment.path,
        file.size() - segment.end,
        segment.end,
    )
    file.truncate(segment.end)
    file.sync()
