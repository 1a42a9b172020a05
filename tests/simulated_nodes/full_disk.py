"""A full disk: a node hears of it at a write, at a sync, or only at its commit mark."""

import errno
from collections.abc import Callable
from random import Random

from metadata_log.files.names import COMMIT_MARK
from tests.simulated_disk.disk import SimulatedDisk
from tests.simulated_disk.faults import Fault, Faults

_ROOM_BYTES_MAX = 400


def _at_writes(disk: SimulatedDisk, random: Random) -> None:
    """No file can grow by more than a few bytes; what is there can be written again."""
    used = sum(len(content or b"") for content in disk.visible().values())
    disk.capacity = used + random.randrange(_ROOM_BYTES_MAX)


def _at_syncs(disk: SimulatedDisk, random: Random) -> None:
    """The room for what is written is looked for at its sync, as over NFS or with a quota."""
    disk.faults = Faults(_none_left("sync"))


def _at_the_mark(disk: SimulatedDisk, random: Random) -> None:
    """Blocks that are written again need room, as with copy on write; it ends at a mark."""
    disk.faults = Faults(_none_left(random.choice(("pwrite", "sync")), part_of_path=COMMIT_MARK))


WAYS: dict[str, Callable[[SimulatedDisk, Random], None]] = {
    "full at writes": _at_writes,
    "full at syncs": _at_syncs,
    "full at the mark": _at_the_mark,
}
"""How a disk can be full."""


def make_room(disk: SimulatedDisk) -> None:
    """End what any of the ways has begun."""
    disk.capacity, disk.faults = None, Faults()


def _none_left(operation: str, *, part_of_path: str = "") -> Fault:
    return Fault(0, None, errno.ENOSPC, frozenset({operation}), part_of_path=part_of_path)
