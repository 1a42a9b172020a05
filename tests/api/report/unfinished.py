"""A short history after which each next step is advised: a topic or broker for each condition."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.brokers import (
    BrokerEndpoint,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
)
from records.topics import RemoveTopicRecord
from tests.metadata_log.conftest import StepClock
from tests.replay.builders import broker, change, endpoint, partition, topic, uid

OUTAGES = {
    "one address for several brokers": ("partition:shared/0", "under_replicated"),
    "no controller elects": ("partition:idle/0", "leaderless"),
    "nobody in sync": ("partition:empty/0", "leaderless"),
    "start the brokers that are waited for": ("partition:waits/0", "leaderless"),
    "reassignment goes on": ("partition:moves/0", "under_replicated"),
    "up, but not in sync": ("partition:lags/0", "under_replicated"),
    "start or unregister the broker": ("broker:2", "fenced"),
    "elected uncleanly": ("partition:unclean/0", "leaderless"),
    "left under-replicated": ("partition:left/0", "leaderless"),
    "stalled": ("partition:paused/0", "leaderless"),
    "one replica": ("partition:single/0", "leaderless"),
    "one in sync before": ("partition:alone/0", "leaderless"),
    "deleted": ("partition:deleted/0", "leaderless"),
    "down repeatedly": ("broker:4", "fenced"),
}
"""The last outage of this kind of this object, by the name of the advice about it."""

_FIRST_MS = 1_768_344_600_000


async def write_unfinished(directory: Path) -> None:
    """Write the log."""
    create_log(directory, "unfinished")
    log = await MetadataLog.open(directory, clock=StepClock(_FIRST_MS), node_id=1)
    for records in _history():
        await log.append(NewBatch(records=records))
    await log.close()


def _history() -> list[tuple[Record, ...]]:
    return [
        (*(_broker(number, fenced=False) for number in (1, 2, 3, 4)), _broker(5)),
        (UnfenceBrokerRecord(id=5, epoch=10),),
        (FenceBrokerRecord(id=5, epoch=10),),
        (UnfenceBrokerRecord(id=5, epoch=10),),
        *_topic("idle"),
        *_topic("empty"),
        *_topic("waits", leader=2),
        *_topic("moves"),
        *_topic("lags"),
        *_topic("unclean"),
        *_topic("left"),
        *_topic("single", replicas=(1,), isr=(1,)),
        *_topic("alone", isr=(1,)),
        *_topic("deleted"),
        *_topic("later"),
        # Both advertise one address.
        (_broker(6, fenced=False), broker(7, fenced=False, end_points=_endpoints(6))),
        *_topic("shared", replicas=(6, 7), isr=(6, 7), leader=6),
        _set("shared", isr=(6,)),
        (_broker(8, fenced=False),),
        *_topic("paused", replicas=(8,), isr=(8,), leader=8),
        (*_lost("paused"), FenceBrokerRecord(id=8, epoch=10)),
        (UnfenceBrokerRecord(id=8, epoch=10), *_set("paused", leader=8)),
        (FenceBrokerRecord(id=2, epoch=10),),
        _lost("idle", isr=(1,)),
        _lost("empty", isr=()),
        _lost("waits", isr=(2,)),
        _set("moves", isr=(1, 2), replicas=(1, 2, 3, 4), adding_replicas=(4,)),
        _set("lags", isr=(1, 2)),
        _lost("unclean", isr=(1,)),
        _set("unclean", isr=(3,), leader=3, leader_recovery_state=1),
        _lost("left", isr=(1,)),
        _set("left", leader=1),
        _lost("single"),
        _set("single", leader=1),
        _lost("alone"),
        _set("alone", isr=(1, 2, 3), leader=1),
        _lost("deleted"),
        (RemoveTopicRecord(topic_id=uid("deleted")),),
        _lost("later"),
        _set("later", leader=1),
        (RemoveTopicRecord(topic_id=uid("later")),),
        (FenceBrokerRecord(id=4, epoch=10),),
        (UnfenceBrokerRecord(id=4, epoch=10),),
        (FenceBrokerRecord(id=4, epoch=10),),
        (UnfenceBrokerRecord(id=4, epoch=10),),
    ]


def _broker(broker_id: int, **fields: Any) -> RegisterBrokerRecord:
    return broker(broker_id, end_points=_endpoints(broker_id), **fields)


def _endpoints(host: int) -> tuple[BrokerEndpoint, ...]:
    return (replace(endpoint("PLAINTEXT"), host=f"host-{host}"),)


def _topic(name: str, **fields: Any) -> list[tuple[Record, ...]]:
    return [(topic(name), partition(name, 0, **fields))]


def _set(name: str, **fields: Any) -> tuple[Record, ...]:
    return (change(name, 0, **fields),)


def _lost(name: str, **fields: Any) -> tuple[Record, ...]:
    return _set(name, leader=-1, **fields)
