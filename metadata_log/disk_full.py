"""Full disks: converts the operating system's errors into an error that can be retried."""

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
