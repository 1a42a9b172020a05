"""A generated history of a Kafka cluster, as its controller would have written it.

The seed determines everything. Each record is valid at its offset: topics exist before their
partitions change, broker epochs are the offsets of registrations, leaders are in their ISR.
"""

from collections.abc import Callable, Iterator

from benchmarks.cluster_state import (
    BROKER_IDS,
    CONTROLLER_IDS,
    TOPIC_CONFIGS,
    ClusterState,
    HistoryBatch,
    Topic,
)
from records import brokers, configs, control, security
from records.base import Record
from records.partitions import PartitionChangeRecord
from records.topics import RemoveTopicRecord, TopicRecord

_FEATURES = {"metadata.version": 25, "group.version": 1, "transaction.version": 2}
_PARTITION_COUNTS = (1, 1, 3, 3, 6, 6, 12, 24, 48)

# A restart touches every partition of a broker; restarts may make this part of all records.
_RESTARTS_SHARE_MAX = 0.15


def history(records: int, seed: int) -> Iterator[HistoryBatch]:
    """Yield batches with exactly `records` records in total; the last few may be NoOps."""
    cluster = ClusterState(seed)
    count = 0
    for batch in _endless(cluster):
        if count + len(batch.records) > records:
            break
        count += len(batch.records)
        yield batch
    while count < records:
        yield from _silence(cluster)
        count += 1


def _endless(cluster: ClusterState) -> Iterator[HistoryBatch]:
    yield from _start(cluster)
    while True:
        (event,) = cluster.random.choices(_EVENTS, _WEIGHTS)
        yield from event(cluster)


def _start(cluster: ClusterState) -> Iterator[HistoryBatch]:
    yield from _new_leader(cluster)
    levels = [configs.FeatureLevelRecord(name=n, feature_level=v) for n, v in _FEATURES.items()]
    begin = control.BeginTransactionRecord(name="Bootstrap records")
    yield cluster.batch(begin, *levels, control.EndTransactionRecord())
    for broker_id in BROKER_IDS:
        yield cluster.batch(cluster.registration(broker_id))
        yield cluster.batch(cluster.registration_change(broker_id, fenced=-1))


def _new_leader(cluster: ClusterState) -> Iterator[HistoryBatch]:
    cluster.leader_epoch += cluster.random.randint(1, 2)
    leader_id = cluster.random.choice(CONTROLLER_IDS)
    voters = tuple([control.LeaderChangeVoter(voter_id=n) for n in CONTROLLER_IDS])
    yield cluster.batch(
        control.LeaderChangeMessage(
            version=0, leader_id=leader_id, voters=voters, granting_voters=voters[:2]
        )
    )
    yield cluster.batch(
        brokers.RegisterControllerRecord(
            controller_id=leader_id,
            incarnation_id=cluster.uuid(),
            zk_migration_ready=False,
            end_points=(
                brokers.ControllerEndpoint(
                    name="CONTROLLER", host=f"c-{leader_id}", port=9093, security_protocol=0
                ),
            ),
            features=(),
        )
    )


def _silence(cluster: ClusterState) -> Iterator[HistoryBatch]:
    yield cluster.batch(control.NoOpRecord())


def _topic_created(cluster: ClusterState) -> Iterator[HistoryBatch]:
    kind = cluster.random.choice(("orders", "payments", "audit", "clicks", "changelog"))
    topic = Topic(cluster.uuid(), f"team-{cluster.topics_made % 40}.{kind}.{cluster.topics_made}")
    cluster.topics_made += 1
    cluster.topics.append(topic)
    keys = cluster.random.sample(sorted(TOPIC_CONFIGS), cluster.random.randint(0, 3))
    yield cluster.batch(
        TopicRecord(name=topic.name, topic_id=topic.topic_id),
        *[cluster.topic_config(topic, key) for key in keys],
        *[cluster.new_partition(topic) for _ in range(cluster.random.choice(_PARTITION_COUNTS))],
    )


def _topic_grown(cluster: ClusterState) -> Iterator[HistoryBatch]:
    if cluster.topics:
        topic = cluster.random.choice(cluster.topics)
        added = cluster.random.randint(1, 6)
        yield cluster.batch(*[cluster.new_partition(topic) for _ in range(added)])


def _topic_deleted(cluster: ClusterState) -> Iterator[HistoryBatch]:
    if len(cluster.topics) > 10:
        index = cluster.random.randrange(len(cluster.topics))
        topic, cluster.topics[index] = cluster.topics[index], cluster.topics[-1]
        cluster.topics.pop()
        yield cluster.batch(RemoveTopicRecord(topic_id=topic.topic_id))


def _topic_configured(cluster: ClusterState) -> Iterator[HistoryBatch]:
    if cluster.topics:
        topic = cluster.random.choice(cluster.topics)
        keys = cluster.random.sample(sorted(TOPIC_CONFIGS), cluster.random.randint(1, 3))
        yield cluster.batch(*[cluster.topic_config(topic, key) for key in keys])


def _isr_changed(cluster: ClusterState) -> Iterator[HistoryBatch]:
    changes: list[Record] = []
    for partition in cluster.some_partitions():
        missing = [r for r in partition.replicas if r not in partition.isr]
        if missing:
            isr = (*partition.isr, missing[0])
        else:
            isr = tuple([r for r in partition.isr if r != partition.replicas[-1]])
        if partition.leader in isr:
            changes.append(partition.with_isr(isr))
        else:
            changes.append(partition.without(partition.leader))
    if changes:
        yield cluster.batch(*changes)


def _preferred_elected(cluster: ClusterState) -> Iterator[HistoryBatch]:
    changes = [
        partition.with_leader(partition.replicas[0])
        for partition in cluster.some_partitions()
        if partition.leader != partition.replicas[0] and partition.replicas[0] in partition.isr
    ]
    if changes:
        yield cluster.batch(*changes)


def _reassigned(cluster: ClusterState) -> Iterator[HistoryBatch]:
    """Replace the last replica of some partitions; each replacement takes two change records."""
    whole = [p for p in cluster.some_partitions() if set(p.isr) == set(p.replicas)]
    movable = [p for p in whole if p.leader != p.replicas[-1]]
    begun: list[Record] = []
    ended: list[Record] = []
    for partition in movable:
        new = cluster.random.choice([n for n in BROKER_IDS if n not in partition.replicas])
        old = partition.replicas[-1]
        target = (*partition.replicas[:-1], new)
        begun.append(
            PartitionChangeRecord(
                partition_id=partition.partition_id,
                topic_id=partition.topic_id,
                replicas=(*target, old),
                removing_replicas=(old,),
                adding_replicas=(new,),
                directories=cluster.directories_of((*target, old)),
            )
        )
        ended.append(
            PartitionChangeRecord(
                partition_id=partition.partition_id,
                topic_id=partition.topic_id,
                isr=target,
                leader=partition.leader,
                replicas=target,
                removing_replicas=(),
                adding_replicas=(),
                directories=cluster.directories_of(target),
            )
        )
        partition.replicas = partition.isr = target
    if begun:
        yield cluster.batch(*begun)
        yield cluster.batch(*ended)


def _broker_restarted(cluster: ClusterState) -> Iterator[HistoryBatch]:
    if cluster.restart_records > cluster.next_offset * _RESTARTS_SHARE_MAX:
        return
    before = cluster.next_offset
    broker_id = cluster.random.choice(BROKER_IDS)
    there = [p for t in cluster.topics for p in t.partitions if broker_id in p.isr]
    yield cluster.batch(cluster.registration_change(broker_id, in_controlled_shutdown=1))
    yield from cluster.cut(partition.without(broker_id) for partition in there)
    yield cluster.batch(cluster.registration_change(broker_id, fenced=1))
    yield cluster.batch(cluster.registration(broker_id))
    yield cluster.batch(cluster.registration_change(broker_id, fenced=-1))
    yield from cluster.cut(partition.with_again(broker_id) for partition in there)
    cluster.restart_records += cluster.next_offset - before


def _producer_ids_given(cluster: ClusterState) -> Iterator[HistoryBatch]:
    broker_id = cluster.random.choice(BROKER_IDS)
    cluster.next_producer_id += 1_000
    yield cluster.batch(
        configs.ProducerIdsRecord(
            broker_id=broker_id,
            broker_epoch=cluster.broker_epochs[broker_id],
            next_producer_id=cluster.next_producer_id,
        )
    )


def _acl_changed(cluster: ClusterState) -> Iterator[HistoryBatch]:
    if len(cluster.acl_ids) > 100:
        index = cluster.random.randrange(len(cluster.acl_ids))
        yield cluster.batch(security.RemoveAccessControlEntryRecord(id=cluster.acl_ids.pop(index)))
        return
    cluster.acl_ids.append(cluster.uuid())
    yield cluster.batch(
        security.AccessControlEntryRecord(
            id=cluster.acl_ids[-1],
            resource_type=2,
            resource_name=f"team-{cluster.random.randrange(40)}.",
            pattern_type=4,
            principal=f"User:app-{cluster.random.randrange(200)}",
            host="*",
            operation=cluster.random.choice((3, 4, 8)),
            permission_type=3,
        )
    )


def _quota_changed(cluster: ClusterState) -> Iterator[HistoryBatch]:
    user = f"app-{cluster.random.randrange(200)}"
    yield cluster.batch(
        configs.ClientQuotaRecord(
            entity=(configs.EntityData(entity_type="user", entity_name=user),),
            key="producer_byte_rate",
            value=float(cluster.random.randrange(1, 100) * 1_048_576),
            remove=cluster.random.random() < 0.1,
        )
    )


_Event = Callable[[ClusterState], Iterator[HistoryBatch]]

# By how often they happen. Idle time is cut short: a real log is mostly NoOps.
_WEIGHT_BY_EVENT: dict[_Event, float] = {
    _isr_changed: 30,
    _silence: 10,
    _topic_configured: 6,
    _topic_created: 3,
    _preferred_elected: 3,
    _reassigned: 2,
    _topic_grown: 1,
    _topic_deleted: 1,
    _producer_ids_given: 1,
    _acl_changed: 1,
    _quota_changed: 1,
    _new_leader: 0.02,
    _broker_restarted: 0.02,
}
_EVENTS = tuple(_WEIGHT_BY_EVENT)
_WEIGHTS = tuple(_WEIGHT_BY_EVENT.values())
