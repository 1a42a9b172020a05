"""Errors for files that `retain` removed, or that were removed with their log: not damage."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from records.errors import UnavailableError


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
