"""The high watermark and the in-sync replicas of one partition."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from api.broker.batch_places import EpochEnd
from api.broker.batches import produced_batches
from api.broker.disk import Disk
from api.broker.log_directory import LogDirectory
from api.broker.partition_log import PartitionLog
from api.broker.partition_metadata import PartitionMetadata
from api.broker.pending_writes import PendingWrite
from api.broker.replica import Replica
from api.kafka.errors import name_of
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
    disk = Disk(256)
    log = PartitionLog.open(directory.create(metadata), disk.files)
    return Replica(ME, metadata, directory, log, disk)


async def write(replica: Replica, *values: bytes) -> None:
    await replica.append(batch(*values))


def wanted(replica: Replica, now_ms: int = 0, live: tuple[int, ...] = (2, 3)) -> Any:
    return replica.wanted_isr(now_ms, LAG_MS, lambda broker_id: broker_id in live)


async def test_high_watermark_waits_for_all_in_sync(replica: Replica) -> None:
    replica.assign(state(), 0)
    await write(replica, b"a", b"b")
    assert replica.high_watermark == 0
    replica.fetched_by(SECOND, 2, 0)
    assert replica.high_watermark == 0
    replica.fetched_by(THIRD, 1, 0)
    assert replica.high_watermark == 1
    replica.fetched_by(THIRD, 2, 0)
    assert replica.high_watermark == 2


async def test_sole_leader_commits_alone(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    await write(replica, b"a")
    assert replica.high_watermark == 1


async def test_high_watermark_never_goes_back(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    await write(replica, b"a")
    replica.assign(state(isr=(ME, SECOND), zk_version=1), 0)
    replica.fetched_by(SECOND, 0, 0)
    assert replica.high_watermark == 1


async def test_follower_that_lags_too_long_is_to_leave(replica: Replica) -> None:
    replica.assign(state(), 0)
    await write(replica, b"a")
    replica.fetched_by(SECOND, 1, 900)
    assert wanted(replica, LAG_MS) is None
    assert wanted(replica, LAG_MS + 1) == (ME, SECOND)


def test_follower_that_has_everything_never_lags(replica: Replica) -> None:
    replica.assign(state(), 0)
    replica.fetched_by(SECOND, 0, 0)
    replica.fetched_by(THIRD, 0, 0)
    assert wanted(replica, 1_000_000) is None


async def test_follower_joins_when_it_has_what_clients_were_shown(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    await write(replica, b"a")
    replica.fetched_by(SECOND, 0, 0)
    assert wanted(replica) is None
    replica.fetched_by(SECOND, 1, 0)
    assert wanted(replica) == (ME, SECOND)
    assert wanted(replica, live=(3,)) is None, "a broker that is not live cannot join"


def test_follower_that_left_must_be_heard_of_again(replica: Replica) -> None:
    replica.assign(state(), 0)
    replica.fetched_by(SECOND, 0, 0)
    replica.fetched_by(THIRD, 0, 0)
    replica.assign(state(isr=(ME, SECOND), zk_version=1), 0)
    assert wanted(replica) is None
    replica.fetched_by(THIRD, 0, 0)
    assert wanted(replica) == (ME, SECOND, THIRD)


async def test_one_change_is_under_way_at_a_time(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    replica.fetched_by(SECOND, 0, 0)
    replica.pending_isr = (ME, SECOND)
    assert wanted(replica) is None
    # The one about to join counts already: it may be elected before we hear of it.
    await write(replica, b"a")
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


async def test_follower_shows_no_more_than_it_has(replica: Replica) -> None:
    replica.assign(state(leader=SECOND), 0)
    (raw,) = produced_batches(batch(b"a"))
    content = raw.stamped(0, 5).data
    await replica.replicate(content, 5, 10)
    assert (replica.log.end_offset, replica.high_watermark) == (1, 1)
    await replica.replicate(content, 5, 10)
    assert replica.log.end_offset == 1, "what it has is not taken twice"


async def test_what_an_earlier_leader_said_is_not_taken(replica: Replica) -> None:
    replica.assign(state(leader=SECOND), 0)
    (raw,) = produced_batches(batch(b"a"))
    replica.assign(state(leader=THIRD, leader_epoch=6), 0)
    await replica.replicate(raw.stamped(0, 5).data, 5, 10)
    assert replica.log.end_offset == 0
    await replica.replicate(raw.stamped(0, 6).data, 6, 10)
    await replica.truncate_to(0, 5)
    assert replica.log.end_offset == 1
    await replica.truncate_to(0, 6)
    assert (replica.log.end_offset, replica.high_watermark) == (0, 0)


async def test_writes_keep_the_order_in_which_they_were_begun(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    writes = [replica.append(batch(b"%d" % number)) for number in range(50)]
    # A client that goes away takes nothing back.
    waiting = asyncio.ensure_future(asyncio.shield(writes[20]))
    await asyncio.sleep(0)
    waiting.cancel()
    assert [offsets[0] for offsets in await asyncio.gather(*writes)] == list(range(50))
    assert replica.high_watermark == 50


async def test_write_that_waits_while_the_leader_changes_is_refused(replica: Replica) -> None:
    replica.assign(state(isr=(ME,)), 0)
    async with replica.order:
        write = replica.append(batch(b"a"))
        await asyncio.sleep(0)
        replica.assign(state(leader=SECOND, leader_epoch=6), 0)
    with pytest.raises(RequestError, match="the leader changed after epoch 5"):
        await write
    assert replica.log.end_offset == 0


async def test_epochs_end_as_kafka_says(replica: Replica) -> None:
    replica.assign(state(isr=(ME,), leader_epoch=3), 0)
    await write(replica, b"a", b"b")
    replica.assign(state(isr=(ME,), leader_epoch=6, zk_version=1), 0)
    assert replica.epoch_end(2) == EpochEnd(2, 0), "before all records"
    assert replica.epoch_end(3) == EpochEnd(3, 2)
    assert replica.epoch_end(5) == EpochEnd(3, 2)
    assert replica.epoch_end(6) == EpochEnd(6, 2), "the leader's own, without records"
    assert replica.epoch_end(7) is None


async def test_records_of_a_later_leader_do_not_confirm_a_write(replica: Replica) -> None:
    replica.assign(state(), 0)
    append = replica.append(batch(b"mine"))
    await append
    writing = PendingWrite(0, replica, append, by_all=True)
    replica.assign(state(leader=SECOND, leader_epoch=6), 0)
    await replica.truncate_to(0, 6)
    (theirs,) = produced_batches(batch(b"theirs"))
    await replica.replicate(theirs.stamped(0, 6).data, 6, 1)
    assert replica.high_watermark == 1
    result = await writing.result(asyncio.get_running_loop().time() + 30)
    assert name_of(result.error_code) == "NOT_LEADER_OR_FOLLOWER"
