"""A controller that keeps the rules, and a broker beside it that waits for nothing long."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stand_in_quorum.batches import snapshot
from tests.stand_in_quorum.log import SnapshotId
from tests.strict_broker.broker import StrictBroker
from tests.strict_broker.fake import FakeController, feature, first_batches, write_log
from tests.strict_broker.raft import Disk, Identity
from tests.strict_broker.releases import RELEASES

BROKER = 100
LEVEL = 20
"""3.8-IV0, a metadata.version that brokers of all the releases know."""

Brokers = Callable[..., StrictBroker]


def new_snapshot() -> bytes:
    """Return a snapshot of a new log."""
    return snapshot(1, [feature("metadata.version", LEVEL)[1]])


def serve_snapshot(fake: FakeController, data: bytes) -> None:
    """Let the log begin with a snapshot, which a new broker is sent to."""
    with fake.change():
        fake.leader.log.snapshots[SnapshotId(fake.leader.log.end_offset, 1)] = data


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeController]:
    """A controller of 4.3 with a new log."""
    directory = write_log(tmp_path, first_batches(feature("metadata.version", LEVEL)))
    with FakeController(directory, release="4.3") as controller:
        yield controller


@pytest.fixture
def broker_of(fake: FakeController) -> Brokers:
    """Make processes of a broker."""

    def make(
        release: str = "4.3",
        node_id: int = BROKER,
        disk: Disk | None = None,
        *,
        has_voters: bool = True,
        reply_s: float = 10,
    ) -> StrictBroker:
        identity = Identity(
            node_id,
            fake.cluster_id,
            replace(RELEASES[release], chunk_size_bytes=100),
            voters=fake.voters if has_voters else {},
            bootstrap=tuple(fake.voters.values()),
            directory=bytes([node_id]) * 16,
        )
        return StrictBroker(
            identity, disk, max_wait_ms=20, reply_s=reply_s, beat_s=0.001, backoff_s=0.001
        )

    return make
