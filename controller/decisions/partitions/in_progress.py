"""Refuses changes of a topic while an earlier change is in progress.

Growth and shrinking are refused during reassignments and removals. A reassignment is refused only
during removals, because a new target may replace the previous one.

Source: KIP-455, KIP-694.
"""

from controller.decisions.context.context import Context
from controller.results.refusals import reassignment_in_progress
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic


def check_nothing_in_progress(context: Context, topic: Topic) -> None:
    """Refuse to change a topic's partition count while partitions are being moved or removed.

    Raises:
        RequestError: REASSIGNMENT_IN_PROGRESS.
    """
    check_no_removal(context.image, topic)
    for partition_id in context.index.moving_partition_ids(topic.topic_id):
        raise reassignment_in_progress(
            f"partition {partition_id} of {context.image.full_name(topic)!r} is being reassigned; "
            "wait, or cancel the reassignment"
        )


def check_no_removal(image: MetadataImage, topic: Topic) -> None:
    """Refuse to change the replicas of a topic while some of its partitions are being removed.

    Raises:
        RequestError: REASSIGNMENT_IN_PROGRESS.
    """
    if next(image.pending_removals(topic.topic_id), None) is not None:
        raise reassignment_in_progress(
            f"partitions of {image.full_name(topic)!r} are being removed; wait, or cancel the "
            "removal"
        )
