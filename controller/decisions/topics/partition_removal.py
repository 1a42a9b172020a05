"""Removal of a topic's highest partitions, in steps that survive a failover.

The partitions first become READ_ONLY. After a delay their mode becomes NONE, which takes them
offline. Then the brokers delete the replicas. Once all replicas are deleted, the partitions are
removed together, so that partition ids never have gaps. The removal can be cancelled until the mode
is NONE.

`advance_removals` depends only on the image and does the next step, so any controller may call it
at any time, any number of times.

Source: KIP-694, as records of a KRaft log.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from controller.decisions.config_definitions.brokers import (
    DELETE_PARTITIONS_ENABLED as DELETE_PARTITIONS_ENABLED,
)
from controller.decisions.configs.effective import is_true, server_config
from controller.decisions.context.context import Context
from controller.decisions.items import decide_each
from controller.decisions.levels import MODE_FEATURE
from controller.decisions.lookup import (
    TopicRef,
    find_topic,
    namespace_of,
    ref_text,
    topics_named_twice,
)
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.broker_partitions import start_change
from controller.decisions.partitions.in_progress import check_nothing_in_progress
from controller.decisions.partitions.replica_deletions import (
    ReplicaKey,
    deletion_states,
    is_done,
    next_deletions,
    orphaned_deletions,
    untracked,
)
from controller.decisions.quotas.counted_records import CountedRecordList
from controller.decisions.request import Request
from controller.results.refusals import decrease_not_allowed, invalid_partitions, named_twice
from controller.results.result import ControllerResult
from records.base import Record, Uuid
from records.errors import RequestError
from records.partitions import (
    CancelDeleteTopicPartitionsRecord,
    DeleteTopicPartitionsRecord,
    PartitionChangeRecord,
    RemovePartitionsRecord,
)
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE, Partition
from replay.image.removals import PendingRemoval
from replay.image.topics import Topic

_INT64_MAX = 2**63 - 1


class TopicShrink(msgspec.Struct, frozen=True, kw_only=True):
    """A topic and its new number of partitions."""

    topic: TopicRef
    partitions: int


class DeletePartitions(Request["tuple[ShrinkResult, ...]"], frozen=True, kw_only=True):
    """A request to remove partitions `delay_ms` from now."""

    topics: tuple[TopicShrink, ...]
    delay_ms: int = 0
    validate_only: bool = False


class CancelDeletePartitions(Request["ShrinkResult"], frozen=True):
    """A request to cancel the removal of a topic's partitions."""

    topic: TopicRef


class ShrinkResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one topic, with its partitions whose removal was started or cancelled."""

    name: str
    topic_id: Uuid | None = None
    partition_ids: tuple[int, ...] = ()
    refusal: Refusal | None = None


def delete_partitions(
    context: Context, request: DeletePartitions
) -> ControllerResult[tuple[ShrinkResult, ...]]:
    """Start the removal of partitions; a refused topic does not stop the others.

    Raises:
        RequestError: UNSUPPORTED_VERSION, INVALID_REQUEST or POLICY_VIOLATION for the whole
            request.
    """
    context.require_feature(MODE_FEATURE, "partition modes")
    check_delay(request.delay_ms)
    twice = topics_named_twice(context.image, [wanted.topic for wanted in request.topics])
    records = CountedRecordList(context)

    def shrink(wanted: TopicShrink) -> ShrinkResult:
        name = ref_text(wanted.topic)
        topic = find_topic(context.image, wanted.topic)
        if topic.topic_id in twice:
            raise named_twice(repr(name))
        leaving = check_shrink(context, topic, wanted.partitions)
        records.mutate({namespace_of(context.image, topic): len(leaving)})
        records.add(*shrink_records(context, leaving, request.delay_ms))
        return _result(name, leaving)

    def refused(wanted: TopicShrink, refusal: Refusal) -> ShrinkResult:
        return ShrinkResult(name=ref_text(wanted.topic), refusal=refusal)

    results = decide_each(request.topics, shrink, refused)
    return records.result(results, validate_only=request.validate_only)


def cancel_delete_partitions(
    context: Context, topic_ref: TopicRef
) -> ControllerResult[ShrinkResult]:
    """Cancel the removal of a topic's partitions, and make them writable again.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, or INVALID_REQUEST: no removal
            is pending, or the partitions are already offline.
    """
    topic = find_topic(context.image, topic_ref)
    name = context.image.full_name(topic)
    pending = _pending(context, topic.topic_id)
    if not pending:
        raise RequestError("INVALID_REQUEST", f"no partition of {name!r} is being removed")
    if any(partition.mode == NONE for partition in pending):
        raise RequestError(
            "INVALID_REQUEST", f"partitions of {name!r} are offline: too late to cancel removal"
        )
    ids = tuple([partition.partition_id for partition in pending])
    records: list[Record] = [
        CancelDeleteTopicPartitionsRecord(topic_id=topic.topic_id, partition_ids=ids)
    ]
    for partition in pending:
        records.extend(_set_mode(context, partition, READ_WRITE))
    return ControllerResult(response=_result(name, pending), records=tuple(records))


def advance_removals(context: Context) -> ControllerResult[int]:
    """Advance each pending removal as far as possible.

    The response is the number of partitions that were removed.
    """
    states = deletion_states(context.image)
    records: list[Record] = []
    finished = 0
    for topic_id in sorted({removal.topic_id for removal in context.image.pending_removals()}):
        due = _due(context, topic_id)
        for partition in due:
            records.extend(_set_mode(context, partition, NONE))
            records.extend(next_deletions(context, partition, states))
        removal = finish_removal(context, topic_id, states)
        finished += len(due) if removal else 0
        records.extend(removal)
    records.extend(orphaned_deletions(context, states))
    return ControllerResult(response=finished, records=tuple(records), atomic=False)


def finish_removal(
    context: Context, topic_id: Uuid, states: Mapping[ReplicaKey, int]
) -> list[Record]:
    """Return the records that remove a topic's partitions, once they have no replicas left.

    Args:
        states: State of each tracked replica after the request's earlier records.
    """
    pending = _pending(context, topic_id)
    # NONE must be committed first, so that followers of the log see each partition go offline.
    if not pending or not all(
        partition.mode == NONE and is_done(context, partition, states) for partition in pending
    ):
        return []
    # The partitions leave last: if only the first records were written, the rest is repeated.
    records: list[Record] = [r for partition in pending for r in untracked(partition, states)]
    ids = tuple([partition.partition_id for partition in pending])
    records.append(RemovePartitionsRecord(topic_id=topic_id, partition_ids=ids))
    return records


def check_delay(delay_ms: int) -> None:
    """Check the range of a delay.

    Raises:
        RequestError: INVALID_REQUEST.
    """
    if delay_ms < 0:
        raise RequestError("INVALID_REQUEST", f"the delay of {delay_ms} ms is negative")
    if delay_ms > _INT64_MAX:
        raise RequestError(
            "INVALID_REQUEST", f"the delay of {delay_ms} ms is above the limit of {_INT64_MAX} ms"
        )


def check_shrink(context: Context, topic: Topic, target: int) -> list[Partition]:
    """Return the partitions to remove so that a topic has `target` partitions.

    Raises:
        RequestError: INVALID_PARTITIONS (InvalidArgumentPartitions or
            DecreasePartitionsNotAllowed), UNSUPPORTED_VERSION or REASSIGNMENT_IN_PROGRESS.
    """
    partitions = context.image.partitions(topic.topic_id)
    name = context.image.full_name(topic)
    if not 0 < target < len(partitions):
        raise invalid_partitions(
            f"{name!r} has {len(partitions)} partitions; the new number must be from 1 to "
            f"{len(partitions) - 1}, not {target}"
        )
    if not is_true(server_config(context, DELETE_PARTITIONS_ENABLED, "false")):
        raise decrease_not_allowed(
            f"{name!r} has {len(partitions)} partitions; to allow fewer, set "
            f"{DELETE_PARTITIONS_ENABLED}=true for the cluster"
        )
    context.require_feature(MODE_FEATURE, "partition modes")
    check_nothing_in_progress(context, topic)
    return list(partitions[target:])


def shrink_records(
    context: Context, leaving: Sequence[Partition], delay_ms: int
) -> Iterator[Record]:
    """Yield the records that start the removal of partitions of one topic."""
    yield DeleteTopicPartitionsRecord(
        topic_id=leaving[0].topic_id,
        partition_ids=tuple([partition.partition_id for partition in leaving]),
        delay_ms=delay_ms,
        create_time_ms=context.now_ms,
    )
    for partition in leaving:
        if delay_ms > 0:
            yield from _set_mode(context, partition, READ_ONLY)
        else:
            yield from _set_mode(context, partition, NONE)
            yield from next_deletions(context, partition, {})


def _set_mode(context: Context, partition: Partition, mode: int) -> Iterator[PartitionChangeRecord]:
    if partition.mode == mode:
        return
    change = start_change(context, partition)
    change.mode = mode
    record = change.build()
    assert record is not None, "a new mode is a change"
    yield record


def _pending(context: Context, topic_id: Uuid) -> list[Partition]:
    """Return a topic's partitions with a pending removal."""
    return _partitions_of(context, context.image.pending_removals(topic_id))


def _due(context: Context, topic_id: Uuid) -> list[Partition]:
    """Return a topic's partitions with a pending removal whose delay has passed."""
    removals = context.image.pending_removals(topic_id)
    return _partitions_of(
        context, (r for r in removals if r.create_time_ms + r.delay_ms <= context.now_ms)
    )


def _partitions_of(context: Context, removals: Iterable[PendingRemoval]) -> list[Partition]:
    in_order = sorted(removals, key=lambda removal: removal.partition_id)
    partitions = [context.image.partition(r.topic_id, r.partition_id) for r in in_order]
    return [partition for partition in partitions if partition is not None]


def _result(name: str, partitions: list[Partition]) -> ShrinkResult:
    return ShrinkResult(
        name=name,
        topic_id=partitions[0].topic_id,
        partition_ids=tuple([partition.partition_id for partition in partitions]),
    )
