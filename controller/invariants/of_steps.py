"""Invariants between two consecutive images, for the objects that the step affected."""

from collections.abc import Collection, Iterator, Sequence

import msgspec

from controller.decisions.partitions.replica_deletions import deletion_states
from controller.decisions.partitions.replica_states import NON_EXISTENT, check_deletion
from controller.descriptions.affected import Affected
from records.errors import RequestError
from records.text import uuid_text
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.partition_list import find
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE, Partition

Findings = Iterator[str]


class Step(msgspec.Struct, frozen=True):
    """Two consecutive images, and the objects affected by the records between them.

    Attributes:
        broker_ids: Affected brokers.
        changed: Pairs (before, after) of affected partitions that are in both images and differ.
        gone: Affected partitions that are no longer in the second image, although their topic is.
    """

    before: MetadataImage
    after: MetadataImage
    broker_ids: Collection[int]
    changed: Sequence[tuple[Partition, Partition]]
    gone: Sequence[Partition]

    @classmethod
    def of(cls, before: MetadataImage, after: MetadataImage, affected: Affected) -> "Step":
        """Return the step, looking up the affected partitions once for all checks."""
        changed, gone = [], []
        for topic_id in sorted(affected.topic_ids):
            if before.topic(topic_id) is None or after.topic(topic_id) is None:
                continue
            now = after.partitions(topic_id)
            for old in affected.partitions(before, topic_id):
                new = find(now, old.partition_id)
                if new is None:
                    gone.append(old)
                elif new is not old:
                    changed.append((old, new))
        return cls(before, after, affected.broker_ids, changed, gone)

    @classmethod
    def by(cls, delta: MetadataDelta, broker_ids: Collection[int], after: MetadataImage) -> "Step":
        """Return the step that a delta makes from its image to `after`, its result.

        Args:
            broker_ids: The brokers that the delta has changed.
        """
        topics, changed, gone = delta.topics, [], []
        for topic_id in sorted(topics.changed):
            if topics.topic_before(topic_id) is None or topics.topic(topic_id) is None:
                continue
            after_of = topics.changed_partitions(topic_id)
            for partition_id, old in sorted(topics.partitions_before(topic_id).items()):
                new = after_of.get(partition_id)
                if old is None:
                    continue
                if new is None:
                    gone.append(old)
                else:
                    changed.append((old, new))
        return cls(delta.image, after, broker_ids, changed, gone)


def epochs_never_go_back(step: Step) -> Findings:
    """S1: a changed partition has a higher partition epoch, and no lower leader epoch."""
    for old, new in step.changed:
        if new.partition_epoch > old.partition_epoch and new.leader_epoch >= old.leader_epoch:
            continue
        if _without_elr(old) != _without_elr(new):
            yield (
                f"{_who(new)}: partition epoch {old.partition_epoch} to {new.partition_epoch}, "
                f"leader epoch {old.leader_epoch} to {new.leader_epoch}"
            )


def new_leaders_have_new_epochs(step: Step) -> Findings:
    """S2: a change of leader, or the loss of a replica, increases the leader epoch."""
    for old, new in step.changed:
        if old.leader == new.leader and old.replicas == new.replicas:
            continue
        lost = not set(old.replicas) <= set(new.replicas)
        if (old.leader != new.leader or lost) and new.leader_epoch <= old.leader_epoch:
            yield (
                f"{_who(new)}: leader {old.leader} to {new.leader}, replicas "
                f"{list(old.replicas)} to {list(new.replicas)}, in leader epoch {new.leader_epoch}"
            )


def modes_only_go_forward(step: Step) -> Findings:
    """S3: a partition's mode goes from READ_WRITE to READ_ONLY to NONE; only then is it removed.

    The only way back is from READ_ONLY to READ_WRITE, when a removal is cancelled.
    """
    order = (READ_WRITE, READ_ONLY, NONE)
    for old, new in step.changed:
        if old.mode == new.mode or old.mode not in order or new.mode not in order:
            continue  # an invalid mode is found in the image
        called_off = old.mode == READ_ONLY and new.mode == READ_WRITE
        if order.index(new.mode) < order.index(old.mode) and not called_off:
            yield f"{_who(new)}: mode {old.mode} to {new.mode}"
    for old in step.gone:
        if old.mode != NONE:
            yield f"{_who(old)}: left with mode {old.mode}"


def deletions_take_legal_steps(step: Step) -> Findings:
    """S4: replica deletions change state only as their state machine allows."""
    old, new = deletion_states(step.before), deletion_states(step.after)
    if old == new:
        return
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key, NON_EXISTENT)
        if before == new.get(key):
            continue
        topic_id, partition_id, broker_id = key
        registered = step.after.broker(broker_id) is not None
        try:
            check_deletion(before, after, registered=registered)
        except RequestError as error:
            who = f"replica {broker_id} of partition {partition_id} of {uuid_text(topic_id)}"
            yield f"{who}: {error}"


def broker_epochs_never_go_back(step: Step) -> Findings:
    """S5: a broker that registers again gets a higher epoch."""
    for broker_id in sorted(step.broker_ids):
        old, new = step.before.broker(broker_id), step.after.broker(broker_id)
        if old is None or new is None:
            continue
        same = old.incarnation_id == new.incarnation_id
        if new.broker_epoch < old.broker_epoch or (
            not same and new.broker_epoch == old.broker_epoch
        ):
            yield f"broker {broker_id}: epoch {old.broker_epoch} to {new.broker_epoch}"


def log_goes_forward(step: Step) -> Findings:
    """S6: offsets grow, and the log's leader epoch never decreases."""
    old, new = step.before.provenance, step.after.provenance
    if new.next_offset <= old.next_offset or new.leader_epoch < old.leader_epoch:
        yield (
            f"offset {old.next_offset} to {new.next_offset}, "
            f"leader epoch {old.leader_epoch} to {new.leader_epoch}"
        )


def producer_ids_grow(step: Step) -> Findings:
    """S7: no block of producer ids is allocated twice."""
    old, new = step.before.producer_ids, step.after.producer_ids
    if old is None or new is None or old == new:
        return
    if new.next_producer_id <= old.next_producer_id:
        yield f"next producer id {old.next_producer_id} to {new.next_producer_id}"


def _without_elr(partition: Partition) -> Partition:
    """Return a partition without its ELR, for comparison: clearing the ELR bumps no epoch."""
    return msgspec.structs.replace(partition, eligible_leader_replicas=(), last_known_elr=())


def _who(partition: Partition) -> str:
    return f"partition {partition.partition_id} of {uuid_text(partition.topic_id)}"


OF_STEPS = (
    epochs_never_go_back,
    new_leaders_have_new_epochs,
    modes_only_go_forward,
    deletions_take_legal_steps,
    broker_epochs_never_go_back,
    log_goes_forward,
    producer_ids_grow,
)
"""All checks of a step: each takes one and yields findings."""
