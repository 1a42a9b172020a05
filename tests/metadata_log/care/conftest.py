"""Logs for tests of verify, repair, backup and archive."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.care.findings import Inspection
from metadata_log.care.inspection import inspect_log
from metadata_log.files.fs import OsFs
from metadata_log.stores.store import Store, open_store
from tests.own_logs import write_history


@pytest.fixture(scope="session")
def written_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An own log of five epochs, closed cleanly; written once, so tests must not change it."""
    return asyncio.run(write_history(tmp_path_factory.mktemp("written") / "log", 5, 40))


@pytest.fixture
def log(written_log: Path, tmp_path: Path) -> Path:
    """A copy of that log, which a test may change."""
    return shutil.copytree(written_log, tmp_path / "log")


@pytest.fixture(params=["directory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store for copies, of each kind."""
    if request.param == "directory":
        yield open_store(str(tmp_path / "copy"))
    else:
        yield open_store(request.getfixturevalue("s3_place"))


def inspect(directory: Path) -> Inspection:
    """Return what verify finds before it replays."""
    return inspect_log(OsFs(), directory)


def flip(path: Path, byte: int, bit: int = 3) -> None:
    """Damage one bit."""
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)
