"""Partition events of the brokers: followers lag and catch up, replicas are deleted."""

from collections import defaultdict
from collections.abc import Iterator

from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.partitions.partition_change import RECOVERED, RECOVERING
from controller.decisions.partitions.replica_states import DELETION_STARTED
from controller.demo.events import Event, event
from controller.demo.people import broker_origin
from controller.demo.world import World
from replay.image.partitions import Partition

# Topics examined in one step; bounds the time a step takes.
_TOPICS_LOOKED_AT = 200

_PARTITIONS_IN_A_REQUEST = 20
_CATCHING_UP = 0.6
_LAGGING = 0.004
_DELETING = 0.7
_DELETING_FAILS = 0.1


def isr_changes(world: World) -> Iterator[Event]:
    """Yield AlterPartition requests for followers that lag or have caught up, one per leader."""
    serving = {broker.broker_id for broker in world.serving()}
    led = [
        partition
        for topic in world.some_topics(_TOPICS_LOOKED_AT)
        for partition in world.image.partitions(topic.topic_id)
        if partition.leader in serving
    ]
    wanted: dict[int, list[PartitionAlteration]] = defaultdict(list)
    for partition in led:
        if partition.leader_recovery_state == RECOVERING:
            wanted[partition.leader].append(_alteration(world, partition, (partition.leader,)))
        elif len(partition.isr) < len(partition.replicas):
            isr = _with_one_more(world, partition, serving)
            if isr != partition.isr:
                wanted[partition.leader].append(_alteration(world, partition, isr))
    for partition in world.rng.sample(led, round(len(led) * _LAGGING)):
        if len(partition.isr) == len(partition.replicas) > 1:
            isr = _with_one_less(world, partition)
            wanted[partition.leader].append(_alteration(world, partition, isr))
    for leader, alterations in sorted(wanted.items()):
        yield _request(world, leader, alterations[:_PARTITIONS_IN_A_REQUEST])


def deletion_reports(world: World) -> Iterator[Event]:
    """Yield the deletion reports of brokers that have replicas to delete."""
    reports: dict[int, list[ReplicaReport]] = defaultdict(list)
    started = [d for d in world.image.replica_deletions() if d.state == DELETION_STARTED]
    for deletion in sorted(started, key=lambda d: (d.topic_id, d.partition_id, d.broker_id)):
        if world.serves(deletion.broker_id) and world.rng.random() < _DELETING:
            reports[deletion.broker_id].append(
                ReplicaReport(
                    topic_id=deletion.topic_id,
                    partition_id=deletion.partition_id,
                    deleted=world.rng.random() >= _DELETING_FAILS,
                )
            )
    for broker_id, replicas in sorted(reports.items()):
        request = ReportDeletions(
            broker_id=broker_id,
            broker_epoch=_epoch(world, broker_id),
            replicas=tuple(replicas),
        )
        origin = broker_origin(broker_id, "report deletions")
        yield event("replica deletions", report_deletions, request, origin)


def _with_one_more(world: World, partition: Partition, serving: set[int]) -> tuple[int, ...]:
    """Return the ISR plus one follower that has caught up; unchanged if there is none."""
    missing = [r for r in partition.replicas if r in serving and r not in partition.isr]
    if not missing or world.rng.random() >= _CATCHING_UP:
        return partition.isr
    return tuple([r for r in partition.replicas if r in partition.isr or r == missing[0]])


def _with_one_less(world: World, partition: Partition) -> tuple[int, ...]:
    """Return the ISR minus a follower that has fallen behind."""
    behind = world.rng.choice([r for r in partition.isr if r != partition.leader])
    return tuple([r for r in partition.isr if r != behind])


def _alteration(world: World, partition: Partition, isr: tuple[int, ...]) -> PartitionAlteration:
    return PartitionAlteration(
        topic_id=partition.topic_id,
        partition_id=partition.partition_id,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=tuple([IsrMember(r, _epoch(world, r)) for r in isr]),
        leader_recovery_state=RECOVERED,
    )


def _request(world: World, leader: int, alterations: list[PartitionAlteration]) -> Event:
    request = AlterPartition(
        broker_id=leader,
        broker_epoch=_epoch(world, leader),
        partitions=tuple(alterations),
    )
    return event("ISR changes", alter_partition, request, broker_origin(leader, "alter partition"))


def _epoch(world: World, broker_id: int) -> int:
    broker = world.image.broker(broker_id)
    assert broker is not None, f"{broker_id} is a replica, so it was registered"
    return broker.broker_epoch
