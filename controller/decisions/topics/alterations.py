"""Alters topics by one instruction each: grow, shrink, move, replication factor, or configs.

The fields that are set determine the instruction:

    partitions                  growth, or a shrink if the number is lower
    partitions and assignments  growth, with the assignments of the new partitions
    assignments                 a move of these partitions
    replication_factor          a move of all partitions, chosen by the controller
    configs                     configs set and removed

Any other combination of fields is more than one instruction, which is refused because one
instruction might fail after another has succeeded.

Source: KIP-4 (AlterTopicRequest), KIP-694 for fewer partitions.
"""

import enum

import msgspec

from controller.decisions.configs.changes import (
    ConfigChange,
    ResourceChange,
    check_policy,
    config_records,
)
from controller.decisions.context.context import Context
from controller.decisions.items import decide_each
from controller.decisions.lookup import (
    TopicRef,
    find_partition,
    find_topic,
    namespace_of,
    ref_text,
    topics_named_twice,
)
from controller.decisions.names import named_more_than_once
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.assignments import Assignment, Placement
from controller.decisions.partitions.in_progress import check_no_removal
from controller.decisions.partitions.reassignments import move
from controller.decisions.partitions.replication_factor import change_replication_factor
from controller.decisions.quotas.counted_records import CountedRecordList
from controller.decisions.request import Request
from controller.decisions.topics.growth import TopicGrowth, new_partitions
from controller.decisions.topics.partition_removal import check_delay, check_shrink, shrink_records
from controller.results.refusals import invalid_assignment, multiple_instructions, named_twice
from controller.results.result import ControllerResult
from records.base import Record, Uuid
from records.errors import RequestError
from replay.image.configs import TOPIC
from replay.image.topics import Topic

UNSET = -1
"""Value of a number that the request does not give."""


class Instruction(enum.Enum):
    """The kind of change to make to a topic."""

    GROWTH = "growth"
    SHRINK = "shrink"
    MOVE = "reassignment"
    REPLICATION_FACTOR = "replication factor"
    CONFIGS = "configs"


class TopicAlteration(msgspec.Struct, frozen=True, kw_only=True):
    """A topic and one instruction for it."""

    topic: TopicRef
    partitions: int = UNSET
    replication_factor: int = UNSET
    assignments: tuple[Assignment, ...] = ()
    configs: tuple[ConfigChange, ...] = ()


class AlterTopics(Request["tuple[AlterationResult, ...]"], frozen=True, kw_only=True):
    """A request to alter topics.

    `delete_partitions_delay_ms` is how long removed partitions can still be read. `placement` is
    the name of the placement for new partitions; None means the controller's.
    """

    topics: tuple[TopicAlteration, ...]
    delete_partitions_delay_ms: int = 0
    placement: str | None = None
    validate_only: bool = False


class AlterationResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one topic; `instruction` is None if it was ambiguous or the topic was not found."""

    name: str
    topic_id: Uuid | None = None
    instruction: Instruction | None = None
    refusal: Refusal | None = None


def alter_topics(
    context: Context, request: AlterTopics
) -> ControllerResult[tuple[AlterationResult, ...]]:
    """Alter topics; a refused topic is not altered at all and does not stop the others.

    Raises:
        RequestError: INVALID_REQUEST, the delay or the placement is invalid; or POLICY_VIOLATION,
            the request makes too many records.
    """
    check_delay(request.delete_partitions_delay_ms)
    alteration = _Alteration(context, request)
    twice = topics_named_twice(context.image, [topic.topic for topic in request.topics])
    found: dict[TopicRef, tuple[Uuid, Instruction | None]] = {}

    def alter(item: TopicAlteration) -> AlterationResult:
        topic = find_topic(context.image, item.topic)
        found[item.topic] = topic.topic_id, None
        if topic.topic_id in twice:
            raise named_twice(repr(ref_text(item.topic)))
        instruction = _instruction(item, len(context.image.partitions(topic.topic_id)))
        found[item.topic] = topic.topic_id, instruction
        alteration.records.add(*alteration.records_of(topic, item, instruction))
        return result(item)

    def result(item: TopicAlteration, refusal: Refusal | None = None) -> AlterationResult:
        topic_id, instruction = found.get(item.topic, (None, None))
        return AlterationResult(
            name=ref_text(item.topic), topic_id=topic_id, instruction=instruction, refusal=refusal
        )

    results = decide_each(request.topics, alter, result)
    return alteration.records.result(results, validate_only=request.validate_only)


class _Alteration:
    """The records and the placement of one request."""

    def __init__(self, context: Context, request: AlterTopics) -> None:
        self._context = context
        self._delay_ms = request.delete_partitions_delay_ms
        self._placement = Placement(context, request.placement)
        self.records = CountedRecordList(context)

    def records_of(
        self, topic: Topic, item: TopicAlteration, instruction: Instruction
    ) -> list[Record]:
        """Check one instruction, and return its records."""
        context = self._context
        match instruction:
            case Instruction.GROWTH:
                return [*self._growth(topic, item)]
            case Instruction.SHRINK:
                leaving = check_shrink(context, topic, item.partitions)
                self.records.mutate({namespace_of(context.image, topic): len(leaving)})
                return list(shrink_records(context, leaving, self._delay_ms))
            case Instruction.MOVE:
                return self._moves(topic, item)
            case Instruction.REPLICATION_FACTOR:
                return [*change_replication_factor(context, topic, item.replication_factor)]
            case Instruction.CONFIGS:
                change = ResourceChange(
                    resource_type=TOPIC,
                    resource_name=context.image.full_name(topic),
                    changes=item.configs,
                )
                records = config_records(context, change)
                check_policy(context, change, records)
                return [*records]

    def _growth(self, topic: Topic, item: TopicAlteration) -> list[Record]:
        partitions = self._context.image.partitions(topic.topic_id)
        start = partitions[-1].partition_id + 1 if partitions else 0
        in_order = sorted(item.assignments, key=lambda assignment: assignment.partition_id)
        named = [assignment.partition_id for assignment in in_order]
        if named and named != list(range(start, start + len(named))):
            raise invalid_assignment(
                f"the assignments name partitions {named}; new partitions start at {start}, "
                "without gaps"
            )
        growth = TopicGrowth(
            topic=item.topic,
            partitions=item.partitions,
            assignments=tuple([a.broker_ids for a in in_order]) or None,
        )
        return [*new_partitions(self._context, topic, growth, self._placement, self.records)]

    def _moves(self, topic: Topic, item: TopicAlteration) -> list[Record]:
        twice = named_more_than_once([str(a.partition_id) for a in item.assignments])
        if twice:
            raise invalid_assignment(f"partition {min(twice)} is named more than once")
        check_no_removal(self._context.image, topic)
        records: list[Record] = []
        for assignment in item.assignments:
            partition = find_partition(self._context.image, topic, assignment.partition_id)
            records.extend(move(self._context, partition, assignment.broker_ids))
        return records


def _instruction(item: TopicAlteration, partition_count: int) -> Instruction:
    """Return the instruction of an item.

    Raises:
        RequestError: INVALID_REQUEST, the item has no instruction, or more than one
            (MultipleInstructionsForOneTopic).
    """
    partitions_set = item.partitions != UNSET
    named = {
        "partitions": partitions_set,
        "replication_factor": item.replication_factor != UNSET,
        "assignments": bool(item.assignments) and not partitions_set,
        "configs": bool(item.configs),
    }
    given = [name for name, is_given in named.items() if is_given]
    if not given:
        raise RequestError(
            "INVALID_REQUEST",
            f"the request names no change to {ref_text(item.topic)}; give partitions, "
            "replication_factor, assignments or configs",
        )
    if len(given) > 1:
        raise multiple_instructions(
            f"{ref_text(item.topic)}: {' and '.join(given)} cannot be changed in one request; "
            "send a request for each"
        )
    if not partitions_set:
        return _BY_NAME[given[0]]
    shrinks = item.partitions < partition_count
    if shrinks and item.assignments:
        raise invalid_assignment("partitions that are removed take no assignment")
    return Instruction.SHRINK if shrinks else Instruction.GROWTH


_BY_NAME = {
    "replication_factor": Instruction.REPLICATION_FACTOR,
    "assignments": Instruction.MOVE,
    "configs": Instruction.CONFIGS,
}
