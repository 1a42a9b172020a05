"""Brokers' reports on the deletion of their replicas.

Source: KIP-694 (StopReplica with deletion); states as in `replica_states`.
"""

import msgspec

from controller.decisions.brokers.registrations import checked_broker
from controller.decisions.context.context import Context
from controller.decisions.partitions.replica_deletions import deletion_states, record
from controller.decisions.partitions.replica_states import (
    DELETION_INELIGIBLE,
    DELETION_STARTED,
    DELETION_SUCCESSFUL,
    NON_EXISTENT,
    walk,
)
from controller.decisions.topics.partition_removal import finish_removal
from controller.results.result import ControllerResult
from records.base import Record, Uuid


class ReplicaReport(msgspec.Struct, frozen=True, kw_only=True):
    """A replica that a broker was told to delete, and whether it is deleted."""

    topic_id: Uuid
    partition_id: int
    deleted: bool


class ReportDeletions(msgspec.Struct, frozen=True, kw_only=True):
    """A broker's report on replicas that it was told to delete."""

    broker_id: int
    broker_epoch: int
    replicas: tuple[ReplicaReport, ...]


def report_deletions(context: Context, request: ReportDeletions) -> ControllerResult[None]:
    """Record which replicas a broker deleted; remove partitions that have no replicas left.

    Reports about replicas that are not being deleted are outdated and change nothing.

    Raises:
        RequestError: STALE_BROKER_EPOCH.
    """
    checked_broker(context, request.broker_id, request.broker_epoch)
    states = deletion_states(context.image)
    records: list[Record] = []
    for replica in request.replicas:
        key = (replica.topic_id, replica.partition_id, request.broker_id)
        if states.get(key) != DELETION_STARTED:
            continue
        states[key] = _after(context, replica)
        records.append(record(key, states[key]))
    for topic_id in sorted({replica.topic_id for replica in request.replicas}):
        records.extend(finish_removal(context, topic_id, states))
    return ControllerResult(response=None, records=tuple(records), atomic=False)


def _after(context: Context, replica: ReplicaReport) -> int:
    if not replica.deleted:
        return walk(DELETION_STARTED, DELETION_INELIGIBLE)
    if context.image.partition(replica.topic_id, replica.partition_id) is None:
        # The partition was deleted with its topic, so its other replicas do not matter.
        return walk(DELETION_STARTED, DELETION_SUCCESSFUL, NON_EXISTENT)
    return walk(DELETION_STARTED, DELETION_SUCCESSFUL)
