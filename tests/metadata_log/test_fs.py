"""The operating system's files: complete reads and writes, modes, errors with file names, locks."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.files.fs import OsFile, OsFs

OPEN = Path("/proc/self/fd")
needs_proc = pytest.mark.skipif(not OPEN.exists(), reason="open files are listed in /proc")


@pytest.fixture
def file(tmp_path: Path) -> OsFile:
    made = OsFs().open(tmp_path / "file", create=True)
    assert isinstance(made, OsFile)
    return made


def test_short_writes_and_reads_of_the_system_go_on(
    file: OsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    pwrite, pread = os.pwrite, os.pread
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, bytes(data)[:3], at))
    monkeypatch.setattr(os, "pread", lambda fd, size, at: pread(fd, min(size, 3), at))
    file.pwrite(b"0123456789", 2)
    assert file.size() == 12
    assert file.pread(100, 0) == b"\0\x000123456789"
    assert file.pread(5, 4) == b"23456"
    assert file.pread(3, 12) == b""
    file.close()


def test_files_and_folders_are_their_owners_alone(tmp_path: Path) -> None:
    fs = OsFs()
    fs.make_directory(tmp_path / "folder")
    fs.open(tmp_path / "folder" / "file", create=True).close()
    fs.lock(tmp_path / "folder" / "lock", "me").release()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("folder", "folder/file")]
    assert modes == [0o700, 0o600]
    assert stat.S_IMODE((tmp_path / "folder" / "lock").stat().st_mode) == 0o600


def test_file_opened_to_read_takes_no_writes(file: OsFile) -> None:
    file.pwrite(b"kept", 0)
    reader = OsFs().open(file.path)
    with pytest.raises(OSError, match="Bad file descriptor"):
        reader.pwrite(b"lost", 0)
    assert reader.pread(10, 0) == b"kept"
    writer = OsFs().open(file.path, write=True)
    writer.pwrite(b"more", 4)
    assert reader.pread(10, 0) == b"keptmore"
    for opened in (reader, writer, file):
        opened.close()


@needs_proc
def test_folder_is_no_file_and_nothing_stays_open(tmp_path: Path) -> None:
    before = len(list(OPEN.iterdir()))
    for _ in range(3):
        with pytest.raises(IsADirectoryError) as refused:
            OsFs().open(tmp_path)
        assert (refused.value.errno, refused.value.filename) == (errno.EISDIR, str(tmp_path))
    OsFs().sync_directory(tmp_path)
    assert len(list(OPEN.iterdir())) == before


@needs_proc
def test_file_is_closed_once_and_other_processes_do_not_get_it(file: OsFile) -> None:
    words = ["ls", "-l", "/proc/self/fd"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, close_fds=False)
    assert "/dev" in shown.stdout or "pipe" in shown.stdout
    assert str(file.path) not in shown.stdout
    file.close()
    other = os.open(file.path, os.O_RDONLY)
    file.close()
    assert os.fstat(other).st_size == 0
    os.close(other)


@pytest.mark.parametrize(
    "use",
    [
        lambda file: file.pread(1, 0),
        lambda file: file.pwrite(b"x", 0),
        lambda file: file.truncate(0),
    ],
)
def test_error_of_an_open_file_carries_its_name(
    file: OsFile, use: Callable[[OsFile], object]
) -> None:
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor") as failed:
        use(file)
    assert failed.value.filename == str(file.path)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS syncs in another way")
def test_failed_sync_carries_the_files_name(file: OsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(OSError, match="Input/output error") as failed:
        file.sync()
    assert failed.value.filename == str(file.path)
    file.close()


def test_lock_names_its_holder_until_it_is_released(tmp_path: Path) -> None:
    fs, path = OsFs(), tmp_path / "lock"
    path.write_text("a longer text of an earlier holder")
    lock = fs.lock(path, "4711\n")
    assert path.read_text() == "4711\n"
    with pytest.raises(BlockingIOError, match=r"^4711$"):
        fs.lock(path, "other")
    assert path.read_text() == "4711\n"
    lock.release()
    assert path.read_text() == ""
    fs.lock(path, "other").release()
    assert path.exists()


@needs_proc
def test_lock_that_is_refused_leaves_no_file_open(tmp_path: Path) -> None:
    lock = OsFs().lock(tmp_path / "lock", "me")
    before = len(list(OPEN.iterdir()))
    for _ in range(3):
        with pytest.raises(BlockingIOError):
            OsFs().lock(tmp_path / "lock", "other")
    assert len(list(OPEN.iterdir())) == before
    lock.release()
    assert len(list(OPEN.iterdir())) == before - 1


def test_link_to_nothing_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert OsFs().list(tmp_path) == ["link"]
    assert OsFs().exists(tmp_path / "link")
