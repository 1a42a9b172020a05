"""The disk of a leader is full when the store has committed already."""

from pathlib import Path

import pytest

from records.errors import FencedError, Outcome
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import Node
from tests.simulated_disk.disk import SimulatedDisk

DIRECTORY = Path("/disk/log")


def _fill(disk: SimulatedDisk, room: int) -> None:
    """Leave room for some bytes on a disk."""
    disk.capacity = sum(len(content or b"") for content in disk.visible().values()) + room


@pytest.mark.parametrize("room", [0, 20])
async def test_a_leader_whose_disk_is_full_stops_and_another_continues(
    tmp_path: Path, room: int
) -> None:
    disk, store = SimulatedDisk(), MemoryStore()
    first = Node(DIRECTORY, MemorySharedLog(store), 1, disk)
    other = Node(tmp_path / "other", MemorySharedLog(store), 2)
    await first.start()
    await first.lead()
    assert (await first.append(3)).end_offset == 4
    _fill(disk, room)
    with pytest.raises(FencedError) as caught:
        await first.append(5)
    # The store has it, and nobody else writes in its place.
    assert caught.value.outcome is Outcome.UNKNOWN
    with pytest.raises(FencedError) as caught:
        await first.append()
    assert caught.value.outcome is Outcome.NOTHING
    await other.start()
    await other.lead()
    assert (await other.append()).base_offset == 10
    disk.capacity = None
    await first.stop()
    await first.start()
    await first.follow()
    assert first.files() == other.files()
    await first.stop()
    await other.stop()


async def test_a_leader_that_has_no_room_for_a_new_segment_stops(tmp_path: Path) -> None:
    disk, store = SimulatedDisk(), MemoryStore()
    first = Node(DIRECTORY, MemorySharedLog(store), 1, disk)
    await first.start()
    await first.lead()
    await first.stop()
    await first.start()
    _fill(disk, 0)
    with pytest.raises(FencedError) as caught:
        await first.lead()
    assert caught.value.outcome is Outcome.NOTHING
    disk.capacity = None
    first.crash()
    await first.start()
    await first.lead()
    assert (await first.append()).base_offset == 2
    other = Node(tmp_path / "other", MemorySharedLog(store), 2)
    await other.start()
    await other.follow()
    assert first.files() == other.files()
    await first.stop()
    await other.stop()
