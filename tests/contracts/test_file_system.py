"""The contract of `Fs`: the operating system's files, a simulated disk."""

from pathlib import Path
from typing import NamedTuple

import pytest

from metadata_log.files.fs import File, Fs, OsFs, create_synced, write_whole
from tests.simulated_disk.disk import ROOT, SimulatedDisk


class Place(NamedTuple):
    """A file system, and an empty directory of it."""

    fs: Fs
    root: Path


@pytest.fixture(params=["os", "simulated"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(OsFs(), tmp_path) if request.param == "os" else Place(SimulatedDisk(), Path(ROOT))


def test_file_is_read_by_position_and_ends_where_it_ends(place: Place) -> None:
    file = place.fs.open(place.root / "file", create=True)
    file.pwrite(b"23456789", 2)
    file.pwrite(b"01", 0)
    assert file.size() == 10
    assert file.pread(100, 0) == b"0123456789"
    assert file.pread(5, 4) == b"45678"
    assert file.pread(3, 10) == file.pread(3, 99) == b""
    file.close()


def test_bytes_before_a_write_past_the_end_are_zeros(place: Place) -> None:
    file = place.fs.open(place.root / "file", create=True)
    file.pwrite(b"xy", 3)
    assert file.pread(100, 0) == b"\0\0\0xy"
    file.close()


def test_file_is_cut_and_extended(place: Place) -> None:
    file = place.fs.open(place.root / "file", create=True)
    file.pwrite(b"0123456789", 0)
    file.truncate(4)
    assert file.pread(100, 0) == b"0123"
    file.truncate(6)
    assert file.pread(100, 0) == b"0123\0\0"
    file.close()


def test_file_is_made_once(place: Place) -> None:
    with pytest.raises(FileNotFoundError):
        place.fs.open(place.root / "file")
    with pytest.raises(FileNotFoundError):
        place.fs.open(place.root / "file", write=True)
    place.fs.open(place.root / "file", create=True).close()
    with pytest.raises(FileExistsError):
        place.fs.open(place.root / "file", create=True)
    assert place.fs.list(place.root) == ["file"]


def test_open_file_sees_what_is_written_and_stays_what_it_was_when_its_name_goes(
    place: Place,
) -> None:
    fs, path = place.fs, place.root / "file"
    fs.open(path, create=True).close()
    reader, writer = fs.open(path), fs.open(path, write=True)
    writer.pwrite(b"kept", 0)
    assert reader.pread(10, 0) == b"kept"
    write_whole(fs, path, b"another")
    assert reader.pread(10, 0) == b"kept"
    fs.unlink(path)
    assert reader.pread(10, 0) == b"kept"
    for opened in (reader, writer):
        opened.close()


def test_names_are_sorted_and_change_at_once(place: Place) -> None:
    fs, root = place.fs, place.root
    for name in ("b", "a", "c"):
        fs.open(root / name, create=True).close()
    fs.make_directory(root / "folder")
    fs.open(root / "folder" / "inside", create=True).close()
    assert fs.list(root) == ["a", "b", "c", "folder"]
    assert fs.list(root / "folder") == ["inside"]
    fs.rename(root / "a", root / "b")
    fs.unlink(root / "c")
    assert fs.list(root) == ["b", "folder"]
    assert [fs.exists(root / name) for name in ("a", "b", "folder")] == [False, True, True]
    with pytest.raises(FileNotFoundError):
        fs.unlink(root / "c")
    with pytest.raises(FileNotFoundError):
        fs.list(root / "nowhere")
    with pytest.raises(FileExistsError):
        fs.make_directory(root / "folder")


def test_file_that_could_not_be_written_is_not_left(place: Place) -> None:
    def fail(file: File) -> None:
        file.pwrite(b"half", 0)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        create_synced(place.fs, place.root / "file", fail)
    assert place.fs.list(place.root) == []


def test_lock_is_granted_once_and_names_its_holder(place: Place) -> None:
    path = place.root / "lock"
    lock = place.fs.lock(path, "4711")
    with pytest.raises(BlockingIOError, match=r"^4711$"):
        place.fs.lock(path, "other")
    lock.release()
    assert place.fs.exists(path)
    place.fs.lock(path, "other").release()
