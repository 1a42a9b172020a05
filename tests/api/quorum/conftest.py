"""A small generated log."""

from pathlib import Path

import pytest

from benchmarks.generate_kraft import generate


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """The directory of a log of 400 records."""
    return generate(tmp_path / "node", 400, seed=3)
