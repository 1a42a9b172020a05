"""Whether a topic's partitions stand still: neither moving to other brokers nor on their way out.

Growth and shrinking need both, a move only the second: a new target replaces the one before it.

Source: KIP-455, KIP-694.
"""

from controller.refusals import reassignment_in_progress
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.topics import Topic


def is_moving(partition: Partition) -> bool:
    """Return whether a partition is being reassigned."""
    return bool(partition.adding_replicas or partition.removing_replicas)


def settled_replicas(partition: Partition) -> tuple[int, ...]:
    """Return the replicas that a partition has, or will have when its move is done."""
    removing = partition.removing_replicas
    if not removing:
        return partition.replicas
    return tuple([replica for replica in partition.replicas if replica not in removing])


def check_settled(image: MetadataImage, topic: Topic) -> None:
    """Refuse to change the number of a topic's partitions while some are on the move or leaving.

    Raises:
        RequestError: REASSIGNMENT_IN_PROGRESS.
    """
    check_no_removal(image, topic)
    for partition in image.partitions(topic.topic_id):
        if is_moving(partition):
            raise reassignment_in_progress(
                f"partition {partition.partition_id} of {image.full_name(topic)!r} is being "
                "reassigned; wait, or call it off"
            )


def check_no_removal(image: MetadataImage, topic: Topic) -> None:
    """Refuse to touch the replicas of a topic while some of its partitions are leaving.

    Raises:
        RequestError: REASSIGNMENT_IN_PROGRESS.
    """
    if next(image.pending_removals(topic.topic_id), None) is not None:
        raise reassignment_in_progress(
            f"partitions of {image.full_name(topic)!r} are being removed; wait, or cancel the "
            "removal"
        )
