"""Adds partitions to topics.

Source: KIP-195 and KIP-4; docs/kafka_rules.md, section 2. Removal is in `partition_removal`.
"""

import msgspec

from controller.decisions.context.context import Context
from controller.decisions.items import decide_each
from controller.decisions.lookup import (
    TopicRef,
    find_topic,
    namespace_of,
    ref_text,
    topics_named_twice,
)
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.assignments import Assignment, Placement, checked
from controller.decisions.partitions.in_progress import check_nothing_in_progress
from controller.decisions.quotas.counted_records import CountedRecordList
from controller.decisions.request import Request
from controller.decisions.topics.topics import TopicResult
from controller.results.refusals import (
    decrease_not_allowed,
    invalid_assignment,
    invalid_partitions,
    named_twice,
)
from controller.results.result import ControllerResult
from records.partitions import PartitionRecord
from replay.image.topics import Topic


class TopicGrowth(msgspec.Struct, frozen=True, kw_only=True):
    """A topic and its new number of partitions.

    `assignments` are the replicas of each new partition; None means that the placement chooses.
    """

    topic: TopicRef
    partitions: int
    assignments: tuple[tuple[int, ...], ...] | None = None


class CreatePartitions(Request["tuple[TopicResult, ...]"], frozen=True, kw_only=True):
    """A request to add partitions; `placement` is a name, None means the controller's."""

    topics: tuple[TopicGrowth, ...]
    placement: str | None = None
    validate_only: bool = False


def create_partitions(
    context: Context, request: CreatePartitions
) -> ControllerResult[tuple[TopicResult, ...]]:
    """Add partitions; a refused topic does not stop the others.

    Raises:
        RequestError: INVALID_REQUEST, there is no placement of that name; or POLICY_VIOLATION, the
            request makes too many records.
    """
    placement = Placement(context, request.placement)
    twice = topics_named_twice(context.image, [growth.topic for growth in request.topics])
    records = CountedRecordList(context)

    def grow(growth: TopicGrowth) -> TopicResult:
        name = ref_text(growth.topic)
        topic = find_topic(context.image, growth.topic)
        if topic.topic_id in twice:
            raise named_twice(repr(name))
        new = new_partitions(context, topic, growth, placement, records)
        records.add(*new)
        return TopicResult(
            name=name,
            topic_id=topic.topic_id,
            partitions=growth.partitions,
            replication_factor=len(new[0].replicas),
        )

    def refused(growth: TopicGrowth, refusal: Refusal) -> TopicResult:
        return TopicResult(name=ref_text(growth.topic), refusal=refusal)

    results = decide_each(request.topics, grow, refused)
    return records.result(results, validate_only=request.validate_only)


def new_partitions(
    context: Context,
    topic: Topic,
    growth: TopicGrowth,
    placement: Placement,
    records: CountedRecordList,
) -> list[PartitionRecord]:
    """Return the records of a topic's new partitions.

    Args:
        placement: The request's placement; counts the new partitions as load.
        records: The request's records so far; counts the partitions, so that a request for too many
            is refused before they are placed.

    Raises:
        RequestError: INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR,
            REASSIGNMENT_IN_PROGRESS, THROTTLING_QUOTA_EXCEEDED, or POLICY_VIOLATION: a limit of the
            namespace is exceeded, or the whole request makes too many records.
    """
    partitions = context.image.partitions(topic.topic_id)
    name = context.image.full_name(topic)
    additional = growth.partitions - len(partitions)
    if additional == 0:
        raise invalid_partitions(f"{name!r} has {len(partitions)} partitions already")
    if additional < 0:
        raise decrease_not_allowed(
            f"{name!r} has {len(partitions)} partitions; {growth.partitions} is not an increase"
        )
    if not partitions:
        raise invalid_partitions(
            f"{name!r} has no partitions, so it is unknown how many replicas new ones need"
        )
    check_nothing_in_progress(context, topic)
    start = partitions[-1].partition_id + 1
    replication_factor = len(partitions[0].replicas)
    records.reserve(additional)
    if growth.assignments is None:
        assignments = placement.place(
            partitions=additional,
            replication_factor=replication_factor,
            start_partition_id=start,
        )
    elif len(growth.assignments) != additional:
        raise invalid_assignment(
            f"replicas are given for {len(growth.assignments)} partitions, but {additional} are "
            "added"
        )
    else:
        named = [Assignment(start + n, ids) for n, ids in enumerate(growth.assignments)]
        assignments = checked(context, named, replication_factor)
        placement.count(assignments)
    records.grow(namespace_of(context.image, topic), partitions=additional)
    return [placement.record(topic.topic_id, a) for a in assignments]
