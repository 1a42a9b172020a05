"""A small history with all that a page marks: two nights, two controllers, a topic of two lives."""

from pathlib import Path

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.brokers import BrokerRegistrationChangeRecord, FenceBrokerRecord, UnfenceBrokerRecord
from records.configs import ConfigRecord
from records.control import NoteRecord
from records.envelope import Origin
from records.topics import RemoveTopicRecord
from tests.metadata_log.conftest import StepClock
from tests.replay.builders import broker, change, partition, topic, uid

EVENING_MS = 1_768_344_600_000
"""2026-01-13T22:50:00Z."""

NIGHT_S = 4 * 3_600 + 20 * 60
"""So long there is no controller, over midnight."""

PARTITIONS = 6


async def write_stormy(directory: Path) -> None:
    """Write the log."""
    create_log(directory, "stormy")
    clock = StepClock(EVENING_MS)
    log = await MetadataLog.open(directory, clock=clock, node_id=1)
    for records in _evening():
        await _append(log, *records)
    await log.close()
    clock.time_ms += NIGHT_S * 1_000
    log = await MetadataLog.open(directory, clock=clock, node_id=2)
    for records in _morning():
        await _append(log, *records)
    alice = Origin(principal="User:alice", reason="longer tails")
    retention = ConfigRecord(
        resource_type=2, resource_name="orders", name="retention.ms", value="86400000"
    )
    await log.append(NewBatch(records=(retention,), origin=alice))
    about = log.end_offset - 1
    note = NoteRecord(at_offset=about, author="User:bob", text="asked for in the morning")
    await log.append(NewBatch(records=(note,), origin=Origin(principal="User:bob")))
    moved = change("orders-2", 0, replicas=(2, 3, 1), adding_replicas=(3,), isr=(1, 2), leader=2)
    await log.append(NewBatch(records=(moved,), origin=alice))
    await log.close()


async def _append(log: MetadataLog, *records: Record) -> None:
    await log.append(NewBatch(records=records))


def _evening() -> list[tuple[Record, ...]]:
    held = {"replicas": (1, 2), "isr": (1, 2)}
    return [
        (broker(1, fenced=False), broker(2, fenced=False)),
        (topic("orders"), partition("orders", 0, **held)),
        (RemoveTopicRecord(topic_id=uid("orders")),),
        (
            topic("orders", topic_id="orders-2"),
            *(partition("orders-2", number, **held) for number in range(PARTITIONS)),
        ),
        # Broker 2 is gone, then broker 1 shuts down: nobody is left.
        (*_changes(isr=(1,)), FenceBrokerRecord(id=2, epoch=10)),
        (
            BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=10, in_controlled_shutdown=1),
            *_changes(leader=-1),
        ),
    ]


def _morning() -> list[tuple[Record, ...]]:
    return [
        (broker(1, broker_epoch=20),),
        (UnfenceBrokerRecord(id=1, epoch=20), *_changes(leader=1)),
        (UnfenceBrokerRecord(id=2, epoch=10),),
        _changes(isr=(1, 2)),
    ]


def _changes(**fields: object) -> tuple[Record, ...]:
    return tuple(change("orders-2", number, **fields) for number in range(PARTITIONS))
