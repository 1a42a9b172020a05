"""Putting a new file under its name in a log: whole, synced, and only by who owns the log.

A writer that lost the log without knowing it may be about to take over or to begin a segment. The
epoch in the names of files on their way tells whose they are; the next owner removes those of
earlier ones before it reads the log, so that their renames fail.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from metadata_log.fs import File, Fs, create_synced
from metadata_log.no_room import room_or_refusal
from records.errors import FencedError

_PART_NAME = re.compile(r".+\.(\d+)\.part")


class Owner(Protocol):
    """Who writes a log.

    Attributes:
        leader_epoch: Its epoch; who owns the log later has a higher one.
    """

    leader_epoch: int

    def check(self) -> None:
        """Look whether this is still the owner.

        Raises:
            FencedError: another writer took over.
        """
        ...


class SoleOwner:
    """Writes a log that nobody else knows of yet."""

    leader_epoch = 0

    def check(self) -> None:
        """Nobody can have taken over."""


def place(fs: Fs, path: Path, write: Callable[[File], None], owner: Owner) -> File:
    """Put a new file under a name, whole or not at all, on stable storage; return it, open.

    Who has the older file of this name open goes on with that one.

    Args:
        write: Writes the content.
        owner: Asked right before the rename.

    Raises:
        FencedError: another writer took over; the name is as it was.
        UnavailableError: there is no room; the name is as it was.
    """
    part = path.with_name(f"{path.name}.{owner.leader_epoch}.part")
    with room_or_refusal(path.parent):
        file = create_synced(fs, part, write)
    try:
        owner.check()
        with room_or_refusal(path.parent):
            _rename(fs, part, path)
        fs.sync_directory(path.parent)
    except BaseException:
        file.close()
        with suppress(OSError):
            fs.unlink(part)
        raise
    return file


def withdraw_earlier(fs: Fs, directory: Path, owner: Owner) -> None:
    """Remove the files that earlier owners are about to place, so that they cannot."""
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
