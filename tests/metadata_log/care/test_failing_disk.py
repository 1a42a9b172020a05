"""A disk with unreadable sectors: all other sectors are checked and kept."""

import errno
import os
from pathlib import Path

import pytest

from metadata_log.care.failing_disk import SECTOR_SIZE, FailingDisk, Unreadable
from metadata_log.care.inspection import inspect_log
from metadata_log.care.repair import RepairResult, repair
from metadata_log.files.fs import File, Fs, OsFile, OsFs
from metadata_log.files.names import COMMIT_MARK, MANIFEST
from metadata_log.reader.log_reader import LogReader

WHY = os.strerror(errno.EIO)


class _BadFile(OsFile):
    """A file with some sectors that cannot be read."""

    bad: frozenset[int] = frozenset()
    error = errno.EIO

    def pread(self, size: int, position: int) -> bytes:
        end = min(position + size, self.size())
        if any(position < (n + 1) * SECTOR_SIZE and n * SECTOR_SIZE < end for n in self.bad):
            raise OSError(self.error, os.strerror(self.error), str(self.path))
        return super().pread(size, position)


class BadSectors(OsFs):
    """The system's files, one of which has bad sectors."""

    def __init__(self, name: str, *sectors: int, error: int = errno.EIO) -> None:
        self._name, self._sectors, self._error = name, frozenset(sectors), error

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        if path.name != self._name or create:
            return super().open(path, write=write, create=create)
        file = _BadFile(path, os.O_RDWR if write else os.O_RDONLY)
        file.bad, file.error = self._sectors, self._error
        return file


def _repaired(fs: Fs, log: Path) -> RepairResult:
    return repair(fs, log, log.with_name("copy"), copy_fs=OsFs(), check=lambda copy: None)


def _amid_blocks(log: Path) -> tuple[str, int]:
    """Return the largest segment, and its last sector."""
    path = max(log.glob("0*.avro"), key=lambda path: path.stat().st_size)
    return path.name, (path.stat().st_size - 1) // SECTOR_SIZE


def test_reads_give_zeros_for_bad_sectors_alone_and_tell_them(tmp_path: Path) -> None:
    path = tmp_path / "file"
    content = bytes(range(1, 251)) * 100
    path.write_bytes(content)
    disk = FailingDisk(BadSectors("file", 1, 2, 6))
    file = disk.open(path)
    for start in range(0, 3 * SECTOR_SIZE, 999):
        read = file.pread(3 * SECTOR_SIZE, start)
        for at, byte in enumerate(read, start):
            assert byte == (0 if at // SECTOR_SIZE in (1, 2, 6) else content[at]), at
        assert len(read) == 3 * SECTOR_SIZE
    assert file.pread(99_999, 6 * SECTOR_SIZE) == bytes(len(content) - 6 * SECTOR_SIZE)
    file.close()
    assert disk.unreadable == [
        Unreadable("file", SECTOR_SIZE, 3 * SECTOR_SIZE, WHY),
        Unreadable("file", 6 * SECTOR_SIZE, len(content), WHY),
    ]


def test_errors_that_are_not_the_disks_stay_errors(log: Path) -> None:
    for run in (lambda fs: inspect_log(fs, log), lambda fs: _repaired(fs, log)):
        with pytest.raises(PermissionError):
            run(BadSectors(MANIFEST, 0, error=errno.EACCES))


def test_verify_goes_on_behind_bad_sectors_and_lists_them(log: Path) -> None:
    whole = inspect_log(OsFs(), log)
    name, sector = _amid_blocks(log)
    found = inspect_log(BadSectors(name, sector), log)
    assert {finding.file for finding in found.damage} == {name}
    (lost,) = [finding for finding in found.damage if WHY in finding.what]
    assert lost.byte == sector * SECTOR_SIZE
    assert found.segments == whole.segments
    assert whole.blocks - 50 < found.blocks < whole.blocks


def test_repair_keeps_what_stands_before_a_bad_sector(log: Path) -> None:
    name, sector = _amid_blocks(log)
    result = _repaired(BadSectors(name, sector), log)
    assert [(piece.file, piece.byte) for piece in result.unreadable] == [
        (name, sector * SECTOR_SIZE)
    ]
    assert result.lost_offsets
    with LogReader.open(log) as source, LogReader.open(log.with_name("copy")) as copy:
        kept = list(copy.batches())
        assert kept
        assert kept == list(source.batches(0, result.end_offset))


@pytest.mark.parametrize("name", [COMMIT_MARK, MANIFEST])
def test_unreadable_small_files_are_rebuilt(log: Path, name: str) -> None:
    fs = BadSectors(name, 0)
    assert any(WHY in finding.what for finding in inspect_log(fs, log).damage)
    result = _repaired(fs, log)
    assert [piece.file for piece in result.unreadable] == [name]
    assert not result.lost
    assert inspect_log(OsFs(), log.with_name("copy")).damage == []
