"""DeleteRecords: responses, waiting for followers, authorization, restarts."""

import asyncio
from pathlib import Path

import pytest

from api.broker.authorization import Authorization
from api.kafka import apis
from api.kafka.errors import name_of
from api.kafka.messages.record_deletions import (
    HIGH_WATERMARK,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from api.kafka.messages.records_io import EARLIEST, LATEST
from controller.authorization.authorizer import Operation, topic_resource
from tests.api.broker.leader import ME, OTHER, Broker
from tests.api.guarded import Rights

REFUSED = -1


@pytest.fixture
def rights() -> Rights:
    return Rights()


@pytest.fixture
async def broker(tmp_path: Path, rights: Rights) -> Broker:
    broker = Broker(tmp_path, Authorization(rights))
    await broker.lead()
    for text in (b"zero", b"one", b"two"):
        assert await broker.produce(text) == "NONE"
    return broker


async def delete(
    broker: Broker, offset: int, partition: int = 0, *, topic: str = "a", timeout_ms: int = 0
) -> tuple[str, int]:
    """Delete records below an offset; return the error and the low watermark."""
    asked = DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(
        topics=(DeleteRecordsTopic(name=topic, partitions=(asked,)),), timeout_ms=timeout_ms
    )
    response = await broker.ask(apis.DELETE_RECORDS, request)
    assert isinstance(response, DeleteRecordsResponse)
    (result,) = response.topics[0].partitions
    return name_of(result.error_code), result.low_watermark


async def test_deleted_records_are_neither_listed_nor_read(broker: Broker) -> None:
    assert await delete(broker, 2) == ("NONE", 2)
    assert await broker.list_offset(EARLIEST) == ("NONE", 2)
    assert await broker.list_offset(LATEST) == ("NONE", 3)
    assert await broker.list_offset(1) == ("NONE", 2), "by time, too"
    assert await broker.fetch(1) == ("OFFSET_OUT_OF_RANGE", [])
    assert await broker.fetch(2) == ("NONE", [b"two"])


async def test_all_committed_records_are_deleted_by_the_special_offset(broker: Broker) -> None:
    assert await delete(broker, HIGH_WATERMARK) == ("NONE", 3)
    assert await broker.list_offset(EARLIEST) == await broker.list_offset(LATEST) == ("NONE", 3)
    assert await broker.produce(b"three") == "NONE"
    assert await broker.fetch(3) == ("NONE", [b"three"])


async def test_lower_offset_brings_nothing_back(broker: Broker) -> None:
    await delete(broker, 2)
    assert await delete(broker, 1) == ("NONE", 2)
    assert await broker.list_offset(EARLIEST) == ("NONE", 2)


async def test_deleted_records_stay_deleted_after_a_restart(broker: Broker, tmp_path: Path) -> None:
    await delete(broker, 2)
    await broker.replicas.close()
    again = Broker(tmp_path)
    await again.lead()
    assert await again.list_offset(EARLIEST) == ("NONE", 2)
    assert await again.fetch(1) == ("OFFSET_OUT_OF_RANGE", [])
    assert await again.fetch(2) == ("NONE", [b"two"])


@pytest.mark.parametrize(
    ("offset", "partition", "code"),
    [
        (4, 0, "OFFSET_OUT_OF_RANGE"),
        (-2, 0, "OFFSET_OUT_OF_RANGE"),
        (0, 2, "LEADER_NOT_AVAILABLE"),
        (0, 3, "NOT_LEADER_OR_FOLLOWER"),
        (0, 9, "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
async def test_what_cannot_be_deleted_is_refused(
    broker: Broker, offset: int, partition: int, code: str
) -> None:
    assert await delete(broker, offset, partition) == (code, REFUSED)
    assert await broker.list_offset(EARLIEST) == ("NONE", 0)


async def begun_deletion(broker: Broker) -> "asyncio.Task[tuple[str, int]]":
    """Begin a deletion below offset 2; return its task once the leader's log starts there."""
    deletion = asyncio.create_task(delete(broker, 2, timeout_ms=20_000))
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    while replica.log.start_offset < 2:
        await replica.moved()
    return deletion


async def test_deletion_waits_for_live_followers_only(broker: Broker) -> None:
    broker.live = {ME, OTHER}
    deletion = await begun_deletion(broker)
    await broker.fetch(3, replica_id=OTHER, log_start_offset=1)
    assert not deletion.done()
    await broker.fetch(3, replica_id=OTHER, log_start_offset=2)
    assert await deletion == ("NONE", 2)
    assert await delete(broker, 3) == ("REQUEST_TIMED_OUT", 2)
    broker.live = {ME}
    assert await delete(broker, 3) == ("NONE", 3)


async def test_deletion_whose_leader_changes_meanwhile_is_not_confirmed(broker: Broker) -> None:
    broker.live = {ME, OTHER}
    deletion = await begun_deletion(broker)
    await broker.lead(leader_epoch=6)
    assert await deletion == ("NOT_LEADER_OR_FOLLOWER", REFUSED)


async def test_new_leader_deletes_nothing_that_may_not_be_committed(broker: Broker) -> None:
    replica = broker.replicas.get("a", 0)
    assert replica is not None
    replica.high_watermark = 1
    replica._epoch_start = 3
    assert await delete(broker, HIGH_WATERMARK) == ("LEADER_NOT_AVAILABLE", REFUSED)
    assert await delete(broker, 2) == ("LEADER_NOT_AVAILABLE", REFUSED)
    assert await broker.list_offset(EARLIEST) == ("NONE", 0)


async def test_deletion_needs_the_right_to_delete_on_the_topic(
    broker: Broker, rights: Rights
) -> None:
    rights.but = {(Operation.DELETE, topic_resource("a"))}
    assert await delete(broker, 2) == ("TOPIC_AUTHORIZATION_FAILED", REFUSED)
    assert await delete(broker, 2, topic="nowhere") == ("UNKNOWN_TOPIC_OR_PARTITION", REFUSED)
    assert await broker.list_offset(EARLIEST) == ("NONE", 0)
