"""The disk states that a power loss may leave, numbered from the simplest.

State 0 has lost everything unsynced, state 1 has kept all of it. The systematic states follow:
every prefix of the changes (the longest first: all but the newest change), all but one change, only
one change, each write torn at its first and last byte and at sector borders, and each write that
only extended the file. All further numbers are random subsets. In each state at most one write is
torn inside a sector: sectors are written as a whole, except the one being written when the power
went.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.simulated_disk.disk import DiskState, SimulatedDisk
from tests.simulated_disk.inode import SECTOR_SIZE, WHOLE, ZEROS, Fate, Kept, Part

LOST_ALL = 0
KEPT_ALL = 1
LOST_NEWEST = 2
# Sector borders tried for one write: a large write has many, and they are much alike.
_BORDERS_MAX = 4

Plan = dict[int, Kept]
"""What is kept, by the serial number of the change."""


@dataclass(frozen=True, slots=True)
class Uncertain:
    """One change that a power loss may keep or lose; `size` is None if it is not a write."""

    serial: int
    position: int = 0
    size: int | None = None


class PowerLosses:
    """The states that a power loss at this moment may leave.

    Attributes:
        count: Number of systematic states; higher state numbers are random.
    """

    def __init__(self, disk: SimulatedDisk, seed: str) -> None:
        self._disk = disk
        self._seed = seed
        self._changes = uncertain_changes(disk)
        self._plans = list(_plans(self._changes))
        self.count = len(self._plans)

    def state(self, number: int) -> DiskState:
        """Return a state; the same number always gives the same state.

        Different numbers may give equal states.
        """
        return self._disk.after_power_loss(self.plan(number))

    def plan(self, number: int) -> Plan:
        """Return which changes are kept in a state."""
        if number < self.count:
            return self._plans[number]
        return _random_plan(self._changes, Random(f"{self._seed}/{number}"))

    def sample(self, random: Random, size: int) -> list[int]:
        """Choose state numbers: always the two simplest, some systematic ones, some random ones."""
        if not self._changes:
            return [LOST_ALL]
        systematic = range(KEPT_ALL + 1, self.count)
        chosen = random.sample(systematic, min(len(systematic), (size - 1) // 2))
        rest = 0 if len(self._changes) == 1 else size - 2 - len(chosen)
        return [LOST_ALL, KEPT_ALL, *sorted(chosen), *range(self.count, self.count + rest)]


def uncertain_changes(disk: SimulatedDisk) -> list[Uncertain]:
    """Return the changes that a power loss may keep or lose, oldest first."""
    changes = [Uncertain(change.serial) for change in disk.names.changes]
    for inode in disk.names.inodes():
        for change in inode.changes:
            if change.fate is not Fate.DURABLE:
                size = None if change.data is None else len(change.data)
                changes.append(Uncertain(change.serial, change.position, size))
    return sorted(changes, key=lambda change: change.serial)


def _plans(changes: list[Uncertain]) -> Iterator[Plan]:
    everything = {change.serial: WHOLE for change in changes}
    yield {}
    if not changes:
        return
    yield everything
    for count in range(len(changes) - 1, 0, -1):
        yield dict.fromkeys([change.serial for change in changes[:count]], WHOLE)
    if len(changes) > 1:
        for change in changes:
            yield {serial: WHOLE for serial in everything if serial != change.serial}
            yield {change.serial: WHOLE}
    for index, change in enumerate(changes):
        before = dict.fromkeys([earlier.serial for earlier in changes[:index]], WHOLE)
        for kept in _partly(change):
            yield {**before, change.serial: kept}
            yield {**everything, change.serial: kept}


def _partly(change: Uncertain) -> Iterator[Kept]:
    """Yield the ways in which a write may be torn."""
    if change.size is None:
        return
    yield ZEROS
    if change.size > 1:
        yield Kept(Part.FIRST, 1)
        yield Kept(Part.FIRST, change.size - 1)
        yield Kept(Part.REST, 1)
    for border in _borders(change):
        yield Kept(Part.FIRST, border)
        yield Kept(Part.REST, border)


def _borders(change: Uncertain) -> list[int]:
    assert change.size is not None
    borders = range(-change.position % SECTOR_SIZE, change.size, SECTOR_SIZE)
    inside = [border for border in borders if border > 0]
    if len(inside) <= _BORDERS_MAX:
        return inside
    return [
        inside[index * (len(inside) - 1) // (_BORDERS_MAX - 1)] for index in range(_BORDERS_MAX)
    ]


def _random_plan(changes: list[Uncertain], random: Random) -> Plan:
    odds = random.choice((0.2, 0.5, 0.8))
    plan = {change.serial: WHOLE for change in changes if random.random() < odds}
    torn_inside_sector = False
    for change in changes:
        if change.size is None or random.random() < 0.5:
            continue
        kept = _random_part(change, random, whole_sectors=torn_inside_sector)
        if kept is not None:
            plan[change.serial] = kept
            torn_inside_sector |= kept.part is not Part.ZEROS
    return plan


def _random_part(change: Uncertain, random: Random, *, whole_sectors: bool) -> Kept | None:
    assert change.size is not None
    part = random.choice((Part.FIRST, Part.FIRST, Part.REST, Part.ZEROS))
    if part is Part.ZEROS:
        return ZEROS
    if not whole_sectors and change.size > 1:
        return Kept(part, random.randrange(1, change.size))
    borders = _borders(change)
    return Kept(part, random.choice(borders)) if borders else None
