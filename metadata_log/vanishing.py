"""A file that is gone is not damage: a start moves up, or a log is removed, while others use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from records.errors import UnavailableError


@contextmanager
def vanished_or_there(directory: Path) -> Iterator[None]:
    """Turn the system's word for a missing file of a log that was there into a refusal.

    Raises:
        UnavailableError: a file has vanished.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise UnavailableError(
            f"{error.filename or directory} vanished: the log's start moved up, or the log was "
            "removed; try again"
        ) from error
