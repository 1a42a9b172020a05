"""AssignReplicasToDirs: a broker reports in which of its log directories its replicas are.

Source: KIP-858; docs/kafka_rules.md, section 8.
"""

from collections import Counter

import msgspec

from controller.decisions.brokers.registrations import checked_broker
from controller.decisions.context.context import Context
from controller.decisions.items import decide_each
from controller.decisions.levels import DIRECTORIES_LEVEL
from controller.decisions.lookup import find_partition, find_topic
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.broker_partitions import start_change
from controller.decisions.partitions.directories import is_online
from controller.results.refusals import named_twice
from controller.results.result import ControllerResult
from records.base import Record, Uuid
from records.errors import RequestError
from records.partitions import PartitionChangeRecord
from records.text import uuid_text
from replay.image.cluster import Broker
from replay.image.partitions import Partition


class ReplicaDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """The log directory of the broker's replica of a partition."""

    topic_id: Uuid
    partition_id: int
    directory: Uuid


class AssignReplicas(msgspec.Struct, frozen=True, kw_only=True):
    """A broker's report of the log directories of some of its replicas."""

    broker_id: int
    broker_epoch: int
    replicas: tuple[ReplicaDirectory, ...]


class AssignedReplica(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one replica: its directory is recorded, unless there is a refusal."""

    topic_id: Uuid
    partition_id: int
    directory: Uuid
    refusal: Refusal | None = None


def assign_replicas(
    context: Context, request: AssignReplicas
) -> ControllerResult[tuple[AssignedReplica, ...]]:
    """Record the directories of replicas; a refused replica does not stop the others.

    A broker with a replica in a directory that is not online leaves the partition's ISR, and leads
    it no longer.

    Raises:
        RequestError: STALE_BROKER_EPOCH; or UNSUPPORTED_VERSION, metadata.version has no
            directories.
    """
    context.require_level(DIRECTORIES_LEVEL, "log directories")
    broker = checked_broker(context, request.broker_id, request.broker_epoch)
    times = Counter([(each.topic_id, each.partition_id) for each in request.replicas])
    records: list[Record] = []

    def assign(wanted: ReplicaDirectory) -> AssignedReplica:
        if times[wanted.topic_id, wanted.partition_id] > 1:
            raise named_twice(f"{uuid_text(wanted.topic_id)}/{wanted.partition_id}")
        partition = _checked(context, broker.broker_id, wanted)
        record = _change(context, broker, partition, wanted.directory)
        if record is not None:
            records.append(record)
        return _result(wanted)

    results = decide_each(request.replicas, assign, _result)
    return ControllerResult(response=results, records=tuple(records), atomic=False)


def _result(wanted: ReplicaDirectory, refusal: Refusal | None = None) -> AssignedReplica:
    return AssignedReplica(
        topic_id=wanted.topic_id,
        partition_id=wanted.partition_id,
        directory=wanted.directory,
        refusal=refusal,
    )


def _checked(context: Context, broker_id: int, wanted: ReplicaDirectory) -> Partition:
    """Return the partition, after checking that the broker has a replica of it."""
    topic = find_topic(context.image, wanted.topic_id)
    partition = find_partition(context.image, topic, wanted.partition_id)
    if broker_id not in partition.replicas:
        raise RequestError(
            "NOT_LEADER_OR_FOLLOWER",
            f"broker {broker_id} is not one of the replicas {list(partition.replicas)}",
        )
    return partition


def _change(
    context: Context, broker: Broker, partition: Partition, directory: Uuid
) -> PartitionChangeRecord | None:
    change = start_change(context, partition, assigned={broker.broker_id: directory})
    if not is_online(broker, directory):
        change.isr = tuple([member for member in partition.isr if member != broker.broker_id])
    return change.build()
