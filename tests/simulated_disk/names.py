"""The file names of the simulated disk: what the system lists, and what a power loss may leave.

A journaling file system keeps each change of a name (also a rename) whole, and keeps changes that
share a name in their order. Unsynced changes of different names are independent of each other. A
failed directory sync leaves them as uncertain as they were: a journal that cannot be written keeps
its transaction.
"""

from collections.abc import Collection
from dataclasses import dataclass

from tests.simulated_disk.inode import Inode


@dataclass(frozen=True, slots=True)
class NameChange:
    """The name `removed` is removed, and `added` becomes a name of `inode`, both at once.

    A create only adds, an unlink only removes, a rename does both.
    """

    serial: int
    directory: str
    removed: str | None
    added: str | None
    inode: Inode | None

    def touches(self, names: set[str | None]) -> bool:
        """Return whether it changes one of these names."""
        return self.removed in names or self.added in names


class Names:
    """A table of names, with the changes that are not yet on the disk."""

    def __init__(self, names: dict[str, Inode]) -> None:
        self._durable = names
        self.current = dict(names)
        self.changes: list[NameChange] = []

    def change(self, change: NameChange) -> None:
        """Change the visible names."""
        _apply(self.current, change)
        self.changes.append(change)

    def sync(self, directory: str) -> None:
        """Make all changes in a directory durable."""
        for change in self.changes:
            if change.directory == directory:
                _apply(self._durable, change)
        self.changes = [change for change in self.changes if change.directory != directory]

    def after_power_loss(self, kept: Collection[int]) -> dict[str, Inode]:
        """Return the names on the disk if these changes reached it, as far as possible."""
        if not self.changes:
            return self._durable
        names = dict(self._durable)
        lost: set[str | None] = set()
        for change in self.changes:
            if change.serial in kept and not change.touches(lost):
                _apply(names, change)
            else:
                lost |= {change.removed, change.added} - {None}
        return names

    def inodes(self) -> list[Inode]:
        """Return every file that a crash may leave, each once."""
        found = {id(inode): inode for inode in self._durable.values()}
        found |= {id(inode): inode for inode in self.current.values()}
        found |= {id(c.inode): c.inode for c in self.changes if c.inode is not None}
        return list(found.values())


def _apply(names: dict[str, Inode], change: NameChange) -> None:
    if change.removed is not None:
        names.pop(change.removed, None)
    if change.added is not None:
        assert change.inode is not None
        names[change.added] = change.inode
