"""The chain of a log's files, checked by their headers and lengths, without reading the blocks.

Each header names the length of the file before it, so that a missing, exchanged or shortened file
is noticed when a log is opened. What the blocks hold is checked when they are read.
"""

import logging
from itertools import pairwise
from pathlib import Path

from metadata_log.fs import Fs
from metadata_log.names import segment_name, segment_offsets
from metadata_log.segment import SegmentHeader
from metadata_log.segment_scan import check_identity, corrupt, read_header

_LOG = logging.getLogger(__name__)


def check_chain(fs: Fs, directory: Path, cluster_id: str) -> None:
    """Check the header of every segment, and that each was written after the one before it.

    A file that goes on past the end that the next one names was written to by a writer that had
    lost the log already: what stands there was never committed, and is cut.

    Raises:
        CorruptLogError: names the file, and what was expected of the one before.
    """
    files = [
        (path, *_look(fs, path, cluster_id))
        for path in (directory / segment_name(b) for b in segment_offsets(fs.list(directory)))
    ]
    for (before, _, length), (path, header, _) in pairwise(files):
        if length < header.previous_length:
            raise corrupt(
                path,
                0,
                f"was written after a segment of {header.previous_length} bytes; the one before, "
                f"{before.name}, has {length}: one is missing or was shortened",
            )
        if length > header.previous_length:
            _cut(fs, before, header.previous_length, length)


def _look(fs: Fs, path: Path, cluster_id: str) -> tuple[SegmentHeader, int]:
    """Return a segment's header and its length in bytes."""
    file = fs.open(path)
    try:
        header, _ = read_header(file, path)
        length = file.size()
    finally:
        file.close()
    check_identity(path, header, cluster_id)
    return header, length


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
