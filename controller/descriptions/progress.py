"""Progress of operations that continue after their command was answered.

A reassignment continues until its replicas are in sync; a removal until its delay has passed and
the brokers have deleted the replicas. A broker takes a while to apply the log. An election is
complete when it is answered; whether brokers have applied it shows in their applied offsets.

Source: KIP-455 (reassignments), KIP-694 (removals), KIP-4 (answers that can be verified).
"""

from collections.abc import Iterable

import msgspec

from controller.decisions.lookup import TopicRef, find_partition, find_topic, partition_exists
from controller.decisions.partitions.replica_deletions import deletion_states
from controller.decisions.partitions.replica_states import DELETION_SUCCESSFUL
from controller.decisions.request import Request
from controller.descriptions.view import View
from records.base import Uuid
from replay.image.fields import copied
from replay.image.partitions import Partition, is_moving
from replay.image.removals import PendingRemoval
from replay.incidents.reassigned import broker_state


class MissingReplica(msgspec.Struct, frozen=True, kw_only=True):
    """A replica that a reassignment waits for, because it is not in sync.

    Attributes:
        is_added: True if the reassignment adds the replica; False if the partition already had it.
        broker_state: State of the replica's broker, as returned by `broker_state`.
        since_offset, since_ms: The record that brought the broker to that state, and its append
        time, ms since 1970; None if history was not read, or does not go back as far.
    """

    broker_id: int
    is_added: bool
    broker_state: str
    since_offset: int | None = None
    since_ms: int | None = None


class OngoingReassignment(msgspec.Struct, frozen=True, kw_only=True):
    """A partition that is being reassigned.

    Attributes:
        waited_for: Replicas that stay or are added, and are not in sync.
        missing: The same replicas, with the states of their brokers.
        since_offset, since_ms: The record that set the replicas being added and removed, and its
        append time, ms since 1970; None if history was not read, or does not go back as far.
        age_ms: Duration of the reassignment up to the answer, by the append times of the log.
    """

    topic: str
    topic_id: Uuid
    partition_id: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    waited_for: tuple[int, ...]
    missing: tuple[MissingReplica, ...] = ()
    since_offset: int | None = None
    since_ms: int | None = None
    age_ms: int | None = None


class OngoingRemoval(msgspec.Struct, frozen=True, kw_only=True):
    """A partition that is being removed.

    `due_ms` is when it stops being readable, ms since 1970. `replica_states` are the states of the
    replicas whose deletion is tracked, by the names in `replica_states`; `waited_for` are the
    registered brokers that have not deleted their replica.
    """

    topic: str
    topic_id: Uuid
    partition_id: int
    mode: int
    due_ms: int
    replica_states: tuple[tuple[int, int], ...]
    waited_for: tuple[int, ...]


class AppliedOffset(msgspec.Struct, frozen=True, kw_only=True):
    """The last offset that a broker has applied; None if unknown."""

    broker_id: int
    offset: int | None


class ListReassignments(Request["tuple[OngoingReassignment, ...]"], frozen=True, kw_only=True):
    """A request for the partitions being reassigned: all, or those among the given partitions.

    Given partitions that do not exist are ignored.
    """

    partitions: tuple[tuple[TopicRef, int], ...] | None = None


class ListRemovals(Request["tuple[OngoingRemoval, ...]"], frozen=True, kw_only=True):
    """A request for the partitions being removed, of one topic or (None) of all."""

    topic: TopicRef | None = None


def reassignments_listed(view: View, request: ListReassignments) -> tuple[OngoingReassignment, ...]:
    """List the partitions being reassigned, ordered by topic."""
    named: Iterable[Partition] = view.index.moving_partitions(view.image)
    if request.partitions is not None:
        named = [
            find_partition(view.image, find_topic(view.image, ref), partition_id)
            for ref, partition_id in request.partitions
            if partition_exists(view.image, ref, partition_id)
        ]
    moving = [_reassignment(view, partition) for partition in named if is_moving(partition)]
    return tuple(sorted(moving, key=lambda m: (m.topic, m.partition_id)))


def removals_listed(view: View, request: ListRemovals) -> tuple[OngoingRemoval, ...]:
    """List the partitions that are being removed, ordered by topic.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID.
    """
    topic_id = None if request.topic is None else find_topic(view.image, request.topic).topic_id
    states: dict[tuple[Uuid, int], dict[int, int]] = {}
    for (tracked_topic, partition_id, broker_id), state in deletion_states(view.image).items():
        states.setdefault((tracked_topic, partition_id), {})[broker_id] = state
    removals = [
        _removal(view, removal, states.get((removal.topic_id, removal.partition_id), {}))
        for removal in view.image.pending_removals(topic_id)
    ]
    return tuple(sorted(removals, key=lambda r: (r.topic, r.partition_id)))


def applied_offsets(view: View) -> tuple[AppliedOffset, ...]:
    """Return the applied offset of each registered broker, from its last heartbeat."""
    applied = []
    for broker_id in sorted(broker.broker_id for broker in view.image.brokers()):
        session = None if view.sessions is None else view.sessions.get(broker_id)
        offset = None if session is None else session.metadata_offset
        applied.append(AppliedOffset(broker_id=broker_id, offset=offset))
    return tuple(applied)


def _reassignment(view: View, partition: Partition) -> OngoingReassignment:
    staying = [r for r in partition.replicas if r not in partition.removing_replicas]
    waited_for = tuple([replica for replica in staying if replica not in partition.isr])
    return copied(
        partition,
        OngoingReassignment,
        topic=_topic_name(view, partition.topic_id),
        waited_for=waited_for,
        missing=tuple(
            [
                MissingReplica(
                    broker_id=replica,
                    is_added=replica in partition.adding_replicas,
                    broker_state=broker_state(view.image.broker(replica)),
                )
                for replica in waited_for
            ]
        ),
    )


def _removal(view: View, removal: PendingRemoval, states: dict[int, int]) -> OngoingRemoval:
    partition = view.image.partition(removal.topic_id, removal.partition_id)
    assert partition is not None, f"what is to be removed exists: {removal}"
    waited_for = [
        broker_id
        for broker_id in partition.replicas
        if states.get(broker_id) != DELETION_SUCCESSFUL and view.image.broker(broker_id) is not None
    ]
    return OngoingRemoval(
        topic=_topic_name(view, removal.topic_id),
        topic_id=removal.topic_id,
        partition_id=removal.partition_id,
        mode=partition.mode,
        due_ms=removal.create_time_ms + removal.delay_ms,
        replica_states=tuple(sorted(states.items())),
        waited_for=tuple(waited_for),
    )


def _topic_name(view: View, topic_id: Uuid) -> str:
    topic = view.image.topic(topic_id)
    assert topic is not None, "a partition of the image has a topic"
    return view.image.full_name(topic)
