"""Invariants of every topic and partition of an image."""

from collections.abc import Iterable, Iterator

from controller.decisions.levels import ELR_FEATURE
from controller.decisions.partitions.partition_change import RECOVERED, RECOVERING
from records.base import Uuid
from replay.image.metadata import MetadataImage
from replay.image.partition_list import Partitions
from replay.image.partitions import NO_LEADER, NONE, READ_ONLY, READ_WRITE, Partition
from replay.image.topics import Topic

Findings = Iterator[str]
Some = Iterable[Partition]


def partition_ids_are_dense(image: MetadataImage, topic: Topic, all_: Partitions) -> Findings:
    """P1: ids are 0 to n-1."""
    # They are ordered, so first and last are enough.
    if all_ and (all_[0].partition_id, all_[-1].partition_id) != (0, len(all_) - 1):
        yield f"partition ids {[partition.partition_id for partition in all_]}"


def replicas_are_a_set(image: MetadataImage, some: Some) -> Findings:
    """P2: a partition has at least one replica, and no replica twice."""
    for p in some:
        if not p.replicas or len(set(p.replicas)) < len(p.replicas):
            yield _says(p, f"replicas {list(p.replicas)}")


def isr_is_of_replicas(image: MetadataImage, some: Some) -> Findings:
    """P3: the ISR is a subset of the replicas, without duplicates.

    It may be empty only if the feature for eligible leader replicas (ELR) is enabled.
    """
    for p in some:
        in_sync = set(p.isr)
        if len(in_sync) < len(p.isr) or not in_sync.issubset(p.replicas):
            yield _says(p, f"ISR {list(p.isr)} of replicas {list(p.replicas)}")
        if not p.isr and not image.feature(ELR_FEATURE):
            yield _says(p, "nobody is in sync, and eligible leader replicas are not kept")


def leader_is_in_sync(image: MetadataImage, some: Some) -> Findings:
    """P4: the leader, if there is one, is in the ISR, and so among the replicas."""
    for p in some:
        if p.leader != NO_LEADER and p.leader not in p.isr:
            yield _says(p, f"leader {p.leader}, ISR {list(p.isr)}")


def leader_can_lead(image: MetadataImage, some: Some) -> Findings:
    """P5: the leader's broker is registered and not fenced."""
    live: set[int] = {NO_LEADER}
    for p in some:
        if p.leader not in live:
            if _is_live(image, p.leader):
                live.add(p.leader)
                continue
            state = "not registered" if image.broker(p.leader) is None else "fenced"
            yield _says(p, f"leader {p.leader} is {state}")


def isr_is_of_the_live(image: MetadataImage, some: Some) -> Findings:
    """P14: a fenced or unregistered broker is in the ISR only if it is the only member."""
    live: set[int] = set()
    for p in some:
        if len(p.isr) > 1 and not live.issuperset(p.isr):
            live.update([each for each in p.isr if each not in live and _is_live(image, each)])
            gone = [each for each in dict.fromkeys(p.isr) if each not in live]
            if gone:
                yield _says(p, f"ISR {list(p.isr)}, of which {gone} are fenced or gone")


def _is_live(image: MetadataImage, broker_id: int) -> bool:
    broker = image.broker(broker_id)
    return broker is not None and not broker.fenced


def eligible_are_not_in_sync(image: MetadataImage, some: Some) -> Findings:
    """P6: eligible leader replicas are replicas that are not in the ISR."""
    for p in some:
        if not p.eligible_leader_replicas:
            continue
        eligible = set(p.eligible_leader_replicas)
        if not eligible <= set(p.replicas) or eligible & set(p.isr):
            yield _says(p, f"eligible {sorted(eligible)}, ISR {list(p.isr)}")


def moves_are_of_replicas(image: MetadataImage, some: Some) -> Findings:
    """P7: the replicas to add and to remove are disjoint subsets of the replicas.

    At least one replica is not removed.
    """
    for p in some:
        if p.replicas and not p.adding_replicas and not p.removing_replicas:
            continue
        joining, leaving = set(p.adding_replicas), set(p.removing_replicas)
        if not joining | leaving <= set(p.replicas) or joining & leaving:
            yield _says(p, f"adding {sorted(joining)}, removing {sorted(leaving)}")
        if leaving >= set(p.replicas):
            yield _says(p, "all replicas leave")


def recovering_leader_stands_alone(image: MetadataImage, some: Some) -> Findings:
    """P8: while a leader recovers from an unclean election, the ISR has no other member."""
    for p in some:
        if p.leader_recovery_state not in (RECOVERED, RECOVERING):
            yield _says(p, f"recovery state {p.leader_recovery_state}")
        elif p.leader_recovery_state == RECOVERING and len(p.isr) > 1:
            yield _says(p, f"recovering with ISR {list(p.isr)}")


def directories_are_of_replicas(image: MetadataImage, some: Some) -> Findings:
    """P9: a partition has either no directories, or one for each replica."""
    for p in some:
        if p.directories and len(p.directories) != len(p.replicas):
            yield _says(p, f"{len(p.directories)} directories, {len(p.replicas)} replicas")


def modes_are_of_removals(image: MetadataImage, some: Some) -> Findings:
    """P10: a partition is READ_WRITE unless it is being removed; one of mode NONE has no leader.

    A partition that is being removed is READ_ONLY or NONE.
    """
    ids_of: dict[Uuid, set[int]] = {}
    for p in some:
        pending = ids_of.get(p.topic_id)
        if pending is None:
            removals = image.pending_removals(p.topic_id)
            pending = ids_of[p.topic_id] = {removal.partition_id for removal in removals}
        if p.mode not in (READ_WRITE, READ_ONLY, NONE):
            yield _says(p, f"mode {p.mode}")
        if (p.mode != READ_WRITE) != (p.partition_id in pending):
            said = "is" if p.partition_id in pending else "is not"
            yield _says(p, f"mode {p.mode}, and it {said} to be removed")
        if p.mode == NONE and p.leader != NO_LEADER:
            yield _says(p, f"mode NONE, leader {p.leader}")


def removals_are_of_the_highest_ids(
    image: MetadataImage, topic: Topic, all_: Partitions
) -> Findings:
    """P11: the partitions being removed exist, and have the highest ids of their topic.

    At least one partition of the topic is not being removed.
    """
    pending = sorted(removal.partition_id for removal in image.pending_removals(topic.topic_id))
    if not pending:
        return
    last = [p.partition_id for p in all_][len(all_) - len(pending) :]
    if pending != last or len(pending) >= len(all_):
        yield f"partitions {pending} of {len(all_)} are to be removed"


def nothing_moves_while_some_leave(
    image: MetadataImage, topic: Topic, all_: Partitions
) -> Findings:
    """P12: a topic is not reassigned while partitions of it are being removed."""
    if next(image.pending_removals(topic.topic_id), None) is not None:
        for p in all_:
            if p.adding_replicas or p.removing_replicas:
                yield _says(p, "is reassigned while others are removed")


def epochs_are_counts(image: MetadataImage, some: Some) -> Findings:
    """P13: epochs are not negative."""
    for p in some:
        if p.leader_epoch < 0 or p.partition_epoch < 0:
            yield _says(p, f"leader epoch {p.leader_epoch}, partition epoch {p.partition_epoch}")


def _says(partition: Partition, finding: str) -> str:
    return f"partition {partition.partition_id}: {finding}"


OF_TOPICS = (
    partition_ids_are_dense,
    removals_are_of_the_highest_ids,
    nothing_moves_while_some_leave,
)
"""Checks of a topic as a whole: each takes an image, a topic and all its partitions."""

OF_PARTITIONS = (
    replicas_are_a_set,
    isr_is_of_replicas,
    leader_is_in_sync,
    leader_can_lead,
    eligible_are_not_in_sync,
    moves_are_of_replicas,
    recovering_leader_stands_alone,
    directories_are_of_replicas,
    modes_are_of_removals,
    epochs_are_counts,
    isr_is_of_the_live,
)
"""Checks of single partitions: each takes an image and any partitions of it."""
