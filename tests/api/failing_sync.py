"""`metalog` on a disk whose syncs fail once a given file exists.

python -m tests.api.failing_sync FILE serve LOG ...
"""

import errno
import os
import sys
from pathlib import Path

from api.cli.main import run

_SYNC = os.fdatasync


def main(trigger: Path, arguments: list[str]) -> int:
    """Run a command; return its exit code."""

    def sync(descriptor: int) -> None:
        if trigger.exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        _SYNC(descriptor)

    os.fdatasync = sync  # type: ignore[assignment]
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
