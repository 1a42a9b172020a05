"""Errors of the operating system that are no damage, as errors that can be retried."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from records.errors import UnavailableError

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def full_as_unavailable(directory: Path) -> Iterator[None]:
    """Convert the error for a full disk, an exceeded quota or a file size limit into
    UnavailableError.

    Raises:
        UnavailableError: the disk is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise UnavailableError(
            f"{directory}: no room on the disk ({error.strerror}); nothing was written, "
            "and the log goes on when there is room again"
        ) from error


@contextmanager
def missing_as_unavailable(directory: Path) -> Iterator[None]:
    """Convert a FileNotFoundError for a file of an existing log into UnavailableError.

    Raises:
        UnavailableError: a file was removed.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise UnavailableError(
            f"{error.filename or directory} vanished: the log's start moved up, or the log was "
            "removed; try again"
        ) from error


def moved_up(path: Path) -> UnavailableError:
    """Return the error for a segment that `retain` removed while the log was read."""
    return UnavailableError(
        f"{path} vanished while it was being read: the log's start moved up; try again"
    )
