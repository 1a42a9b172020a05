"""Logs to test with."""

from pathlib import Path

import pytest

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Uuid
from records.envelope import Origin
from records.topics import TopicRecord


class StepClock:
    """A clock that advances by a second at each reading, or to a time set by the test."""

    def __init__(self, start_ms: int = 1_700_000_000_000, step_ms: int = 1_000) -> None:
        self.time_ms = start_ms
        self.step_ms = step_ms

    def now_ms(self) -> int:
        self.time_ms += self.step_ms
        return self.time_ms


def topics(
    first: int, count: int, *, request_id: str | None = None, request_hash: bytes | None = b""
) -> NewBatch:
    """Return a batch of topics with numbered names and ids.

    The hash of the request is made from its id, unless given.
    """
    if request_hash == b"":
        request_hash = request_id.encode() if request_id else None
    return NewBatch(
        origin=Origin(request_id=request_id, request_hash=request_hash) if request_id else None,
        records=tuple(
            TopicRecord(name=f"topic-{n}", topic_id=Uuid(n.to_bytes(16, "big")))
            for n in range(first, first + count)
        ),
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An empty own log."""
    create_log(tmp_path / "log", "test-cluster")
    return tmp_path / "log"


@pytest.fixture
async def written(directory: Path) -> Path:
    """A log of one epoch: a leader change and ten batches of three topics, closed cleanly."""
    log = await MetadataLog.open(directory, clock=StepClock())
    for n in range(10):
        await log.append(topics(3 * n, 3))
    await log.close()
    return directory
