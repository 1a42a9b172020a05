"""Full disks: turns the system's error into a refusal that can be retried."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from records.errors import UnavailableError

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def full_as_unavailable(directory: Path) -> Iterator[None]:
    """Turn the system's error for a full disk, quota or file into UnavailableError.

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
