"""An invented history of a Kafka cluster, as its controller would have written it.

Everything follows from the seed. Each record is valid where it stands: topics exist before their
partitions change, broker epochs are the offsets of registrations, leaders are in their ISR.
"""

import random
from collections.abc import Callable, Iterable, Iterator

import msgspec

from records import brokers, configs, control, security
from records.base import Record, Uuid
from records.partitions import PartitionChangeRecord, PartitionRecord
from records.registry import newest_version
from records.topics import RemoveTopicRecord, TopicRecord

_BATCH_RECORDS_MAX = 100
_BROKER_IDS = tuple(range(1, 13))
_CONTROLLER_IDS = (3001, 3002, 3003)
_RACKS = 3
_REPLICATION_FACTOR = 3
_PARTITION_COUNTS = (1, 1, 3, 3, 6, 6, 12, 24, 48)
_START_TIME_MS = 1_700_000_000_000

# A restart touches every partition of a broker; restarts may make this part of all records.
_RESTARTS_SHARE_MAX = 0.15

_FEATURES = {"metadata.version": 25, "group.version": 1, "transaction.version": 2}
_TOPIC_CONFIGS = {
    "cleanup.policy": ("delete", "compact"),
    "compression.type": ("producer", "zstd", "lz4"),
    "max.message.bytes": ("1048588", "10485880"),
    "min.insync.replicas": ("1", "2"),
    "retention.ms": ("3600000", "86400000", "604800000", None),
    "segment.bytes": ("104857600", "1073741824", None),
}


class HistoryBatch(msgspec.Struct, frozen=True):
    """Records appended together, all control records or none.

    `timestamp` is in ms since 1970; `versions` names the layout version of each record.
    """

    leader_epoch: int
    timestamp: int
    records: tuple[Record, ...]
    versions: tuple[int, ...]


class _Partition:
    """What the controller knows of a partition."""

    def __init__(self, topic_id: Uuid, partition_id: int, replicas: tuple[int, ...]) -> None:
        self.topic_id = topic_id
        self.partition_id = partition_id
        self.replicas = replicas
        self.isr = replicas
        self.leader = replicas[0]

    def with_isr(self, isr: tuple[int, ...]) -> PartitionChangeRecord:
        self.isr = isr
        return PartitionChangeRecord(
            partition_id=self.partition_id, topic_id=self.topic_id, isr=isr
        )

    def with_leader(self, leader: int) -> PartitionChangeRecord:
        self.leader = leader
        return PartitionChangeRecord(
            partition_id=self.partition_id, topic_id=self.topic_id, leader=leader
        )

    def without(self, broker_id: int) -> PartitionChangeRecord:
        """Take a broker out of the ISR, and out of the lead; a last member stays, leaderless."""
        rest = tuple(replica for replica in self.isr if replica != broker_id)
        if not rest:
            return self.with_leader(-1)
        if self.leader != broker_id:
            return self.with_isr(rest)
        self.isr, self.leader = rest, rest[0]
        return PartitionChangeRecord(
            partition_id=self.partition_id, topic_id=self.topic_id, isr=rest, leader=rest[0]
        )

    def with_again(self, broker_id: int) -> PartitionChangeRecord:
        """Put a broker back into the ISR, or into the lead if it is the only one in it."""
        if broker_id in self.isr:
            return self.with_leader(broker_id)
        return self.with_isr((*self.isr, broker_id))


class _Topic:
    def __init__(self, topic_id: Uuid, name: str) -> None:
        self.topic_id = topic_id
        self.name = name
        self.partitions: list[_Partition] = []


class ClusterHistory:
    """Makes the batches of a history, one event in the cluster after the other."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._next_offset = 0
        self._time_ms = _START_TIME_MS
        self._leader_epoch = 0
        self._restart_records = 0
        self._directories = {broker_id: self._uuid() for broker_id in _BROKER_IDS}
        self._broker_epochs: dict[int, int] = {}
        self._topics: list[_Topic] = []
        self._topics_made = 0
        self._acl_ids: list[Uuid] = []
        self._next_producer_id = 0

    def batches(self, record_count: int) -> Iterator[HistoryBatch]:
        """Yield batches that hold exactly this many records; the last few may be silence."""
        for batch in self._endless():
            if self._next_offset > record_count:
                self._next_offset -= len(batch.records)
                break
            yield batch
        while self._next_offset < record_count:
            yield from self._silence()

    def _endless(self) -> Iterator[HistoryBatch]:
        yield from self._start()
        while True:
            (event,) = self._random.choices(_EVENTS, _WEIGHTS)
            yield from event(self)

    # The pieces of which the events are made.

    def _batch(self, *records: Record) -> HistoryBatch:
        self._next_offset += len(records)
        self._time_ms += self._random.randrange(1, 900)
        versions = tuple([_version(record) for record in records])
        return HistoryBatch(self._leader_epoch, self._time_ms, records, versions)

    def _cut(self, records: Iterable[Record]) -> Iterator[HistoryBatch]:
        pending: list[Record] = []
        size = self._random.randint(1, _BATCH_RECORDS_MAX)
        for record in records:
            pending.append(record)
            if len(pending) == size:
                yield self._batch(*pending)
                pending = []
                size = self._random.randint(1, _BATCH_RECORDS_MAX)
        if pending:
            yield self._batch(*pending)

    def _uuid(self) -> Uuid:
        raw = bytearray(self._random.randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        return Uuid(bytes(raw))

    def _directories_of(self, replicas: tuple[int, ...]) -> tuple[Uuid, ...]:
        return tuple([self._directories[replica] for replica in replicas])

    def _some_partitions(self) -> list[_Partition]:
        if not self._topics:
            return []
        partitions = self._random.choice(self._topics).partitions
        return self._random.sample(partitions, self._random.randint(1, min(len(partitions), 10)))

    def _new_partition(self, topic: _Topic) -> PartitionRecord:
        replicas = tuple(self._random.sample(_BROKER_IDS, _REPLICATION_FACTOR))
        partition = _Partition(topic.topic_id, len(topic.partitions), replicas)
        topic.partitions.append(partition)
        return PartitionRecord(
            partition_id=partition.partition_id,
            topic_id=topic.topic_id,
            replicas=replicas,
            isr=replicas,
            removing_replicas=(),
            adding_replicas=(),
            leader=partition.leader,
            leader_epoch=0,
            partition_epoch=0,
            directories=self._directories_of(replicas),
        )

    def _topic_config(self, topic: _Topic, key: str) -> configs.ConfigRecord:
        return configs.ConfigRecord(
            resource_type=2,
            resource_name=topic.name,
            name=key,
            value=self._random.choice(_TOPIC_CONFIGS[key]),
        )

    def _registration_change(
        self, broker_id: int, *, fenced: int = 0, in_controlled_shutdown: int = 0
    ) -> brokers.BrokerRegistrationChangeRecord:
        return brokers.BrokerRegistrationChangeRecord(
            broker_id=broker_id,
            broker_epoch=self._broker_epochs[broker_id],
            fenced=fenced,
            in_controlled_shutdown=in_controlled_shutdown,
        )

    def _registration(self, broker_id: int) -> brokers.RegisterBrokerRecord:
        self._broker_epochs[broker_id] = self._next_offset
        return brokers.RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=self._uuid(),
            broker_epoch=self._next_offset,
            end_points=(
                brokers.BrokerEndpoint(
                    name="PLAINTEXT", host=f"broker-{broker_id}", port=9092, security_protocol=0
                ),
            ),
            features=(
                brokers.BrokerFeature(
                    name="metadata.version", min_supported_version=7, max_supported_version=25
                ),
            ),
            rack=f"rack-{broker_id % _RACKS}",
            log_dirs=(self._directories[broker_id],),
        )

    # The events.

    def _start(self) -> Iterator[HistoryBatch]:
        yield from self._new_leader()
        levels = [configs.FeatureLevelRecord(name=n, feature_level=v) for n, v in _FEATURES.items()]
        begin = control.BeginTransactionRecord(name="Bootstrap records")
        yield self._batch(begin, *levels, control.EndTransactionRecord())
        for broker_id in _BROKER_IDS:
            yield self._batch(self._registration(broker_id))
            yield self._batch(self._registration_change(broker_id, fenced=-1))

    def _new_leader(self) -> Iterator[HistoryBatch]:
        self._leader_epoch += self._random.randint(1, 2)
        leader_id = self._random.choice(_CONTROLLER_IDS)
        voters = tuple([control.LeaderChangeVoter(voter_id=n) for n in _CONTROLLER_IDS])
        yield self._batch(
            control.LeaderChangeMessage(
                version=0, leader_id=leader_id, voters=voters, granting_voters=voters[:2]
            )
        )
        yield self._batch(
            brokers.RegisterControllerRecord(
                controller_id=leader_id,
                incarnation_id=self._uuid(),
                zk_migration_ready=False,
                end_points=(
                    brokers.ControllerEndpoint(
                        name="CONTROLLER", host=f"c-{leader_id}", port=9093, security_protocol=0
                    ),
                ),
                features=(),
            )
        )

    def _silence(self) -> Iterator[HistoryBatch]:
        yield self._batch(control.NoOpRecord())

    def _topic_created(self) -> Iterator[HistoryBatch]:
        kind = self._random.choice(("orders", "payments", "audit", "clicks", "changelog"))
        topic = _Topic(self._uuid(), f"team-{self._topics_made % 40}.{kind}.{self._topics_made}")
        self._topics_made += 1
        self._topics.append(topic)
        keys = self._random.sample(sorted(_TOPIC_CONFIGS), self._random.randint(0, 3))
        yield self._batch(
            TopicRecord(name=topic.name, topic_id=topic.topic_id),
            *[self._topic_config(topic, key) for key in keys],
            *[self._new_partition(topic) for _ in range(self._random.choice(_PARTITION_COUNTS))],
        )

    def _topic_grown(self) -> Iterator[HistoryBatch]:
        if self._topics:
            topic = self._random.choice(self._topics)
            added = self._random.randint(1, 6)
            yield self._batch(*[self._new_partition(topic) for _ in range(added)])

    def _topic_deleted(self) -> Iterator[HistoryBatch]:
        if len(self._topics) > 10:
            index = self._random.randrange(len(self._topics))
            topic, self._topics[index] = self._topics[index], self._topics[-1]
            self._topics.pop()
            yield self._batch(RemoveTopicRecord(topic_id=topic.topic_id))

    def _topic_configured(self) -> Iterator[HistoryBatch]:
        if self._topics:
            topic = self._random.choice(self._topics)
            keys = self._random.sample(sorted(_TOPIC_CONFIGS), self._random.randint(1, 3))
            yield self._batch(*[self._topic_config(topic, key) for key in keys])

    def _isr_changed(self) -> Iterator[HistoryBatch]:
        changes: list[Record] = []
        for partition in self._some_partitions():
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
            yield self._batch(*changes)

    def _preferred_elected(self) -> Iterator[HistoryBatch]:
        changes = [
            partition.with_leader(partition.replicas[0])
            for partition in self._some_partitions()
            if partition.leader != partition.replicas[0] and partition.replicas[0] in partition.isr
        ]
        if changes:
            yield self._batch(*changes)

    def _reassigned(self) -> Iterator[HistoryBatch]:
        """Replace the last replica of some partitions, which takes two changes each."""
        whole = [p for p in self._some_partitions() if set(p.isr) == set(p.replicas)]
        movable = [p for p in whole if p.leader != p.replicas[-1]]
        begun: list[Record] = []
        ended: list[Record] = []
        for partition in movable:
            new = self._random.choice([n for n in _BROKER_IDS if n not in partition.replicas])
            old = partition.replicas[-1]
            target = (*partition.replicas[:-1], new)
            begun.append(
                PartitionChangeRecord(
                    partition_id=partition.partition_id,
                    topic_id=partition.topic_id,
                    replicas=(*target, old),
                    removing_replicas=(old,),
                    adding_replicas=(new,),
                    directories=self._directories_of((*target, old)),
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
                    directories=self._directories_of(target),
                )
            )
            partition.replicas = partition.isr = target
        if begun:
            yield self._batch(*begun)
            yield self._batch(*ended)

    def _broker_restarted(self) -> Iterator[HistoryBatch]:
        if self._restart_records > self._next_offset * _RESTARTS_SHARE_MAX:
            return
        before = self._next_offset
        broker_id = self._random.choice(_BROKER_IDS)
        there = [p for t in self._topics for p in t.partitions if broker_id in p.isr]
        yield self._batch(self._registration_change(broker_id, in_controlled_shutdown=1))
        yield from self._cut(partition.without(broker_id) for partition in there)
        yield self._batch(self._registration_change(broker_id, fenced=1))
        yield self._batch(self._registration(broker_id))
        yield self._batch(self._registration_change(broker_id, fenced=-1))
        yield from self._cut(partition.with_again(broker_id) for partition in there)
        self._restart_records += self._next_offset - before

    def _producer_ids_given(self) -> Iterator[HistoryBatch]:
        broker_id = self._random.choice(_BROKER_IDS)
        self._next_producer_id += 1_000
        yield self._batch(
            configs.ProducerIdsRecord(
                broker_id=broker_id,
                broker_epoch=self._broker_epochs[broker_id],
                next_producer_id=self._next_producer_id,
            )
        )

    def _acl_changed(self) -> Iterator[HistoryBatch]:
        if len(self._acl_ids) > 100:
            index = self._random.randrange(len(self._acl_ids))
            yield self._batch(security.RemoveAccessControlEntryRecord(id=self._acl_ids.pop(index)))
            return
        self._acl_ids.append(self._uuid())
        yield self._batch(
            security.AccessControlEntryRecord(
                id=self._acl_ids[-1],
                resource_type=2,
                resource_name=f"team-{self._random.randrange(40)}.",
                pattern_type=4,
                principal=f"User:app-{self._random.randrange(200)}",
                host="*",
                operation=self._random.choice((3, 4, 8)),
                permission_type=3,
            )
        )

    def _quota_changed(self) -> Iterator[HistoryBatch]:
        user = f"app-{self._random.randrange(200)}"
        yield self._batch(
            configs.ClientQuotaRecord(
                entity=(configs.EntityData(entity_type="user", entity_name=user),),
                key="producer_byte_rate",
                value=float(self._random.randrange(1, 100) * 1_048_576),
                remove=self._random.random() < 0.1,
            )
        )


_Event = Callable[[ClusterHistory], Iterator[HistoryBatch]]

# By how often they happen. Idle time is cut short: a real log is mostly NoOps.
_WEIGHT_BY_EVENT: dict[_Event, float] = {
    ClusterHistory._isr_changed: 30,
    ClusterHistory._silence: 10,
    ClusterHistory._topic_configured: 6,
    ClusterHistory._topic_created: 3,
    ClusterHistory._preferred_elected: 3,
    ClusterHistory._reassigned: 2,
    ClusterHistory._topic_grown: 1,
    ClusterHistory._topic_deleted: 1,
    ClusterHistory._producer_ids_given: 1,
    ClusterHistory._acl_changed: 1,
    ClusterHistory._quota_changed: 1,
    ClusterHistory._new_leader: 0.02,
    ClusterHistory._broker_restarted: 0.02,
}
_EVENTS = tuple(_WEIGHT_BY_EVENT)
_WEIGHTS = tuple(_WEIGHT_BY_EVENT.values())


def _version(record: Record) -> int:
    """Return the layout version that a controller of metadata.version 25 writes."""
    if isinstance(record, brokers.BrokerRegistrationChangeRecord):
        return 1 if record.in_controlled_shutdown else 0
    if isinstance(record, brokers.RegisterBrokerRecord):
        return 3
    if isinstance(record, control.LeaderChangeMessage):
        return record.version
    return newest_version(type(record))
