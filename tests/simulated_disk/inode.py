"""One file of the simulated disk: what the system shows, and what a power loss may leave.

Every write and truncate since the last sync is uncertain: the system may already have written any
of them to the disk, in any order, wholly or in part.

A failed sync follows Linux: afterwards the pages count as clean. They can still be read while the
system runs, a later sync reports success without writing them, and whether they reached the disk
is unknown. Only writing to a page again makes it dirty, as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

SECTOR_SIZE = 512
PAGE_SIZE = 4096


class Fate(Enum):
    """Whether the system will still write a change to the disk."""

    PENDING = "pending"  # the next sync makes it durable
    FORGOTTEN = "forgotten"  # a sync failed: no later sync writes it
    DURABLE = "durable"  # synced, but a forgotten change before it is still uncertain


class Part(Enum):
    """How much of a write reached the disk."""

    WHOLE = "whole"
    FIRST = "first"  # its first `size` bytes
    REST = "rest"  # all but its first `size` bytes
    ZEROS = "zeros"  # the file's new length only, as with delayed allocation


@dataclass(frozen=True, slots=True)
class Kept:
    """The part of a change that a power loss leaves."""

    part: Part
    size: int = 0


WHOLE = Kept(Part.WHOLE)
ZEROS = Kept(Part.ZEROS)


@dataclass(slots=True)
class Change:
    """A write at a position, or a truncate to it (`data` is None).

    `serial` is its number among the changes of the whole disk.
    """

    serial: int
    position: int
    data: bytes | None
    fate: Fate = Fate.PENDING


class Inode:
    """A file without its name, or a directory without its entries.

    Attributes:
        changes: The uncertain changes, oldest first, and those synced after a change that a failed
            sync forgot.
    """

    __slots__ = ("_base", "_content", "_frozen", "_has_forgotten", "changes", "is_directory")

    def __init__(self, content: bytes = b"", *, is_directory: bool = False) -> None:
        self.is_directory = is_directory
        self._base = content
        self._content: bytes | bytearray = content
        self._frozen: bytes | None = content
        self._has_forgotten = False
        self.changes: list[Change] = []

    @property
    def size(self) -> int:
        """The length that the system shows."""
        return len(self._content)

    @property
    def content(self) -> bytes:
        """The content that the system shows."""
        if self._frozen is None:
            self._frozen = bytes(self._content)
        return self._frozen

    def read(self, size: int, position: int) -> bytes:
        """Return the content of a range that the system shows."""
        return self.content[position : position + size]

    def write(self, data: bytes, position: int, serial: int) -> None:
        """Change the visible content; the change may reach the disk at any time, or never."""
        buffer = self._writable()
        put(buffer, data, position)
        if self._has_forgotten:
            data, position = _whole_pages(buffer, position, len(data))
        self.changes.append(Change(serial, position, data))

    def truncate(self, size: int, serial: int) -> None:
        """Truncate or extend the visible content."""
        cut(self._writable(), size)
        self.changes.append(Change(serial, size, None))

    def sync(self) -> None:
        """Make all pending changes durable."""
        for change in self.changes:
            if change.fate is Fate.PENDING:
                change.fate = Fate.DURABLE
        if all(change.fate is Fate.DURABLE for change in self.changes):
            self._base = self.content
            self.changes.clear()

    def fail_sync(self) -> None:
        """Drop all pending changes: the system counts them as written from now on."""
        for change in self.changes:
            if change.fate is Fate.PENDING:
                change.fate = Fate.FORGOTTEN
                self._has_forgotten = True

    def after_power_loss(self, kept: Mapping[int, Kept]) -> bytes:
        """Return the content on the disk if these of the uncertain changes reached it."""
        if not self.changes:
            return self._base
        if all(kept.get(c.serial) is WHOLE or c.fate is Fate.DURABLE for c in self.changes):
            return self.content
        buffer = bytearray(self._base)
        touched = False
        for change in self.changes:
            what = WHOLE if change.fate is Fate.DURABLE else kept.get(change.serial)
            if what is not None:
                _apply(buffer, change, what)
                touched = True
        return bytes(buffer) if touched else self._base

    def _writable(self) -> bytearray:
        self._frozen = None
        if isinstance(self._content, bytes):
            self._content = bytearray(self._content)
        return self._content


def put(buffer: bytearray, data: bytes, position: int) -> None:
    """Write into the content of a file; a gap before the position reads as zeros."""
    if position > len(buffer):
        buffer.extend(bytes(position - len(buffer)))
    buffer[position : position + len(data)] = data


def cut(buffer: bytearray, size: int) -> None:
    """Truncate the content of a file, or extend it with zeros."""
    del buffer[size:]
    buffer.extend(bytes(size - len(buffer)))


def _whole_pages(content: bytearray, position: int, size: int) -> tuple[bytes, int]:
    """Return all pages that a write touches, because dirty pages are written as a whole."""
    start = position - position % PAGE_SIZE
    end = min(-(-(position + size) // PAGE_SIZE) * PAGE_SIZE, len(content))
    return bytes(content[start:end]), start


def _apply(buffer: bytearray, change: Change, kept: Kept) -> None:
    data, position = change.data, change.position
    if data is None:
        cut(buffer, position)
    elif kept.part is Part.WHOLE:
        put(buffer, data, position)
    elif kept.part is Part.FIRST:
        put(buffer, data[: kept.size], position)
    elif kept.part is Part.REST:
        put(buffer, data[kept.size :], position + kept.size)
    elif position + len(data) > len(buffer):
        cut(buffer, position + len(data))
