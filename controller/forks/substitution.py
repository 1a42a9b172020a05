"""Substitutes epochs and ids, so that a logged request means the same in the fork.

Epochs: a broker sends the epochs that it knows. Partitions change more or less often in the fork,
so their epochs differ there. Epochs that were current when the request was decided are replaced by
the epochs that are current in the fork. An epoch that was outdated stays outdated.

Ids of new topics: if a placement uses more or fewer random numbers in the fork, a new topic gets
another id there. It is replaced by the id in the log, which later requests use.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from controller.asked.asked import BoundDecision
from controller.decisions.brokers.deletion_reports import ReportDeletions
from controller.decisions.brokers.directory_assignment import AssignReplicas
from controller.decisions.brokers.heartbeats import Heartbeat
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
)
from controller.decisions.brokers.registrations import RegisterBroker
from records.base import Record, Uuid
from records.envelope import Envelope
from records.topics import TopicRecord
from replay.image.metadata import MetadataImage

Substituted = tuple[BoundDecision[Any], Sequence[str]]


def with_epochs_of_fork(
    bound: BoundDecision[Any], past: MetadataImage, fork: MetadataImage
) -> Substituted:
    """Return a decision with the fork's epochs in its request, and a message per replaced epoch."""
    request = bound.request
    texts: list[str] = []
    if isinstance(request, Heartbeat | AlterPartition | AssignReplicas | ReportDeletions):
        epoch = _broker_epoch(request.broker_id, request.broker_epoch, past, fork)
        if epoch != request.broker_epoch:
            texts.append(_broker_text(request.broker_id, request.broker_epoch, epoch))
            request = replace(request, broker_epoch=epoch)
    if isinstance(request, RegisterBroker):
        epoch = _broker_epoch(request.broker_id, request.previous_broker_epoch, past, fork)
        if epoch != request.previous_broker_epoch:
            texts.append(_broker_text(request.broker_id, request.previous_broker_epoch, epoch))
            request = replace(request, previous_broker_epoch=epoch)
    if isinstance(request, AlterPartition):
        altered = [_altered(each, past, fork) for each in request.partitions]
        for old, new in zip(request.partitions, altered, strict=True):
            if old != new:
                texts.append(_wish_text(request.broker_id, old, new, past))
        request = replace(request, partitions=tuple(altered))
    return replace(bound, request=request), texts


def with_ids_of_log(records: Sequence[Record], rows: Sequence[Envelope]) -> tuple[Record, ...]:
    """Return the records, giving each new topic the id that its name has in the log."""
    logged = [row.payload for row in rows]
    ids = {_named(each): each.topic_id for each in logged if isinstance(each, TopicRecord)}
    known = {
        record.topic_id: ids[_named(record)]
        for record in records
        if isinstance(record, TopicRecord) and _named(record) in ids
    }
    if all(drawn == kept for drawn, kept in known.items()):
        return tuple(records)
    return tuple([_with_id(record, known) for record in records])


def _named(record: Any) -> tuple[str, Uuid | None]:
    return record.name, record.namespace_id


def _with_id(record: Any, known: Mapping[Uuid, Uuid]) -> Record:
    topic_id: Uuid | None = getattr(record, "topic_id", None)
    found = None if topic_id is None else known.get(topic_id)
    changed: Record = record if found is None else replace(record, topic_id=found)
    return changed


def _broker_epoch(broker_id: int, epoch: int, past: MetadataImage, fork: MetadataImage) -> int:
    was, now = past.broker(broker_id), fork.broker(broker_id)
    if was is None or now is None or was.broker_epoch != epoch:
        return epoch
    return now.broker_epoch


def _altered(
    wish: PartitionAlteration, past: MetadataImage, fork: MetadataImage
) -> PartitionAlteration:
    was = past.partition(wish.topic_id, wish.partition_id)
    now = fork.partition(wish.topic_id, wish.partition_id)
    if was is None or now is None:
        return wish
    members = [
        IsrMember(m.broker_id, _broker_epoch(m.broker_id, m.broker_epoch, past, fork))
        for m in wish.new_isr
    ]
    return replace(
        wish,
        new_isr=tuple(members),
        leader_epoch=_current(wish.leader_epoch, was.leader_epoch, now.leader_epoch),
        partition_epoch=_current(wish.partition_epoch, was.partition_epoch, now.partition_epoch),
    )


def _current(epoch: int, was: int, now: int) -> int:
    return now if epoch == was else epoch


def _broker_text(broker_id: int, was: int, now: int) -> str:
    return f"broker {broker_id}: broker epoch {was} -> {now}"


def _wish_text(
    broker_id: int, old: PartitionAlteration, new: PartitionAlteration, past: MetadataImage
) -> str:
    topic = past.topic(old.topic_id)
    name = "?" if topic is None else past.full_name(topic)
    isr = ",".join(str(member.broker_id) for member in old.new_isr)
    parts = [
        f"{what} {was} -> {now}"
        for what, was, now in (
            ("leader epoch", old.leader_epoch, new.leader_epoch),
            ("partition epoch", old.partition_epoch, new.partition_epoch),
        )
        if was != now
    ]
    if old.new_isr != new.new_isr:
        parts.append("broker epochs of members")
    return f"broker {broker_id} wants ISR [{isr}] of {name}/{old.partition_id}: {', '.join(parts)}"
