"""Logs whose images are compared."""

from pathlib import Path

import pytest

from tests.own_logs import write_history


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    """An own log of five epochs, with transactions over several batches."""
    return await write_history(tmp_path / "log", seed=5, batches=40)
