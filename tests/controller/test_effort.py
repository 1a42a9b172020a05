"""Large topics: the cost of a decision grows linearly with the number of partitions it concerns.

Each case is run for a number of partitions and for four times as many. Linear work grows by four,
quadratic work by sixteen.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.brokers.heartbeats import fence_stale_broker
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.brokers.registrations import unregister_broker
from controller.decisions.config_definitions.brokers import (
    DELETE_PARTITIONS_ENABLED,
)
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.partitions.elections import ElectLeaders, balance_leaders, elect_leaders
from controller.decisions.topics.alterations import AlterTopics, TopicAlteration, alter_topics
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.topics.partition_removal import (
    DeletePartitions,
    TopicShrink,
    advance_removals,
    cancel_delete_partitions,
    delete_partitions,
)
from controller.decisions.topics.topics import DeleteTopics, delete_topics
from controller.descriptions.progress import ListRemovals, removals_listed
from controller.descriptions.state_walk import walk_states
from controller.descriptions.view import View
from controller.raw_appends.raw_append import AppendRecords, append_records
from records.base import Uuid
from records.partitions import PartitionChangeRecord
from records.topics import NamespaceRecord, RemoveNamespaceRecord
from tests.controller.cluster import Cluster
from tests.controller.effort import lines_run

_FEW, _MANY = 60, 240
_GROWTH_MAX = 6.0
_DELAY_MS = 5_000

assert _MANY / _FEW < _GROWTH_MAX < (_MANY / _FEW) ** 2 / 2


_Prepare = Callable[[int], Cluster]
_Work = Callable[[Cluster], Callable[[], Any]]


def _cluster(partitions: int) -> Cluster:
    """One topic on three brokers."""
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    replicas = [[1, 2], [2, 3], [3, 1]]
    cluster.create("orders", *[replicas[n % 3] for n in range(partitions)])
    enabled = (ConfigChange(DELETE_PARTITIONS_ENABLED, "true"),)
    resource = ResourceChange(resource_type=BROKER, resource_name=CLUSTER_DEFAULT, changes=enabled)
    cluster.do(alter_configs, AlterConfigs(resources=(resource,)))
    return cluster


def _shrinking(partitions: int) -> Cluster:
    """A topic of which all partitions but one are being removed, and can still be read."""
    cluster = _cluster(partitions + 1)
    shrink = TopicShrink(topic="orders", partitions=1)
    cluster.do(delete_partitions, DeletePartitions(topics=(shrink,), delay_ms=_DELAY_MS))
    return cluster


def _deleting(partitions: int) -> Cluster:
    """A topic whose removed replicas the brokers have been asked to delete."""
    cluster = _shrinking(partitions)
    cluster.now_ms += _DELAY_MS
    cluster.decide(advance_removals)
    return cluster


def _silent(partitions: int) -> Cluster:
    """A cluster in which the session of broker 1 has expired."""
    cluster = _cluster(partitions)
    for _ in range(2):
        cluster.now_ms += 6_000
        cluster.heartbeat(2)
        cluster.heartbeat(3)
    return cluster


def _fenced(partitions: int) -> Cluster:
    cluster = _silent(partitions)
    assert cluster.decide(fence_stale_broker) == 1
    return cluster


def _back(partitions: int) -> Cluster:
    """A cluster in which broker 1 is in all ISRs again, but leads nothing."""
    cluster = _fenced(partitions)
    cluster.heartbeat(1)
    for leader in (2, 3):
        cluster.do(alter_partition, _all_in_sync(cluster, leader))
    return cluster


def _all_in_sync(cluster: Cluster, leader: int) -> AlterPartition:
    partitions = [p for p in cluster.image.partitions(_orders(cluster)) if p.leader == leader]
    return AlterPartition(
        broker_id=leader,
        broker_epoch=cluster.broker(leader).broker_epoch,
        partitions=tuple(
            [
                PartitionAlteration(
                    topic_id=p.topic_id,
                    partition_id=p.partition_id,
                    leader_epoch=p.leader_epoch,
                    partition_epoch=p.partition_epoch,
                    new_isr=tuple([IsrMember(broker_id) for broker_id in p.replicas]),
                )
                for p in partitions
            ]
        ),
    )


def _deleted(cluster: Cluster) -> ReportDeletions:
    return ReportDeletions(
        broker_id=2,
        broker_epoch=cluster.broker(2).broker_epoch,
        replicas=tuple(
            [
                ReplicaReport(
                    topic_id=deletion.topic_id, partition_id=deletion.partition_id, deleted=True
                )
                for deletion in cluster.image.replica_deletions()
                if deletion.broker_id == 2
            ]
        ),
    )


def _orders(cluster: Cluster) -> Uuid:
    return cluster.topic("orders").topic_id


def _moved(cluster: Cluster) -> AlterTopics:
    count = len(cluster.image.partitions(_orders(cluster)))
    assignments = tuple([Assignment(n, (3, 2, 1)) for n in range(count)])
    return AlterTopics(topics=(TopicAlteration(topic="orders", assignments=assignments),))


def _grown(cluster: Cluster) -> CreatePartitions:
    count = len(cluster.image.partitions(_orders(cluster)))
    return CreatePartitions(topics=(TopicGrowth(topic="orders", partitions=2 * count),))


def _with_namespaces(count: int) -> Cluster:
    cluster = _cluster(1)
    cluster.write([NamespaceRecord(namespace_id=_id(n), name=f"n{n}") for n in range(2 * count)])
    return cluster


def _half_of_the_namespaces(cluster: Cluster) -> AppendRecords:
    count = sum(1 for _ in cluster.image.namespaces()) // 2
    return AppendRecords(
        records=tuple([RemoveNamespaceRecord(namespace_id=_id(n)) for n in range(count)])
    )


def _id(number: int) -> Uuid:
    return Uuid((1_000_000 + number).to_bytes(16, "big"))


def _walked(cluster: Cluster) -> list[Any]:
    """Return the transitions of the last batch, as `metalog states` computes them."""
    (_, before), last = cluster.steps[-2:]
    return list(walk_states([last], before))


def _removals(cluster: Cluster) -> Any:
    context = cluster.context()
    return removals_listed(
        View(
            image=context.image,
            lazy_index=context.lazy_index,
            settings=context.settings,
            sessions=context.sessions,
        ),
        ListRemovals(),
    )


def _asked(decision: Callable[..., Any], request: Callable[[Cluster], Any]) -> _Work:
    """Return the work of a case: a decision about a request made for the cluster."""
    return lambda cluster: partial(cluster.do, decision, request(cluster))


def _on_its_own(decision: Callable[..., Any]) -> _Work:
    return lambda cluster: partial(cluster.decide, decision)


def _read(look: Callable[[Cluster], Any]) -> _Work:
    return lambda cluster: partial(look, cluster)


def _later(cluster: Cluster) -> Callable[[], Any]:
    cluster.now_ms += _DELAY_MS
    return partial(cluster.decide, advance_removals)


_SHRINK = DeletePartitions(topics=(TopicShrink(topic="orders", partitions=1),))

_CASES: dict[str, tuple[_Prepare, _Work]] = {
    "growth": (_cluster, _asked(create_partitions, _grown)),
    "move": (_cluster, _asked(alter_topics, _moved)),
    "deletion": (_cluster, _asked(delete_topics, lambda _: DeleteTopics(topics=("orders",)))),
    "shrink": (_cluster, _asked(delete_partitions, lambda _: _SHRINK)),
    "shrink called off": (_shrinking, _asked(cancel_delete_partitions, lambda _: "orders")),
    "removals not due": (_shrinking, _on_its_own(advance_removals)),
    "removals due": (_shrinking, _later),
    "removals that wait for brokers": (_deleting, _on_its_own(advance_removals)),
    "removals listed": (_deleting, _read(_removals)),
    "replicas deleted": (_deleting, _asked(report_deletions, _deleted)),
    "states walked": (_deleting, _read(_walked)),
    "broker fenced": (_silent, _on_its_own(fence_stale_broker)),
    "broker unregistered": (_cluster, _asked(unregister_broker, lambda _: 1)),
    "broker back": (_fenced, lambda cluster: partial(cluster.heartbeat, 1)),
    "ISRs": (_fenced, _asked(alter_partition, partial(_all_in_sync, leader=2))),
    "rebalance": (_back, _on_its_own(balance_leaders)),
    "rebalance of what cannot be": (_fenced, _on_its_own(balance_leaders)),
    "elections": (_back, _asked(elect_leaders, lambda _: ElectLeaders())),
    "namespaces": (_with_namespaces, _asked(append_records, _half_of_the_namespaces)),
}


@pytest.mark.parametrize("name", _CASES)
def test_effort_grows_with_the_partitions_and_not_with_their_square(name: str) -> None:
    prepare, work = _CASES[name]
    few, many = (lines_run(work(prepare(count))) for count in (_FEW, _MANY))
    assert many < _GROWTH_MAX * few, f"{few:,} lines for {_FEW}, {many:,} for {_MANY}"


def _leader_alone(cluster: Cluster) -> AlterPartition:
    request = _all_in_sync(cluster, leader=1)
    first = msgspec.structs.replace(request.partitions[0], new_isr=(IsrMember(1),))
    return msgspec.structs.replace(request, partitions=(first,))


def _preferred(cluster: Cluster) -> ElectLeaders:
    """Make the second replica of partition 0 its leader; return the request to elect the first
    one.
    """
    cluster.write([PartitionChangeRecord(topic_id=_orders(cluster), partition_id=0, leader=2)])
    return ElectLeaders(partitions=(("orders", 0),))


def _one_raw(cluster: Cluster) -> AppendRecords:
    change = PartitionChangeRecord(topic_id=_orders(cluster), partition_id=0, isr=(1,))
    return AppendRecords(records=(change,))


def _one_more(cluster: Cluster) -> CreatePartitions:
    count = len(cluster.image.partitions(_orders(cluster)))
    return CreatePartitions(topics=(TopicGrowth(topic="orders", partitions=count + 1),))


_OF_ONE: dict[str, _Work] = {
    "ISR": _asked(alter_partition, _leader_alone),
    "election": _asked(elect_leaders, _preferred),
    "raw change": _asked(append_records, _one_raw),
    "growth by one": _asked(create_partitions, _one_more),
}


@pytest.mark.parametrize("name", _OF_ONE)
def test_effort_for_one_partition_does_not_grow_with_its_topic(name: str) -> None:
    efforts = []
    for count in (_FEW, _MANY):
        cluster = _cluster(count)
        work = _OF_ONE[name](cluster)
        before = cluster.image.partitions(_orders(cluster))
        efforts.append(lines_run(work))
        assert cluster.image.partitions(_orders(cluster)) != before, "it changed the partition"
    few, many = efforts
    assert many < 1.1 * few, f"{few:,} lines for {_FEW}, {many:,} for {_MANY}"
