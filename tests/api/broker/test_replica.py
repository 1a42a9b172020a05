"""High watermark and in-sync replicas of one partition."""

from pathlib import Path
from typing import Any

import pytest

from api.broker.batches import produced_batches
from api.broker.log_directory import LogDirectory
from api.broker.partition_log import PartitionLog
from api.broker.partition_metadata import PartitionMetadata
from api.broker.replica import Replica
from api.kafka.messages.replicas import LeaderAndIsrPartition
from records.base import Uuid
from records.errors import RequestError
from tests.api.broker.records import batch

ME, SECOND, THIRD = 1, 2, 3
LAG_MS = 1_000


def state(**fields: Any) -> LeaderAndIsrPartition:
    fields.setdefault("leader", ME)
    fields.setdefault("leader_epoch", 5)
    fields.setdefault("isr", (ME, SECOND, THIRD))
    fields.setdefault("zk_version", 0)
    return LeaderAndIsrPartition(
        partition=0, controller_epoch=1, replicas=(ME, SECOND, THIRD), **fields
    )


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    directory = LogDirectory.open(tmp_path, cluster_id="c", broker_id=ME)
    metadata = PartitionMetadata(topic_id=Uuid(b"1" * 16), name="a", partition=0)
    log = PartitionLog.open(directory.create(metadata))
    return Replica(ME, metadata, directory, log)


def write(replica: Replica, *values: bytes) -> None:
    replica.append(produced_batches(batch(*values)))


def wanted(replica: Replica, now_ms: int = 0, live: tuple[int, ...] = (2, 3)) -> Any:
    return replica.wanted_isr(now_ms, LAG_MS, lambda broker_id: broker_id in live)


def test_high_watermark_waits_for_all_in_sync(replica: Replica) -> None:
    replica.assign(state(), 0)
    write(replica, b"a", b"b")
    assert replica.high_watermark == 0
    replica.fetched_by(SECOND, 2, 0)
    assert replica.high_watermark == 0
    replica.fetched_by(THIRD, 1, 0)
    assert replica.high_watermark == 1
    replica.fetched_by(THIRD, 2, 0)
    assert replica.high_watermark == 2


def test_leader_alone_needs_nobody(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    write(replica, b"a")
    assert replica.high_watermark == 1


def test_high_watermark_never_goes_back(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    write(replica, b"a")
    replica.assign(state(isr=(ME, SECOND), zk_version=1), 0)
    replica.fetched_by(SECOND, 0, 0)
    assert replica.high_watermark == 1


def test_follower_that_lags_too_long_is_to_leave(replica: Replica) -> None:
    replica.assign(state(), 0)
    write(replica, b"a")
    replica.fetched_by(SECOND, 1, 900)
    assert wanted(replica, LAG_MS) is None
    assert wanted(replica, LAG_MS + 1) == (ME, SECOND)


def test_follower_that_has_everything_never_lags(replica: Replica) -> None:
    replica.assign(state(), 0)
    replica.fetched_by(SECOND, 0, 0)
    replica.fetched_by(THIRD, 0, 0)
    assert wanted(replica, 1_000_000) is None


def test_follower_joins_when_it_has_what_clients_were_shown(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    write(replica, b"a")
    replica.fetched_by(SECOND, 0, 0)
    assert wanted(replica) is None
    replica.fetched_by(SECOND, 1, 0)
    assert wanted(replica) == (ME, SECOND)
    assert wanted(replica, live=(3,)) is None, "whoever is not there cannot join"


def test_follower_that_left_must_be_heard_of_again(replica: Replica) -> None:
    replica.assign(state(), 0)
    replica.fetched_by(SECOND, 0, 0)
    replica.fetched_by(THIRD, 0, 0)
    replica.assign(state(isr=(ME, SECOND), zk_version=1), 0)
    assert wanted(replica) is None
    replica.fetched_by(THIRD, 0, 0)
    assert wanted(replica) == (ME, SECOND, THIRD)


def test_one_change_is_under_way_at_a_time(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    replica.fetched_by(SECOND, 0, 0)
    replica.pending_isr = (ME, SECOND)
    assert wanted(replica) is None
    # The one about to join counts already: it may be elected before we hear of it.
    write(replica, b"a")
    assert replica.high_watermark == 0
    replica.isr_is((ME,), 1)
    assert replica.high_watermark == 1


def test_stranger_is_no_follower(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    replica.fetched_by(99, 0, 0)
    assert wanted(replica, live=(99,)) is None


@pytest.mark.parametrize(
    ("leader_epoch", "code"), [(4, "FENCED_LEADER_EPOCH"), (6, "UNKNOWN_LEADER_EPOCH")]
)
def test_other_leader_epochs_are_refused(replica: Replica, leader_epoch: int, code: str) -> None:
    replica.assign(state(), 0)
    assert replica.check_leader(5) == replica.check_leader(-1)
    with pytest.raises(RequestError) as caught:
        replica.check_leader(leader_epoch)
    assert caught.value.code == code


def test_follower_and_stopped_replica_lead_nothing(replica: Replica) -> None:
    replica.assign(state(leader=SECOND), 0)
    assert replica.leader_to_follow == SECOND
    with pytest.raises(RequestError, match="broker 2 leads"):
        replica.check_leader(-1)
    replica.stop()
    assert replica.leader_to_follow is None
    with pytest.raises(RequestError, match="nobody leads"):
        replica.check_leader(-1)


def test_follower_shows_no_more_than_it_has(replica: Replica) -> None:
    replica.assign(state(leader=SECOND), 0)
    (raw,) = produced_batches(batch(b"a"))
    replica.replicate([raw.stamped(0, 5)], 10)
    assert (replica.log.end_offset, replica.high_watermark) == (1, 1)
    replica.replicate([raw.stamped(0, 5)], 10)
    assert replica.log.end_offset == 1, "what it has is not taken twice"
