"""Logs for tests that compare images before and after an operation."""

from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from replay.image.digest import image_digest
from replay.loader import load_image
from tests.own_logs import write_history


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    """An own log of five epochs, with transactions that span several batches."""
    return await write_history(tmp_path / "log", seed=5, batches=40)


def digests(reader: LogReader, first: int) -> dict[int, str]:
    """Return the digest of the image at each offset from `first` on, by one replay."""
    image, found = None, {}
    for at in range(first, reader.end_offset):
        image = load_image(reader, at, start=image)
        found[at] = image_digest(image)
    return found
