"""Leader elections, requested by clients or periodic.

Source: KIP-460 (elect leaders), KIP-966; docs/kafka_rules.md, section 5.
"""

from collections import Counter
from collections.abc import Iterable

import msgspec

from controller.decisions.configs.effective import unclean_election_enabled
from controller.decisions.context.context import Context, RecordList
from controller.decisions.items import decide_each_in_turns
from controller.decisions.lookup import (
    TopicRef,
    find_partition,
    find_topic,
    partition_named,
    ref_text,
)
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.broker_partitions import PartitionChanges, start_change
from controller.decisions.partitions.leader_election import Election
from controller.decisions.request import Request
from controller.results.result import ControllerResult
from controller.results.turns import Turns, whole
from records.base import Record
from records.errors import RequestError
from records.partitions import PartitionChangeRecord
from replay.image.partitions import NO_LEADER, NONE, Partition

REBALANCE_ELECTIONS_MAX = 1_000
"""Maximum elections per rebalance; the others follow later, so that other events can run."""


PartitionRef = tuple[TopicRef, int]
"""A topic and a partition id."""


class ElectLeaders(Request["tuple[ElectionResult, ...]"], frozen=True, kw_only=True):
    """A request to elect leaders of the given partitions; an empty list selects all partitions.

    `unclean`: allow losing records rather than having no leader. If False, the preferred replica is
    elected.
    """

    partitions: tuple[PartitionRef, ...] = ()
    unclean: bool = False
    validate_only: bool = False


class ElectionResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one partition."""

    topic: str
    partition_id: int
    refusal: Refusal | None = None


def elect_leaders(
    context: Context, request: ElectLeaders
) -> ControllerResult[tuple[ElectionResult, ...]]:
    """Elect leaders; a refused partition does not stop the others.

    In a request for all partitions, those that need no election are left out of the answer.

    Raises:
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
    """
    return whole(elect_leaders_in_turns(context, request))


def elect_leaders_in_turns(
    context: Context, request: ElectLeaders
) -> Turns[ControllerResult[tuple[ElectionResult, ...]]]:
    """Elect leaders like `elect_leaders`, in several turns of the event loop."""
    records = RecordList()
    keys = {wanted: partition_named(context.image, *wanted) for wanted in request.partitions}
    times = Counter([keys[wanted] for wanted in request.partitions])

    def elect(wanted: PartitionRef) -> ElectionResult:
        ref, partition_id = wanted
        if wanted in keys and times[keys[wanted]] > 1:
            raise _named_twice(ref, partition_id)
        topic = find_topic(context.image, ref)
        partition = find_partition(context.image, topic, partition_id)
        name = f"{context.image.full_name(topic)}/{partition_id}"
        records.add(_elect(context, partition, name, unclean=request.unclean))
        return _result(wanted)

    partitions = request.partitions or _all_partitions(context)
    results = yield from decide_each_in_turns(partitions, elect, _result)
    if not request.partitions:
        results = tuple([result for result in results if _was_needed(result)])
    return records.result(results, validate_only=request.validate_only, atomic=False)


def _result(wanted: PartitionRef, refusal: Refusal | None = None) -> ElectionResult:
    ref, partition_id = wanted
    return ElectionResult(topic=ref_text(ref), partition_id=partition_id, refusal=refusal)


def _was_needed(result: ElectionResult) -> bool:
    return result.refusal is None or result.refusal.code != "ELECTION_NOT_NEEDED"


def balance_leaders(context: Context) -> ControllerResult[bool]:
    """Elect preferred replicas as leaders, up to `REBALANCE_ELECTIONS_MAX` of them.

    The response is True if there are more partitions to rebalance.
    """
    records: list[Record] = []
    changes = PartitionChanges(context)
    for partition in context.index.imbalanced_partitions(context.image):
        if len(records) == REBALANCE_ELECTIONS_MAX:
            return ControllerResult(response=True, records=tuple(records), atomic=False)
        change = changes.start(partition)
        change.election = Election.PREFERRED
        record = change.build()
        if record is not None:
            records.append(record)
    return ControllerResult(response=False, records=tuple(records), atomic=False)


def elect_unclean_leaders(context: Context) -> ControllerResult[int]:
    """Elect leaders for leaderless partitions whose topics allow unclean elections.

    The response is the number of changed partitions.
    """
    records: list[Record] = []
    changes = PartitionChanges(context)
    for partition in context.index.leaderless_partitions(context.image):
        topic = context.image.topic(partition.topic_id)
        if topic is not None and unclean_election_enabled(context, topic):
            record = changes.start(partition).build()
            if record is not None:
                records.append(record)
    return ControllerResult(response=len(records), records=tuple(records), atomic=False)


def _elect(
    context: Context, partition: Partition, name: str, *, unclean: bool
) -> PartitionChangeRecord:
    has_wanted = (
        partition.leader != NO_LEADER if unclean else partition.leader == partition.replicas[0]
    )
    if has_wanted:
        raise RequestError(
            "ELECTION_NOT_NEEDED", f"{name}: broker {partition.leader} leads already"
        )
    change = start_change(context, partition)
    change.election = Election.UNCLEAN if unclean else Election.PREFERRED
    record = change.build()
    if record is not None:
        return record
    if unclean:
        raise RequestError("ELIGIBLE_LEADERS_NOT_AVAILABLE", f"{name}: no replica can lead")
    raise RequestError(
        "PREFERRED_LEADER_NOT_AVAILABLE",
        f"{name}: the preferred replica {partition.replicas[0]} is not in sync, or not online",
    )


def _all_partitions(context: Context) -> Iterable[PartitionRef]:
    image = context.image
    for full_name, topic in sorted((image.full_name(t), t) for t in image.topics()):
        for partition in image.partitions(topic.topic_id):
            if partition.mode != NONE:
                yield full_name, partition.partition_id


def _named_twice(ref: TopicRef, partition_id: int) -> RequestError:
    return RequestError(
        "INVALID_REQUEST",
        "InvalidArgumentPreferredReplicaElectionData: "
        f"{ref_text(ref)}/{partition_id} is named more than once",
    )
