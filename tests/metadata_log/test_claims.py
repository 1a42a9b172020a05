"""Claims of leader epochs: synced before the tail is read, and one writer per epoch."""

from pathlib import Path

import pytest

from metadata_log.files.fs import File, OsFs
from metadata_log.files.names import claim_name
from metadata_log.writer.claims import claim_epoch
from metadata_log.writer.creation import create_log
from records.errors import FencedError, UnavailableError
from tests.simulated_disk.disk import SimulatedDisk
from tests.simulated_disk.history import History
from tests.simulated_disk.session import CLUSTER_ID, LOG, Session, StepClock


class WatchedDisk(SimulatedDisk):
    """Records which claims a power loss would have left, whenever a segment is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.claims_at_reads: list[list[str]] = []

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        if path.suffix == ".avro":
            left = [Path(name).name for name in self.after_power_loss({})]
            self.claims_at_reads.append([name for name in left if name.startswith("epoch-")])
        return super().open(path, write=write, create=create)


def test_claim_is_on_stable_storage_before_any_segment_is_read() -> None:
    disk = WatchedDisk()
    create_log(LOG, CLUSTER_ID, fs=disk)
    for epoch in (1, 2, 3):
        Session(disk, History(), StepClock()).close()
        disk.claims_at_reads.clear()
        session = Session(disk, History(), StepClock())
        assert session.log.leader_epoch == 2 * epoch
        assert disk.claims_at_reads
        assert all(claim_name(2 * epoch) in claims for claims in disk.claims_at_reads)
        session.close()


def test_claim_is_one_above_every_claim_and_the_epoch_of_the_log(tmp_path: Path) -> None:
    assert claim_epoch(OsFs(), tmp_path, 0).leader_epoch == 1
    assert claim_epoch(OsFs(), tmp_path, 0).leader_epoch == 2
    assert claim_epoch(OsFs(), tmp_path, 7).leader_epoch == 8
    assert claim_epoch(OsFs(), tmp_path, 3).leader_epoch == 9


def test_only_the_claim_and_the_one_before_it_stay(tmp_path: Path) -> None:
    for _ in range(4):
        claim_epoch(OsFs(), tmp_path, 0)
    assert OsFs().list(tmp_path) == [claim_name(3), claim_name(4)]


def test_writer_is_fenced_by_the_next_claim_and_by_the_loss_of_its_own(tmp_path: Path) -> None:
    first = claim_epoch(OsFs(), tmp_path, 0)
    first.check()
    second = claim_epoch(OsFs(), tmp_path, 0)
    second.check()
    with pytest.raises(FencedError, match=r"from epoch 1$"):
        first.check()
    (tmp_path / claim_name(2)).unlink()
    with pytest.raises(FencedError, match=r"from epoch 2$"):
        second.check()


class RivalFs(OsFs):
    """Another writer makes the same claim after the names were listed; the lock does not prevent
    it.
    """

    def list(self, directory: Path) -> list[str]:
        names = super().list(directory)
        (directory / claim_name(1)).touch()
        return names


def test_only_one_of_two_writers_gets_an_epoch(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="epoch 1 was claimed by another writer"):
        claim_epoch(RivalFs(), tmp_path, 0)
