"""Creation of files that are synced to disk."""

import os
from collections.abc import Iterable
from pathlib import Path


def write_synced(path: Path, pieces: Iterable[bytes]) -> None:
    """Create a file from pieces of bytes and sync it.

    Raises:
        FileExistsError: there is a file of that name.
    """
    with path.open("xb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
