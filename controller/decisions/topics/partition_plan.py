"""Plans a change of partition counts: returns its effects without writing records.

A plan is a decision without records, so it can be requested wherever a decision can.

Source: KIP-694 (the warnings of its command, and a dry run).
"""

import msgspec

from controller.decisions.config_definitions.topics import CLEANUP_POLICY
from controller.decisions.configs.effective import is_true, server_config, topic_config
from controller.decisions.context.context import Context
from controller.decisions.items import decide_each
from controller.decisions.levels import METADATA_VERSION, MODE_FEATURE
from controller.decisions.lookup import TopicRef, find_topic, ref_text
from controller.decisions.outcome import Refusal
from controller.decisions.request import Request
from controller.decisions.topics.partition_removal import DELETE_PARTITIONS_ENABLED
from controller.results.result import ControllerResult
from replay.image.topics import Topic

# The proposal's condition; here modes have a feature of their own.
_METADATA_VERSION_NEEDED = 10


class PlanPartitions(Request["tuple[PartitionPlan, ...]"], frozen=True, kw_only=True):
    """A request for a plan: new partition counts of topics, and the delay of removals."""

    topics: tuple[TopicRef, ...]
    partitions: int
    delay_ms: int = 0


class LeavingPartition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition that would be removed, and its replicas."""

    partition_id: int
    leader: int
    replicas: tuple[int, ...]


class PartitionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of a plan on one topic.

    If the plan is carried out now, the `leaving` partitions can be read until `due_ms`, ms since
    1970. The plan does not check whether the controller would allow the change.
    """

    name: str
    partitions_now: int = 0
    leaving: tuple[LeavingPartition, ...] = ()
    due_ms: int | None = None
    is_compacted: bool = False
    warnings: tuple[str, ...] = ()
    refusal: Refusal | None = None


def plan_partitions(
    context: Context, request: PlanPartitions
) -> ControllerResult[tuple[PartitionPlan, ...]]:
    """Return the plan for each topic: the partitions that would be removed, when, and warnings."""
    plans = decide_each(
        request.topics,
        lambda ref: _plan(context, find_topic(context.image, ref), request),
        lambda ref, refusal: PartitionPlan(name=ref_text(ref), refusal=refusal),
    )
    return ControllerResult(response=plans)


def _plan(context: Context, topic: Topic, request: PlanPartitions) -> PartitionPlan:
    partitions = context.image.partitions(topic.topic_id)
    leaving = partitions[max(request.partitions, 0) :]
    is_compacted = "compact" in topic_config(context, topic, CLEANUP_POLICY)
    return PartitionPlan(
        name=context.image.full_name(topic),
        partitions_now=len(partitions),
        leaving=tuple(
            [
                LeavingPartition(partition_id=p.partition_id, leader=p.leader, replicas=p.replicas)
                for p in leaving
            ]
        ),
        due_ms=context.now_ms + request.delay_ms if leaving else None,
        is_compacted=is_compacted,
        warnings=_warnings(context, topic, is_shrink=bool(leaving), is_compacted=is_compacted),
    )


def _warnings(
    context: Context, topic: Topic, *, is_shrink: bool, is_compacted: bool
) -> tuple[str, ...]:
    """Return the warnings about a change of a topic's partition count.

    These are the warnings of KIP-694 that apply, and one for a shrink of a compacted topic.
    """
    found = [
        "If partitions are changed for a topic that has a key, the partition logic or ordering of "
        "the messages will be affected"
    ]
    if is_shrink and is_compacted:
        found.append(
            "The topic is compacted: the latest value of each key in a partition that goes is lost"
        )
    if is_shrink and not _is_enabled(context):
        found.append(
            "This feature is only enabled with Metadata version above "
            f"{_METADATA_VERSION_NEEDED} and {DELETE_PARTITIONS_ENABLED} turned on"
        )
    if _is_changing(context, topic):
        found.append("The topic is currently under changes")
    return tuple(found)


def _is_enabled(context: Context) -> bool:
    return (
        (context.image.feature(METADATA_VERSION) or 0) > _METADATA_VERSION_NEEDED
        and bool(context.image.feature(MODE_FEATURE))
        and is_true(server_config(context, DELETE_PARTITIONS_ENABLED, "false"))
    )


def _is_changing(context: Context, topic: Topic) -> bool:
    if next(context.image.pending_removals(topic.topic_id), None) is not None:
        return True
    return bool(context.index.moving_partition_ids(topic.topic_id))
