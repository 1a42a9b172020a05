"""Reassignments: move partitions to other brokers while they keep serving.

The replicas of a partition being moved are the target replicas, followed by the replicas to be
removed. Once all target replicas are in the ISR, the others are removed (in `partition_change`,
because any change may complete the move). A new target replaces the previous one; a target of None
cancels the move.

The lists of replicas to add and to remove are computed from the current replicas. So a replica
added for an earlier target is kept if the new move is cancelled.

Source: KIP-455; docs/kafka_rules.md, section 7.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from controller.decisions.configs.effective import unclean_election_enabled
from controller.decisions.context.context import Context, RecordList
from controller.decisions.items import decide_each_in_turns
from controller.decisions.levels import LEADER_RECOVERY_LEVEL
from controller.decisions.lookup import (
    TopicRef,
    find_partition,
    find_topic,
    partition_named,
    ref_text,
)
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.assignments import check_replicas
from controller.decisions.partitions.broker_partitions import start_change
from controller.decisions.partitions.in_progress import check_no_removal
from controller.decisions.partitions.leader_election import Election
from controller.decisions.partitions.partition_change import RECOVERING
from controller.decisions.request import Request
from controller.results.refusals import (
    invalid_assignment,
    invalid_replication_factor,
    named_twice,
    no_reassignment_in_progress,
)
from controller.results.result import ControllerResult
from controller.results.turns import Turns, whole
from records.partitions import PartitionChangeRecord
from replay.image.partitions import Partition, is_moving, settled_replicas
from replay.image.topics import Topic


class PartitionTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A partition and its target replicas, the preferred leader first.

    `broker_ids` None cancels the current move.
    """

    topic: TopicRef
    partition_id: int
    broker_ids: tuple[int, ...] | None


class AlterReassignments(Request["tuple[ReassignmentResult, ...]"], frozen=True, kw_only=True):
    """A request to move partitions; `allow_rf_change` allows changing the number of replicas."""

    partitions: tuple[PartitionTarget, ...]
    allow_rf_change: bool = True
    validate_only: bool = False


class ReassignmentResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one partition. Without a refusal, it is being moved or already at its target."""

    topic: str
    partition_id: int
    refusal: Refusal | None = None


def alter_reassignments(
    context: Context, request: AlterReassignments
) -> ControllerResult[tuple[ReassignmentResult, ...]]:
    """Start, replace or cancel moves; a refused partition does not stop the others.

    Raises:
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
    """
    return whole(alter_reassignments_in_turns(context, request))


def alter_reassignments_in_turns(
    context: Context, request: AlterReassignments
) -> Turns[ControllerResult[tuple[ReassignmentResult, ...]]]:
    """Move partitions like `alter_reassignments`, in several turns of the event loop."""
    image = context.image
    times = Counter([partition_named(image, t.topic, t.partition_id) for t in request.partitions])
    records = RecordList()

    def alter(target: PartitionTarget) -> ReassignmentResult:
        if times[partition_named(image, target.topic, target.partition_id)] > 1:
            raise named_twice(f"{ref_text(target.topic)}/{target.partition_id}")
        records.add(*_altered(context, target, request.allow_rf_change))
        return _result(target)

    results = yield from decide_each_in_turns(request.partitions, alter, _result)
    return records.result(results, validate_only=request.validate_only)


def _result(target: PartitionTarget, refusal: Refusal | None = None) -> ReassignmentResult:
    return ReassignmentResult(
        topic=ref_text(target.topic), partition_id=target.partition_id, refusal=refusal
    )


def move(
    context: Context, partition: Partition, target: Sequence[int]
) -> list[PartitionChangeRecord]:
    """Return the record that moves a partition; an empty list if it is already at its target.

    Raises:
        RequestError: INVALID_REPLICA_ASSIGNMENT.
    """
    check_replicas(context, target)
    current = partition.replicas
    removing = tuple(sorted(set(current) - set(target)))
    change = start_change(context, partition)
    change.replicas = (*target, *removing)
    change.removing = removing
    change.adding = tuple(sorted(set(target) - set(current)))
    record = change.build()
    return [] if record is None else [record]


def call_off(context: Context, topic: Topic, partition: Partition) -> list[PartitionChangeRecord]:
    """Return the record that cancels a move: the added replicas are removed, the others stay.

    Raises:
        RequestError: NO_REASSIGNMENT_IN_PROGRESS, or INVALID_REPLICA_ASSIGNMENT: none of the other
            replicas is in sync, and the topic does not allow losing records.
    """
    name = f"{context.image.full_name(topic)}/{partition.partition_id}"
    if not is_moving(partition):
        raise no_reassignment_in_progress(f"{name} is not being reassigned")
    joining = set(partition.adding_replicas)
    replicas = tuple([r for r in partition.replicas if r not in joining])
    isr = tuple([r for r in partition.isr if r not in joining])
    change = start_change(context, partition)
    if not replicas:
        raise invalid_assignment(f"{name} would be left without a replica")
    if not isr:
        if not unclean_election_enabled(context, topic):
            raise invalid_assignment(
                f"no replica of {name} that would be left is in sync; cancelling the move needs "
                "an unclean election, which the topic's configs do not allow"
            )
        # The next leader lacks records, whether it is elected now or returns later.
        isr = replicas[:1]
        change.election = Election.UNCLEAN
        if context.metadata_version >= LEADER_RECOVERY_LEVEL:
            change.recovery_state = RECOVERING
    change.isr = isr
    change.replicas = replicas
    change.removing = change.adding = ()
    record = change.build()
    assert record is not None, "a move that ends is a change"
    return [record]


def _altered(
    context: Context, target: PartitionTarget, allow_rf_change: bool
) -> list[PartitionChangeRecord]:
    topic = find_topic(context.image, target.topic)
    partition = find_partition(context.image, topic, target.partition_id)
    if target.broker_ids is None:
        return call_off(context, topic, partition)
    check_no_removal(context.image, topic)
    has = len(settled_replicas(partition))
    if not allow_rf_change and len(target.broker_ids) != has:
        raise invalid_replication_factor(
            f"{ref_text(target.topic)}/{target.partition_id} has {has} replicas, "
            f"{len(target.broker_ids)} are given, and the request does not allow their number to "
            "change"
        )
    return move(context, partition, target.broker_ids)
