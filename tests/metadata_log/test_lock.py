"""The lock of a log directory."""

import fcntl
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metadata_log.files.fs import OsFs
from metadata_log.files.lock import lock_directory, writer_process
from metadata_log.files.names import LOCK
from metadata_log.limits import SEGMENT_SIZE_BYTES_MAX
from metadata_log.writer.claims import claim_epoch
from metadata_log.writer.creation import create_log
from metadata_log.writer.owned_log import own_log
from records.errors import UnavailableError
from tests.simulated_disk.disk import ROOT, SimulatedDisk


@contextmanager
def no_room(size_bytes_max: int = 0) -> Iterator[None]:
    """Make every write fail that would make a file of this process larger."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes_max, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_refuses_the_lock_and_does_not_keep_it(directory: Path) -> None:
    with no_room(), pytest.raises(UnavailableError, match="no room on the disk"):
        lock_directory(OsFs(), directory)
    lock = lock_directory(OsFs(), directory)
    assert writer_process(directory) == os.getpid()
    lock.release()


def test_lock_holder_without_a_process_id_is_unknown(directory: Path) -> None:
    with (directory / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UnavailableError, match="by process unknown;"):
            lock_directory(OsFs(), directory)


def test_looking_for_a_writer_does_not_block_writers(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (directory / LOCK).open("w") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr("time.sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
        lock_directory(OsFs(), directory).release()


class _SlowList(OsFs):
    """A file system on which another writer makes a claim right after the names were listed."""

    claims = False

    def list(self, directory: Path) -> list[str]:
        names = super().list(directory)
        if not self.claims:
            self.claims = True
            for name in names:
                if name.startswith("epoch-1"):
                    (directory / name).unlink()
        return names


def test_claims_that_another_writer_removed_are_no_failure(directory: Path) -> None:
    claim_epoch(OsFs(), directory, 0)
    claim_epoch(OsFs(), directory, 1)
    assert claim_epoch(_SlowList(), directory, 2).leader_epoch == 3


def test_full_disk_refuses_the_claim() -> None:
    disk, log = SimulatedDisk(), Path(ROOT) / "log"
    create_log(log, "test-cluster", fs=disk)
    disk.capacity = 0
    with pytest.raises(UnavailableError, match="no room on the disk"):
        own_log(disk, log, SEGMENT_SIZE_BYTES_MAX)
    assert not disk.is_locked
