"""Changes the replication factor of a topic, by moves that the controller chooses.

Remaining replicas keep their position, so the preferred leader changes only if it is removed.

Source: KIP-4 (a topic alteration with only a replication factor); moved as in `reassignments`.
"""

from collections import Counter
from collections.abc import Sequence

from controller.decisions.context.context import Context
from controller.decisions.partitions.assignments import usable_brokers
from controller.decisions.partitions.in_progress import check_no_removal
from controller.decisions.partitions.reassignments import move
from controller.placement.balanced import Followers
from controller.placement.load_queue import TieBreaker
from controller.results.refusals import invalid_replication_factor
from records.partitions import PartitionChangeRecord
from replay.image.partitions import Partition, settled_replicas
from replay.image.topics import Topic


def change_replication_factor(
    context: Context, topic: Topic, replication_factor: int
) -> list[PartitionChangeRecord]:
    """Return the records that give each partition `replication_factor` replicas.

    Starts from the partitions' replicas, or from their targets while they are being moved.

    Raises:
        RequestError: INVALID_REPLICATION_FACTOR, or REASSIGNMENT_IN_PROGRESS: partitions of the
            topic are being removed.
    """
    name = context.image.full_name(topic)
    partitions = context.image.partitions(topic.topic_id)
    brokers = usable_brokers(context)
    if not 0 < replication_factor <= len(brokers):
        raise invalid_replication_factor(
            f"{name!r} cannot have {replication_factor} replicas, only 1 to {len(brokers)}, "
            "the number of brokers that can be used"
        )
    if all(len(settled_replicas(p)) == replication_factor for p in partitions):
        raise invalid_replication_factor(f"{name!r} has {replication_factor} replicas already")
    check_no_removal(context.image, topic)
    joining = Followers(brokers, TieBreaker(context.rng))
    joining.begin_topic(len(partitions) * replication_factor)
    records: list[PartitionChangeRecord] = []
    for partition in partitions:
        target = list(settled_replicas(partition))
        while len(target) > replication_factor:
            target.remove(_leaver(context, partition, target))
        joining.join(target, replication_factor - len(target))
        records.extend(move(context, partition, target))
    return records


def _leaver(context: Context, partition: Partition, replicas: Sequence[int]) -> int:
    """Return the replica to remove.

    Prefers, in this order, a replica that is not in the ISR, is on an inactive broker, shares its
    rack with another replica, or is on the most loaded broker.
    """
    racks = {r: broker.rack if (broker := context.image.broker(r)) else None for r in replicas}
    crowd = Counter(racks.values())

    def need(replica: int) -> tuple[bool, bool, bool, int, int]:
        return (
            replica in partition.isr,
            context.is_active(replica),
            crowd[racks[replica]] == 1,
            -context.index.load(replica).replicas,
            -replicas.index(replica),
        )

    return min(replicas, key=need)
