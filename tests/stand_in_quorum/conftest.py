"""A small log of two epochs, with and without a snapshot of the first."""

from pathlib import Path

import pytest

from tests.stand_in_quorum.batches import leader_change, no_ops


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A log of two epochs: 1 at offsets 0 to 5, 3 from 6 to 11."""
    first = [leader_change(0, 1, 1), no_ops(1, 1, 3), no_ops(4, 1, 2)]
    second = [leader_change(6, 3, 2), no_ops(7, 3, 5)]
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(b"".join(each.data for each in first + second))
    return directory


@pytest.fixture
def with_snapshot(directory: Path) -> Path:
    """The same, with a snapshot (200 bytes of no meaning) at offset 6, epoch 1."""
    (directory / "00000000000000000006-0000000001.checkpoint").write_bytes(bytes(range(200)))
    return directory
