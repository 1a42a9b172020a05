"""The contract of `ByteStore`: a directory, a simulated disk, a prefix of a bucket."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from metadata_log.files.fs import ByteStore, write_whole
from metadata_log.stores.store import Store, open_store
from tests.simulated_disk.disk import ROOT, SimulatedDisk

# Larger than what the bucket's reader keeps of the beginning of an object.
LARGE = bytes(range(256)) * 1_024
FILES = {"b": b"0123456789", "a": b"", "large": LARGE}


class Place(NamedTuple):
    """A byte store, and its directory that contains FILES."""

    store: ByteStore
    root: Path


@pytest.fixture(params=["directory", "simulated", "bucket", "pinned bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "simulated":
        disk = SimulatedDisk()
        for name, content in FILES.items():
            write_whole(disk, Path(ROOT) / name, content)
        return Place(disk, Path(ROOT))
    is_local = request.param == "directory"
    store = open_store(str(tmp_path) if is_local else request.getfixturevalue("s3_place"))
    _put(store, FILES)
    return Place(store.pinned() if request.param == "pinned bucket" else store.fs, store.directory)


def _put(store: Store, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        store.put(name, [content])


def test_names_are_sorted(place: Place) -> None:
    assert place.store.list(place.root) == sorted(FILES)
    assert place.store.exists(place.root / "b")
    assert not place.store.exists(place.root / "c")


def test_missing_file_is_named(place: Place) -> None:
    with pytest.raises(FileNotFoundError, match="c"):
        place.store.open(place.root / "c")


@pytest.mark.parametrize("name", sorted(FILES))
def test_ranges_are_those_of_the_content(place: Place, name: str) -> None:
    content, file = FILES[name], place.store.open(place.root / name)
    assert file.size() == len(content)
    for start, size in ((0, 4), (2, 3), (7, 100), (65_530, 12), (100_000, 1_000_000), (10**9, 1)):
        assert file.pread(size, start) == content[start : start + size]
        # Again, in case something was kept.
        assert file.pread(size, start) == content[start : start + size]
    file.close()
