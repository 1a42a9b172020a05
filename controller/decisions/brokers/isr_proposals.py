"""AlterPartition: a leader proposes the ISR of its partitions.

The partition epoch in the request is a compare-and-set token: a leader that has not seen the latest
change cannot overwrite it.

Source: KIP-497, KIP-704, KIP-841, KIP-903; docs/kafka_rules.md, section 6.
"""

from collections import Counter

import msgspec

from controller.decisions.brokers.registrations import checked_broker
from controller.decisions.context.context import Context
from controller.decisions.items import decide_each
from controller.decisions.lookup import find_partition, find_topic
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.broker_partitions import PartitionChanges
from controller.decisions.partitions.partition_change import LEADER_UNCHANGED, RECOVERED, RECOVERING
from controller.results.refusals import named_twice
from controller.results.result import ControllerResult
from records.base import Record, Uuid
from records.errors import RequestError
from records.text import uuid_text
from replay.image.partitions import Partition, changed

ANY_BROKER_EPOCH = -1
"""Sent by a leader that does not know a follower's broker epoch, which is then not checked."""


class IsrMember(msgspec.Struct, frozen=True):
    """A replica in the ISR, with the broker epoch under which it fetched."""

    broker_id: int
    broker_epoch: int = ANY_BROKER_EPOCH


class PartitionAlteration(msgspec.Struct, frozen=True, kw_only=True):
    """The state that a leader proposes for a partition, and the epochs it is based on."""

    topic_id: Uuid
    partition_id: int
    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[IsrMember, ...]
    leader_recovery_state: int = RECOVERED


class AlterPartition(msgspec.Struct, frozen=True, kw_only=True):
    """A broker's request to change partitions that it leads."""

    broker_id: int
    broker_epoch: int
    partitions: tuple[PartitionAlteration, ...]


class PartitionResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one partition; `partition` is its state after the request, None if refused.

    A refused partition is unchanged, except with NEW_LEADER_ELECTED: the change was made, but it
    completed a reassignment, after which the sender no longer leads.
    """

    topic_id: Uuid
    partition_id: int
    partition: Partition | None = None
    refusal: Refusal | None = None


def alter_partition(
    context: Context, request: AlterPartition
) -> ControllerResult[tuple[PartitionResult, ...]]:
    """Change the ISR of partitions; a refused partition does not stop the others.

    Raises:
        RequestError: STALE_BROKER_EPOCH.
    """
    checked_broker(context, request.broker_id, request.broker_epoch)
    times = Counter([(a.topic_id, a.partition_id) for a in request.partitions])
    records: list[Record] = []
    changes = PartitionChanges(context)

    def alter(alteration: PartitionAlteration) -> PartitionResult:
        if times[alteration.topic_id, alteration.partition_id] > 1:
            # The first change uses up the token; the second would overwrite it.
            raise named_twice(f"{uuid_text(alteration.topic_id)}/{alteration.partition_id}")
        partition = _checked(context, request.broker_id, alteration)
        change = changes.start(partition)
        change.isr = tuple([member.broker_id for member in alteration.new_isr])
        change.recovery_state = alteration.leader_recovery_state
        record = change.build()
        if record is None:
            return _result(alteration, partition=partition)
        records.append(record)
        if record.leader not in (request.broker_id, LEADER_UNCHANGED):
            # The change is written all the same; the error informs the sender that it no longer
            # leads.
            return _refused(alteration, _new_leader(record.leader))
        return _result(alteration, partition=changed(partition, record))

    results = decide_each(request.partitions, alter, _refused)
    return ControllerResult(response=results, records=tuple(records), atomic=False)


def _result(alteration: PartitionAlteration, partition: Partition) -> PartitionResult:
    return PartitionResult(
        topic_id=alteration.topic_id, partition_id=alteration.partition_id, partition=partition
    )


def _refused(alteration: PartitionAlteration, refusal: Refusal) -> PartitionResult:
    return PartitionResult(
        topic_id=alteration.topic_id, partition_id=alteration.partition_id, refusal=refusal
    )


def _checked(context: Context, broker_id: int, alteration: PartitionAlteration) -> Partition:
    """Return the partition to change, after checking the request."""
    topic = find_topic(context.image, alteration.topic_id)
    partition = find_partition(context.image, topic, alteration.partition_id)
    _check_epochs(broker_id, alteration, partition)
    _check_isr(alteration, partition)
    _check_recovery(alteration, partition)
    for member in alteration.new_isr:
        _check_member(context, member)
    return partition


def _check_epochs(broker_id: int, alteration: PartitionAlteration, partition: Partition) -> None:
    # The leader has newer metadata: this controller was replaced and has not noticed.
    if alteration.leader_epoch > partition.leader_epoch:
        raise RequestError(
            "NOT_CONTROLLER",
            f"leader epoch {alteration.leader_epoch} is above the current one, "
            f"{partition.leader_epoch}",
        )
    if alteration.partition_epoch > partition.partition_epoch:
        raise RequestError(
            "NOT_CONTROLLER",
            f"partition epoch {alteration.partition_epoch} is above the current one, "
            f"{partition.partition_epoch}",
        )
    if alteration.leader_epoch < partition.leader_epoch:
        raise RequestError(
            "FENCED_LEADER_EPOCH",
            f"leader epoch {alteration.leader_epoch} is over, the current one is "
            f"{partition.leader_epoch}",
        )
    if broker_id != partition.leader:
        raise RequestError(
            "INVALID_REQUEST",
            f"broker {broker_id} does not lead the partition; broker {partition.leader} does",
        )
    if alteration.partition_epoch < partition.partition_epoch:
        raise RequestError(
            "INVALID_UPDATE_VERSION",
            f"partition epoch {alteration.partition_epoch} is over, the current one is "
            f"{partition.partition_epoch}",
        )


def _check_isr(alteration: PartitionAlteration, partition: Partition) -> None:
    isr = [member.broker_id for member in alteration.new_isr]
    if len(set(isr)) < len(isr) or not set(isr) <= set(partition.replicas):
        raise RequestError(
            "INVALID_REQUEST",
            f"ISR {isr} is not a subset of the replicas {list(partition.replicas)}",
        )
    if partition.leader not in isr:
        raise RequestError("INVALID_REQUEST", f"ISR {isr} lacks the leader {partition.leader}")


def _check_recovery(alteration: PartitionAlteration, partition: Partition) -> None:
    state = alteration.leader_recovery_state
    if state not in (RECOVERED, RECOVERING):
        raise RequestError("INVALID_REQUEST", f"{state} is not a recovery state of a leader")
    if state == RECOVERED:
        return
    if len(alteration.new_isr) > 1:
        raise RequestError(
            "INVALID_REQUEST", "a recovering leader must be the only member of the ISR"
        )
    if partition.leader_recovery_state == RECOVERED:
        raise RequestError(
            "INVALID_REQUEST", "a leader that has recovered cannot become recovering again"
        )


def _check_member(context: Context, member: IsrMember) -> None:
    broker = context.image.broker(member.broker_id)
    if broker is None:
        reason = "is not registered"
    elif broker.in_controlled_shutdown:
        reason = "is shutting down"
    elif broker.fenced:
        reason = "is fenced"
    elif member.broker_epoch not in (ANY_BROKER_EPOCH, broker.broker_epoch):
        reason = f"has epoch {broker.broker_epoch}, not {member.broker_epoch}"
    else:
        return
    raise RequestError(
        "INELIGIBLE_REPLICA", f"broker {member.broker_id} cannot be in the ISR: it {reason}"
    )


def _new_leader(leader: int) -> Refusal:
    return Refusal(
        "NEW_LEADER_ELECTED", f"the reassignment is complete, and broker {leader} leads now"
    )
