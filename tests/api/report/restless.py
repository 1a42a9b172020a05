"""A log in which a few objects, each with few fields, change again and again."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.new_partition import new_partition
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record, Uuid
from records.brokers import RegisterBrokerRecord, UnregisterBrokerRecord
from records.configs import ConfigRecord
from records.envelope import Origin
from records.partitions import PartitionChangeRecord
from records.topics import RemoveTopicRecord, TopicRecord

ROUNDS = 170
"""Of each of the two topics, one after the other, of the same name."""

_TOPIC_RESOURCE = 2


async def write_restless(directory: Path) -> None:
    """Write the log."""
    create_log(directory, "restless")
    log = await MetadataLog.open(directory)
    for records in _batches():
        await log.append(NewBatch(records=records, origin=Origin(principal="User:test")))
    await log.close()


def _batches() -> Iterator[tuple[Record, ...]]:
    yield tuple(_broker(broker_id, ROUNDS - 1) for broker_id in (1, 2, 3))
    for number in (1, 2):
        topic_id = Uuid(bytes([number]) * 16)
        yield TopicRecord(topic_id=topic_id, name="restless"), new_partition(topic_id, 0, (1, 2, 3))
        for count in range(ROUNDS):
            yield _change(topic_id, count), *_others(number, count)
        if number == 1:
            yield (RemoveTopicRecord(topic_id=topic_id),)


def _others(number: int, count: int) -> tuple[Record, Record]:
    """Return records that register and unregister the broker, and set and delete the config, in
    turn.
    """
    epoch = number * ROUNDS + count
    gone = UnregisterBrokerRecord(broker_id=3, broker_epoch=epoch - 1)
    broker = _broker(3, epoch) if count % 2 else gone
    config = ConfigRecord(
        resource_type=_TOPIC_RESOURCE,
        resource_name="restless",
        name=f"key.{count % 3}",
        value=None if count % 5 == 4 else str(count % 7),
    )
    return broker, config


def _broker(broker_id: int, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=Uuid(bytes([broker_id]) * 16),
        broker_epoch=epoch,
        end_points=(),
        features=(),
        rack=f"rack-{epoch % 3}" if epoch % 4 else None,
        fenced=False,
    )


def _change(topic_id: Uuid, count: int) -> PartitionChangeRecord:
    leader = 1 + count % 2
    return PartitionChangeRecord(
        topic_id=topic_id,
        partition_id=0,
        isr=(1, 2) if count % 3 else (leader,),
        leader=leader,
        eligible_leader_replicas=() if count % 4 else (3 - leader,),
    )
