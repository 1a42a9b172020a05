"""A small generated log, also with snapshots."""

import shutil
from pathlib import Path

import pytest

from benchmarks.generate_kraft import generate
from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from tests.api.conftest import Metalog
from tests.api.quorum.quorums import batch_end

_OFFSETS = (100, 200, 300)


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """The directory of a log of 400 records."""
    return generate(tmp_path / "node", 400, seed=3)


@pytest.fixture
def whole(metalog: Metalog, partition: Path, tmp_path: Path) -> Path:
    """An exact mirror of the whole log."""
    log = tmp_path / "whole"
    assert metalog("import", "kraft", partition, log, "--noop", "keep").code == 0
    return log


@pytest.fixture
def with_snapshots(metalog: Metalog, whole: Path, partition: Path, tmp_path: Path) -> Path:
    """The log with three snapshots, as a controller makes them."""
    for offset in _OFFSETS:
        at = batch_end(partition, offset) - 1
        made = tmp_path / f"state-{offset}"
        done = metalog("export", "kraft", whole, made, "--as", "checkpoint", "--at", at)
        assert done.code == 0, done
        (path,) = (made / PARTITION_DIRECTORY).glob("*.checkpoint")
        shutil.copy(path, partition)
    return partition
