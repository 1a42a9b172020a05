"""State of a generated cluster, and the records that its controller would write."""

import random
from collections.abc import Iterable, Iterator

import msgspec

from benchmarks.new_partition import new_partition
from records import brokers, configs, control
from records.base import Record, Uuid
from records.partitions import PartitionChangeRecord, PartitionRecord
from records.registry import newest_version

BROKER_IDS = tuple(range(1, 13))
CONTROLLER_IDS = (3001, 3002, 3003)
TOPIC_CONFIGS = {
    "cleanup.policy": ("delete", "compact"),
    "compression.type": ("producer", "zstd", "lz4"),
    "max.message.bytes": ("1048588", "10485880"),
    "min.insync.replicas": ("1", "2"),
    "retention.ms": ("3600000", "86400000", "604800000", None),
    "segment.bytes": ("104857600", "1073741824", None),
}

_BATCH_RECORDS_MAX = 100
_RACKS = 3
_REPLICATION_FACTOR = 3
_START_TIME_MS = 1_700_000_000_000


class HistoryBatch(msgspec.Struct, frozen=True):
    """Records that are appended together: either only control records or none.

    `timestamp` is in ms since 1970; `versions` has the layout version of each record.
    """

    leader_epoch: int
    timestamp: int
    records: tuple[Record, ...]
    versions: tuple[int, ...]


class Partition:
    """The controller's state of a partition."""

    def __init__(self, topic_id: Uuid, partition_id: int, replicas: tuple[int, ...]) -> None:
        self.topic_id = topic_id
        self.partition_id = partition_id
        self.replicas = replicas
        self.isr = replicas
        self.leader = replicas[0]

    def with_isr(self, isr: tuple[int, ...]) -> PartitionChangeRecord:
        """Set the ISR and return the record of the change."""
        self.isr = isr
        return PartitionChangeRecord(
            partition_id=self.partition_id, topic_id=self.topic_id, isr=isr
        )

    def with_leader(self, leader: int) -> PartitionChangeRecord:
        """Set the leader and return the record of the change."""
        self.leader = leader
        return PartitionChangeRecord(
            partition_id=self.partition_id, topic_id=self.topic_id, leader=leader
        )

    def without(self, broker_id: int) -> PartitionChangeRecord:
        """Remove a broker from the ISR and from leadership; return the record of the change.

        The last member of the ISR stays in it, and the partition has no leader then.
        """
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
        """Return a broker to the ISR; if it is in the ISR already, make it the leader."""
        if broker_id in self.isr:
            return self.with_leader(broker_id)
        return self.with_isr((*self.isr, broker_id))


class Topic:
    """The controller's state of a topic."""

    def __init__(self, topic_id: Uuid, name: str) -> None:
        self.topic_id = topic_id
        self.name = name
        self.partitions: list[Partition] = []


class ClusterState:
    """A generated cluster, the end of its log, and its random number generator."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.next_offset = 0
        self.time_ms = _START_TIME_MS
        self.leader_epoch = 0
        self.restart_records = 0
        self.directories = {broker_id: self.uuid() for broker_id in BROKER_IDS}
        self.broker_epochs: dict[int, int] = {}
        self.topics: list[Topic] = []
        self.topics_made = 0
        self.acl_ids: list[Uuid] = []
        self.next_producer_id = 0

    def batch(self, *records: Record) -> HistoryBatch:
        """Append records as one batch, at a random time after the previous batch."""
        self.next_offset += len(records)
        self.time_ms += self.random.randrange(1, 900)
        versions = tuple([_version(record) for record in records])
        return HistoryBatch(self.leader_epoch, self.time_ms, records, versions)

    def cut(self, records: Iterable[Record]) -> Iterator[HistoryBatch]:
        """Append records in batches of random sizes; each batch is made only on demand."""
        pending: list[Record] = []
        size = self.random.randint(1, _BATCH_RECORDS_MAX)
        for record in records:
            pending.append(record)
            if len(pending) == size:
                yield self.batch(*pending)
                pending = []
                size = self.random.randint(1, _BATCH_RECORDS_MAX)
        if pending:
            yield self.batch(*pending)

    def uuid(self) -> Uuid:
        """Return a new random UUID, version 4."""
        raw = bytearray(self.random.randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        return Uuid(bytes(raw))

    def directories_of(self, replicas: tuple[int, ...]) -> tuple[Uuid, ...]:
        """Return the log directory of each replica."""
        return tuple([self.directories[replica] for replica in replicas])

    def some_partitions(self) -> list[Partition]:
        """Return a few partitions of one topic; none when there is no topic."""
        if not self.topics:
            return []
        partitions = self.random.choice(self.topics).partitions
        return self.random.sample(partitions, self.random.randint(1, min(len(partitions), 10)))

    def new_partition(self, topic: Topic) -> PartitionRecord:
        """Add a partition to a topic and return its record."""
        replicas = tuple(self.random.sample(BROKER_IDS, _REPLICATION_FACTOR))
        partition = Partition(topic.topic_id, len(topic.partitions), replicas)
        topic.partitions.append(partition)
        directories = self.directories_of(replicas)
        return new_partition(topic.topic_id, partition.partition_id, replicas, directories)

    def topic_config(self, topic: Topic, key: str) -> configs.ConfigRecord:
        """Return a record that sets a topic's config to a random value, or deletes it."""
        return configs.ConfigRecord(
            resource_type=2,
            resource_name=topic.name,
            name=key,
            value=self.random.choice(TOPIC_CONFIGS[key]),
        )

    def registration_change(
        self, broker_id: int, *, fenced: int = 0, in_controlled_shutdown: int = 0
    ) -> brokers.BrokerRegistrationChangeRecord:
        """Return the record that changes a broker's registration."""
        return brokers.BrokerRegistrationChangeRecord(
            broker_id=broker_id,
            broker_epoch=self.broker_epochs[broker_id],
            fenced=fenced,
            in_controlled_shutdown=in_controlled_shutdown,
        )

    def registration(self, broker_id: int) -> brokers.RegisterBrokerRecord:
        """Register a broker in the next batch; the batch's offset is the broker epoch."""
        self.broker_epochs[broker_id] = self.next_offset
        return brokers.RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=self.uuid(),
            broker_epoch=self.next_offset,
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
            log_dirs=(self.directories[broker_id],),
        )


def _version(record: Record) -> int:
    """Return the layout version that a controller of metadata.version 25 writes."""
    if isinstance(record, brokers.BrokerRegistrationChangeRecord):
        return 1 if record.in_controlled_shutdown else 0
    if isinstance(record, brokers.RegisterBrokerRecord):
        return 3
    if isinstance(record, control.LeaderChangeMessage):
        return record.version
    return newest_version(type(record))
