"""The chain of a log's files, checked by their headers and lengths, without reading the blocks.

Each header names the length of the file before it, so that a missing, exchanged or shortened file
is noticed when a log is opened. What the blocks hold is checked when they are read.
"""

import logging
from itertools import pairwise
from pathlib import Path

import msgspec

from metadata_log.fs import Fs
from metadata_log.names import segment_name, segment_offsets
from metadata_log.segment import SegmentHeader
from metadata_log.segment_scan import SegmentScan, check_identity, corrupt, read_header
from records.errors import CorruptLogError

_LOG = logging.getLogger(__name__)


class _Segment(msgspec.Struct, frozen=True):
    path: Path
    header: SegmentHeader
    length: int


def check_chain(fs: Fs, directory: Path, cluster_id: str) -> None:
    """Check the header of every segment, and that each was written after the one before it.

    Raises:
        CorruptLogError: names the file, and what was expected of the one before.
    """
    for before, segment in pairwise(_segments(fs, directory, cluster_id)):
        expected = segment.header.previous_length
        if before.length != expected and not _goes_on(fs, before, segment):
            raise corrupt(
                before.path,
                min(before.length, expected),
                f"{segment.path.name} was written after a file of {expected} bytes, this one has "
                f"{before.length}: it was shortened, or a segment between them is missing",
            )


def cut_surplus(fs: Fs, directory: Path, cluster_id: str) -> None:
    """Cut what stands behind the end of a segment that the next one names.

    It was written by a writer that had lost the log already, and was never committed.
    """
    for before, segment in pairwise(_segments(fs, directory, cluster_id)):
        if before.length > segment.header.previous_length:
            _cut(fs, before.path, segment.header.previous_length, before.length)


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


def _cut(fs: Fs, path: Path, end: int, length: int) -> None:
    _LOG.warning(
        "%s: cut %d bytes from byte %d on, where the next segment says that it ends",
        path,
        length - end,
        end,
    )
    file = fs.open(path, write=True)
    try:
        file.truncate(end)
        file.sync()
    finally:
        file.close()
