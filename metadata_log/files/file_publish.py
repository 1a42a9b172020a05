"""Atomic publishing of a new log file: write, fsync, check ownership, rename.

A writer that does not yet know that it is fenced may still be about to publish a mark or a segment.
The names of unfinished files therefore contain the epoch of the writer that made them. The next
owner removes the unfinished files of earlier epochs before it reads the log, so that the renames of
earlier writers fail.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from metadata_log.files.fs import File, Fs, create_synced, full_as_unavailable
from records.errors import FencedError

_PART_NAME = re.compile(r".+\.(\d+)\.part")


class Owner(Protocol):
    """The writer that owns a log.

    Attributes:
        leader_epoch: Epoch of this writer; a later owner has a higher one.
    """

    leader_epoch: int

    def check(self) -> None:
        """Check that this writer still owns the log.

        Raises:
            FencedError: another writer took over.
        """
        ...


class SoleOwner:
    """The owner of a new log that no other process can find yet."""

    leader_epoch = 0

    def check(self) -> None:
        """Do nothing: there can be no other writer."""


def publish_file(fs: Fs, path: Path, write: Callable[[File], None], owner: Owner) -> File:
    """Atomically publish a synced file at `path`, and return the open file.

    A process that has an older file of this name open continues to use the old file.

    Args:
        write: Writes the content into the file it is given.
        owner: The writer; right before the rename, its ownership of the log is checked.

    Raises:
        FencedError: another writer took over; the file at `path` is unchanged.
        UnavailableError: the disk is full; the file at `path` is unchanged.
    """
    part = path.with_name(f"{path.name}.{owner.leader_epoch}.part")
    with full_as_unavailable(path.parent):
        file = create_synced(fs, part, write)
    try:
        owner.check()
        with full_as_unavailable(path.parent):
            _rename(fs, part, path)
        fs.sync_directory(path.parent)
    except BaseException:
        file.close()
        with suppress(OSError):
            fs.unlink(part)
        raise
    return file


def remove_unpublished(fs: Fs, directory: Path, owner: Owner) -> None:
    """Remove the unfinished files of earlier owners, so that they cannot be renamed."""
    for name in fs.list(directory):
        part = _PART_NAME.fullmatch(name)
        if part is not None and int(part[1]) < owner.leader_epoch:
            with suppress(FileNotFoundError):
                fs.unlink(directory / name)


def _rename(fs: Fs, part: Path, path: Path) -> None:
    try:
        fs.rename(part, path)
    except FileNotFoundError as error:
        raise FencedError(f"another writer took {path.parent} over meanwhile") from error
