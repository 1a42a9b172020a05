"""A small generated log, also with snapshots, and recordings of it; all made once, and copied."""

import shutil
from pathlib import Path

import pytest

from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from tests.api.quorum.recordings import Recording, generated, recording


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a node whose log has 400 records, of that log as an exact mirror, and of the
    same node with three snapshots, as a controller makes them.
    """
    return generated(tmp_path_factory.mktemp("quorum"))


@pytest.fixture
def partition(made: Path, tmp_path: Path) -> Path:
    """The directory of a log of 400 records."""
    return shutil.copytree(made / "node", tmp_path / "node") / PARTITION_DIRECTORY


@pytest.fixture
def whole(made: Path, tmp_path: Path) -> Path:
    """An exact mirror of the whole log."""
    return shutil.copytree(made / "whole", tmp_path / "whole")


@pytest.fixture
def with_snapshots(made: Path, tmp_path: Path) -> Path:
    """The log with three snapshots."""
    target = tmp_path / "node"
    shutil.copytree(made / "with-snapshots", target, dirs_exist_ok=True)
    return target / PARTITION_DIRECTORY


@pytest.fixture(scope="session")
def recorded(made: Path) -> Recording:
    """A recording with a gap; tests must not change it."""
    return recording(made / "with-snapshots" / PARTITION_DIRECTORY, made / "recorded" / "log")


@pytest.fixture(scope="session")
def with_outages(made: Path) -> Recording:
    """A recording in which partitions are under-replicated on both sides of the gap; tests must not
    change it.
    """
    partition, log = made / "with-snapshots" / PARTITION_DIRECTORY, made / "outages" / "log"
    return recording(partition, log, first_end=150)


@pytest.fixture
def own_recording(recorded: Recording, tmp_path: Path) -> Recording:
    """A copy of `recorded`, to be changed."""
    shutil.copytree(recorded.log.parent, tmp_path / "recorded")
    return recorded._replace(log=tmp_path / "recorded" / "log")
