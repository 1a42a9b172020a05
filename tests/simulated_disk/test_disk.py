"""The simulated disk loses unsynced data: a disk that loses nothing would prove nothing."""

import errno
from pathlib import Path

import pytest

from metadata_log.files.fs import File
from tests.simulated_disk.crash import KEPT_ALL, LOST_ALL, PowerLosses, uncertain_changes
from tests.simulated_disk.disk import ROOT, PowerLoss, SimulatedDisk
from tests.simulated_disk.faults import Fault, Faults
from tests.simulated_disk.inode import PAGE_SIZE, WHOLE, ZEROS, Kept, Part

DIRECTORY = Path(ROOT)
PATH = DIRECTORY / "file"


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


def create(disk: SimulatedDisk, path: Path, content: bytes) -> None:
    """Create a file with durable content, and a name that is not durable yet."""
    file = disk.open(path, create=True)
    file.pwrite(content, 0)
    file.sync()


@pytest.fixture
def file(disk: SimulatedDisk) -> File:
    """A file of eight bytes whose name and content are durable."""
    create(disk, PATH, b"abcdefgh")
    disk.sync_directory(DIRECTORY)
    return disk.open(PATH, write=True)


def lost_all(disk: SimulatedDisk) -> bytes | None:
    """Return the content on the disk if all unsynced changes are lost."""
    return disk.after_power_loss({}).get(str(PATH))


def reachable(disk: SimulatedDisk) -> set[bytes | None]:
    """Return every content that some systematic state has."""
    losses = PowerLosses(disk, "test")
    return {losses.state(number).get(str(PATH)) for number in range(losses.count)}


def last_serial(disk: SimulatedDisk) -> int:
    return uncertain_changes(disk)[-1].serial


def test_what_was_written_can_be_read_before_it_is_durable(disk: SimulatedDisk, file: File) -> None:
    file.pwrite(b"XY", 2)
    assert file.pread(8, 0) == b"abXYefgh"
    assert disk.open(PATH).pread(4, 1) == b"bXYe"
    assert lost_all(disk) == b"abcdefgh"


def test_sync_makes_durable_what_was_written_before_it_and_nothing_after(
    disk: SimulatedDisk, file: File
) -> None:
    file.pwrite(b"XY", 2)
    file.sync()
    file.pwrite(b"Z", 0)
    assert lost_all(disk) == b"abXYefgh"


def test_sync_of_one_file_does_nothing_for_another(disk: SimulatedDisk, file: File) -> None:
    other = disk.open(DIRECTORY / "other", create=True)
    file.pwrite(b"XY", 2)
    other.sync()
    assert lost_all(disk) == b"abcdefgh"


def test_any_of_several_unsynced_writes_may_be_lost(disk: SimulatedDisk, file: File) -> None:
    file.pwrite(b"X", 0)
    file.pwrite(b"Y", 1)
    assert {b"abcdefgh", b"Xbcdefgh", b"aYcdefgh", b"XYcdefgh"} <= reachable(disk)


def test_later_write_may_reach_the_disk_without_the_earlier_one(
    disk: SimulatedDisk, file: File
) -> None:
    file.pwrite(b"12", 8)
    file.pwrite(b"34", 10)
    assert b"abcdefgh\0\x0034" in reachable(disk)


def test_write_may_be_torn_at_any_byte(disk: SimulatedDisk, file: File) -> None:
    file.pwrite(b"12345", 8)
    serial = last_serial(disk)
    for size in range(1, 5):
        torn = disk.after_power_loss({serial: Kept(Part.FIRST, size)})
        assert torn[str(PATH)] == b"abcdefgh" + b"12345"[:size]
        torn = disk.after_power_loss({serial: Kept(Part.REST, size)})
        assert torn[str(PATH)] == b"abcdefgh" + bytes(size) + b"12345"[size:]


def test_length_may_be_durable_without_the_bytes(disk: SimulatedDisk, file: File) -> None:
    file.pwrite(b"123", 8)
    assert disk.after_power_loss({last_serial(disk): ZEROS})[str(PATH)] == b"abcdefgh\0\0\0"
    file.sync()
    file.pwrite(b"XY", 0)
    assert disk.after_power_loss({last_serial(disk): ZEROS})[str(PATH)] == b"abcdefgh123"


def test_unsynced_truncate_may_be_undone(disk: SimulatedDisk, file: File) -> None:
    file.truncate(3)
    assert (file.size(), file.pread(8, 0)) == (3, b"abc")
    assert {b"abcdefgh", b"abc"} == reachable(disk)
    file.sync()
    assert reachable(disk) == {b"abc"}


def test_name_is_lost_until_its_directory_is_synced(disk: SimulatedDisk) -> None:
    create(disk, PATH, b"synced")
    assert reachable(disk) == {None, b"synced"}
    disk.sync_directory(DIRECTORY)
    assert reachable(disk) == {b"synced"}


def test_rename_is_whole_or_not_at_all_and_replaces_its_target(
    disk: SimulatedDisk, file: File
) -> None:
    create(disk, DIRECTORY / "new", b"other")
    disk.sync_directory(DIRECTORY)
    disk.rename(DIRECTORY / "new", PATH)
    before, after = disk.after_power_loss({}), disk.after_power_loss({last_serial(disk): WHOLE})
    assert (before[str(PATH)], before.get(f"{ROOT}/new")) == (b"abcdefgh", b"other")
    assert (after[str(PATH)], after.get(f"{ROOT}/new")) == (b"other", None)


def test_rename_cannot_be_durable_without_the_name_it_renames(disk: SimulatedDisk) -> None:
    create(disk, DIRECTORY / "part", b"x")
    disk.rename(DIRECTORY / "part", PATH)
    assert disk.after_power_loss({last_serial(disk): WHOLE}) == {ROOT: None}


def test_unsynced_names_are_independent_of_each_other(disk: SimulatedDisk) -> None:
    for name in ("a", "b"):
        disk.open(DIRECTORY / name, create=True)
    states = {frozenset(PowerLosses(disk, "t").state(number)) for number in range(6)}
    names = {frozenset({ROOT, *(f"{ROOT}/{n}" for n in kept)}) for kept in ("", "a", "b", "ab")}
    assert names == states


def test_removed_name_may_come_back(disk: SimulatedDisk, file: File) -> None:
    disk.unlink(PATH)
    assert not disk.exists(PATH)
    assert reachable(disk) == {b"abcdefgh", None}


def test_new_directory_is_lost_with_all_in_it_until_its_parent_is_synced(
    disk: SimulatedDisk,
) -> None:
    inner = DIRECTORY / "inner"
    disk.make_directory(inner)
    create(disk, inner / "file", b"x")
    disk.sync_directory(inner)
    assert disk.after_power_loss({}) == {ROOT: None}
    disk.sync_directory(DIRECTORY)
    assert disk.after_power_loss({})[str(inner / "file")] == b"x"


def test_failed_sync_forgets_what_it_should_have_written_and_the_next_one_lies(
    disk: SimulatedDisk, file: File
) -> None:
    file.pwrite(b"XY", 2)
    disk.faults = Faults(Fault(0, operations=frozenset({"sync"})))
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    file.sync()
    assert file.pread(8, 0) == b"abXYefgh"
    assert lost_all(disk) == b"abcdefgh"
    assert b"abXYefgh" in reachable(disk)


def test_writing_a_page_again_saves_all_that_a_failed_sync_forgot_of_it(
    disk: SimulatedDisk, file: File
) -> None:
    file.pwrite(b"XY", 2)
    file.pwrite(b"far", PAGE_SIZE)
    disk.faults = Faults(Fault(0, operations=frozenset({"sync"})))
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    file.pwrite(b"h", 7)
    file.sync()
    saved = lost_all(disk)
    assert saved is not None
    assert saved.rstrip(b"\0") == b"abXYefgh"


def test_failing_call_is_the_one_that_was_asked_for(disk: SimulatedDisk, file: File) -> None:
    disk.faults = Faults(Fault(2, count=2, operations=frozenset({"pwrite"})))
    errors = 0
    for at in range(6):
        try:
            file.pwrite(b"z", at)
        except OSError:
            errors += 1
    assert errors == disk.faults.happened == 2
    assert file.pread(8, 0) == b"zzcdzzgh"


def test_failing_write_may_leave_its_beginning(disk: SimulatedDisk, file: File) -> None:
    disk.faults = Faults(Fault(0, 1, errno.ENOSPC, frozenset({"pwrite"}), written=2))
    with pytest.raises(OSError, match="No space left"):
        file.pwrite(b"12345", 8)
    assert file.pread(20, 0) == b"abcdefgh12"


def test_full_disk_takes_what_fits_until_there_is_room(disk: SimulatedDisk, file: File) -> None:
    disk.capacity = 10
    file.pwrite(b"XY", 0)
    with pytest.raises(OSError, match="No space left"):
        file.pwrite(b"12345", 8)
    assert file.size() == 10
    with pytest.raises(OSError, match="No space left"):
        disk.open(DIRECTORY / "other", create=True)
    file.truncate(8)
    file.pwrite(b"1", 8)
    assert file.pread(20, 0) == b"XYcdefgh1"


def test_process_crash_keeps_all_and_frees_the_locks(disk: SimulatedDisk, file: File) -> None:
    disk.lock(DIRECTORY / ".lock", "me")
    file.pwrite(b"XY", 2)
    after = SimulatedDisk(disk.visible())
    assert after.open(PATH).pread(8, 0) == b"abXYefgh"
    after.lock(DIRECTORY / ".lock", "another").release()


def test_lock_is_granted_once_and_names_its_holder(disk: SimulatedDisk) -> None:
    lock = disk.lock(DIRECTORY / ".lock", "first")
    with pytest.raises(BlockingIOError, match="first"):
        disk.lock(DIRECTORY / ".lock", "second")
    lock.release()
    disk.lock(DIRECTORY / ".lock", "second")
    lock.release()
    assert disk.is_locked


def test_nothing_works_when_the_power_is_gone(disk: SimulatedDisk, file: File) -> None:
    disk.is_gone = True
    for call in (lambda: file.pread(1, 0), file.sync, lambda: disk.list(DIRECTORY)):
        with pytest.raises(PowerLoss):
            call()


def test_boundary_is_met_before_each_change_and_at_no_other_call(
    disk: SimulatedDisk, file: File
) -> None:
    met: list[bytes] = []
    disk.boundary = lambda: met.append(disk.visible()[str(PATH)] or b"")
    file.pwrite(b"X", 0)
    file.pread(1, 0)
    disk.list(DIRECTORY)
    file.sync()
    assert met == [b"abcdefgh", b"Xbcdefgh"]


def test_random_states_are_the_same_for_the_same_number_and_tear_one_sector_at_most(
    disk: SimulatedDisk, file: File
) -> None:
    for at in range(6):
        file.pwrite(b"123456", 6 * at)
    losses = PowerLosses(disk, "seed")
    again = PowerLosses(disk, "seed")
    for number in range(losses.count, losses.count + 200):
        assert losses.state(number) == again.state(number)
        parts = [kept.part for kept in losses.plan(number).values()]
        assert sum(part in (Part.FIRST, Part.REST) for part in parts) <= 1


def test_two_simplest_states_have_lost_all_and_kept_all(disk: SimulatedDisk, file: File) -> None:
    file.pwrite(b"X", 0)
    file.pwrite(b"Y", 1)
    losses = PowerLosses(disk, "seed")
    assert losses.state(LOST_ALL)[str(PATH)] == b"abcdefgh"
    assert losses.state(KEPT_ALL) == disk.visible()
