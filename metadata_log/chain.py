"""The chain of a log's files, checked by their headers and lengths, without reading the blocks.

Each header names the length of the file before it, so that a missing, exchanged or shortened file
is noticed when a log is opened. What the blocks hold is checked when they are read.
"""

import logging
from itertools import pairwise
from pathlib import Path

import msgspec

from metadata_log.fs import File, Fs
from metadata_log.names import segment_name, segment_offsets
from metadata_log.segment import SegmentHeader
from metadata_log.segment_scan import SegmentScan, check_identity, corrupt, read_header
from records.errors import CorruptLogError

_LOG = logging.getLogger(__name__)


class _Segment(msgspec.Struct, frozen=True):
    path: Path
    header: SegmentHeader
    length: int


class Surplus(msgspec.Struct, frozen=True):
    """A segment that goes on behind its end, which the next one names.

    A writer that had lost the log already wrote on there; that was never committed.
    """

    path: Path
    end: int


def check_chain(fs: Fs, directory: Path, cluster_id: str) -> list[Surplus]:
    """Check the header of every segment, and that each was written after the one before it.

    Returns:
        The segments that go on behind their ends, for `cut_surplus`.

    Raises:
        CorruptLogError: names the file, and what was expected of the one before.
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
                f"{segment.path.name} was written after a file of {expected} bytes, this one has "
                f"{before.length}: it was shortened, or a segment between them is missing",
            )
        surplus.append(Surplus(before.path, expected))
    return surplus


def cut_surplus(fs: Fs, surplus: list[Surplus]) -> None:
    """Cut segments where they end, unless the recovery has done it by now."""
    for segment in surplus:
        file = fs.open(segment.path, write=True)
        try:
            if file.size() > segment.end:
                _cut(file, segment)
        finally:
            file.close()


def _segments(fs: Fs, directory: Path, cluster_id: str) -> list[_Segment]:
    bases = segment_offsets(fs.list(directory))
    return [_look(fs, directory / segment_name(base), cluster_id) for base in bases]


def _look(fs: Fs, path: Path, cluster_id: str) -> _Segment:
    file = fs.open(path)
    try:
        header, _ = read_header(file, path)
        length = file.size()
    finally:
        file.close()
    check_identity(path, header, cluster_id)
    return _Segment(path, header, length)


def _goes_on(fs: Fs, before: _Segment, segment: _Segment) -> bool:
    """Whether a file has whole blocks up to where the next segment says that it ends, and more."""
    if before.length < segment.header.previous_length:
        return False
    file = fs.open(before.path)
    try:
        _, start = read_header(file, before.path)
        scan = SegmentScan(
            file,
            before.path,
            before.header,
            position=start,
            limit=segment.header.previous_length,
            next_offset=before.header.base_offset,
            last_crc32c=before.header.previous_crc32c,
        )
        for _ in scan.batches():
            pass
    except CorruptLogError:
        return False
    finally:
        file.close()
    return (scan.next_offset, scan.last_crc32c) == (
        segment.header.base_offset,
        segment.header.previous_crc32c,
    )


def _cut(file: File, segment: Surplus) -> None:
    _LOG.warning(
        "%s: cut %d bytes from byte %d on, where the next segment says that it ends",
        segment.path,
        file.size() - segment.end,
        segment.end,
    )
    file.truncate(segment.end)
    file.sync()
