"""Moving the log's start up: the base checkpoint is there first, then segments go, oldest first.

Each removal is on stable storage before the next, so that a crash at any point leaves segments
without a gap and a checkpoint at or above the first of them: a log that opens, and whose images are
the same. A running writer is not disturbed: it holds its last segment, which is never removed, and
adds to no other.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from metadata_log.fs import Fs
from metadata_log.names import checkpoint_id, index_name, segment_name, segment_offsets
from records.errors import UnavailableError

RETAIN_LOCK = ".retain.lock"
"""Held while a start moves up: two at once could remove each other's base."""


@contextmanager
def retaining(fs: Fs, directory: Path) -> Iterator[None]:
    """Keep other runs of `retain` out.

    Raises:
        UnavailableError: one is running.
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
    """Return the base offsets of the segments that hold nothing at or above an offset."""
    bases = segment_offsets(fs.list(directory))
    return [base for base, following in pairwise(bases) if following <= start_offset]


def drop_below(fs: Fs, directory: Path, start_offset: int) -> list[int]:
    """Remove the segments wholly below an offset, and what belongs to them. Idempotent.

    There must be a checkpoint at `start_offset`, on stable storage.

    Returns:
        The base offsets of the segments that were removed.
    """
    names = set(fs.list(directory))
    assert any((found := checkpoint_id(name)) and found[0] == start_offset for name in names)
    dropped = segments_below(fs, directory, start_offset)
    for base in dropped:
        # The index first: without its segment nobody would remove it any more.
        if index_name(base) in names:
            fs.unlink(directory / index_name(base))
        fs.unlink(directory / segment_name(base))
        fs.sync_directory(directory)
    for name in sorted(names):
        identity = checkpoint_id(name)
        if identity is not None and identity[0] < start_offset:
            fs.unlink(directory / name)
    fs.sync_directory(directory)
    return dropped
