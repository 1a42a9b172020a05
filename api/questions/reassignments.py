"""Reassignments in progress: the record that started each, and the brokers it waits for."""

from msgspec.structs import replace

from api.questions.past import Past
from api.questions.question import Computed
from controller.descriptions.progress import (
    ListReassignments,
    MissingReplica,
    OngoingReassignment,
    reassignments_listed,
)
from records.envelope import Envelope
from replay.incidents.reassigned import ReplicasSince


def reassignments_running(past: Past, at: int, request: ListReassignments) -> Computed:
    """Return the reassignments at an offset, ordered by topic, with the history of each.

    Raises:
        CorruptLogError: the log is damaged.
    """
    image = past.image(at)
    running = reassignments_listed(past.view(image), request)
    if running:
        partitions = {(each.topic_id, each.partition_id) for each in running}
        brokers = {broker for each in running for broker in each.waited_for}
        with past.progress("reading", at + 1) as advance:
            since = past.timeline.replicas_since(partitions, brokers, at, advance)
        now = image.provenance.timestamp
        running = tuple([_with_history(each, since, now) for each in running])
    return Computed(answer=running, about=lambda: past.about_image(image, at))


def _with_history(each: OngoingReassignment, since: ReplicasSince, now: int) -> OngoingReassignment:
    row = since.partitions.get((each.topic_id, each.partition_id))
    missing = tuple([_missing(replica, since.brokers) for replica in each.missing])
    if row is None:
        return replace(each, missing=missing)
    age = max(0, now - row.timestamp)
    return replace(
        each, missing=missing, since_offset=row.offset, since_ms=row.timestamp, age_ms=age
    )


def _missing(replica: MissingReplica, brokers: dict[int, Envelope]) -> MissingReplica:
    row = brokers.get(replica.broker_id)
    if row is None:
        return replica
    return replace(replica, since_offset=row.offset, since_ms=row.timestamp)
