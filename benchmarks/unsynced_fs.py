"""A file system without syncs, for logs that benchmarks generate."""

import os
from pathlib import Path

from metadata_log.files.fs import File, OsFile, OsFs


class _UnsyncedFile(OsFile):
    def sync(self) -> None:
        pass


class UnsyncedFs(OsFs):
    """A file system whose syncs do nothing.

    A log that is lost in a crash of the machine is generated again.
    """

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        flags = os.O_RDWR if write or create else os.O_RDONLY
        return _UnsyncedFile(path, flags | (os.O_CREAT | os.O_EXCL if create else 0))

    def sync_directory(self, path: Path) -> None:
        pass
