"""Retention: moves the log's start up. First the base checkpoint is written, then segments are
removed.

Segments are removed oldest first, and each removal is on stable storage before the next. So after a
crash at any point the remaining segments have no gap, and there is a checkpoint at or above the
start of the first one: the log opens and gives the same images. A running writer is not disturbed:
it uses only the last segment, which is never removed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from metadata_log.files.fs import Fs
from metadata_log.files.names import checkpoint_id, segment_name, segment_offsets
from metadata_log.format.segment_indexes import remove_indexes
from records.errors import UnavailableError

RETAIN_LOCK = ".retain.lock"
"""Lock file of `retain`: two runs at once could remove each other's base checkpoint."""


@contextmanager
def retaining(fs: Fs, directory: Path) -> Iterator[None]:
    """Lock the log against other runs of `retain`.

    Raises:
        UnavailableError: another run is active.
    """
    try:
        lock = fs.lock(directory / RETAIN_LOCK, f"{os.getpid()}\n")
    except BlockingIOError as error:
        raise UnavailableError(
            f"{directory}: process {str(error) or 'unknown'} is moving its start up; try again"
        ) from error
    try:
        yield
    finally:
        lock.release()


def segments_below(fs: Fs, directory: Path, start_offset: int) -> list[int]:
    """Return the base offsets of the segments that have no record at or above an offset."""
    bases = segment_offsets(fs.list(directory))
    return [base for base, following in pairwise(bases) if following <= start_offset]


def drop_below(fs: Fs, directory: Path, start_offset: int) -> list[int]:
    """Remove the segments that lie entirely below an offset, with their indexes. Idempotent.

    There must be a synced checkpoint at `start_offset`.

    Returns:
        The base offsets of the removed segments.
    """
    names = set(fs.list(directory))
    assert any((found := checkpoint_id(name)) and found[0] == start_offset for name in names)
    dropped = segments_below(fs, directory, start_offset)
    for base in dropped:
        # The indexes first: a later run would not find them without their segment.
        remove_indexes(fs, directory, base)
        fs.unlink(directory / segment_name(base))
        fs.sync_directory(directory)
    for name in sorted(names):
        identity = checkpoint_id(name)
        if identity is not None and identity[0] < start_offset:
            fs.unlink(directory / name)
    fs.sync_directory(directory)
    return dropped
