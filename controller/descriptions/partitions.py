"""Descriptions of partitions, without their topics."""

from collections.abc import Iterable

import msgspec

from controller.decisions.lookup import TopicRef, find_partition, find_topic
from controller.decisions.request import Request
from controller.descriptions.topics import PartitionDescription, describe_partition
from controller.descriptions.view import View
from records.base import Uuid
from replay.image.partitions import Partition
from replay.image.topics import Topic


class PartitionFound(msgspec.Struct, frozen=True, kw_only=True):
    """A partition, with the full name of its topic."""

    topic: str
    topic_id: Uuid
    description: PartitionDescription


class DescribePartitions(Request["tuple[PartitionFound, ...]"], frozen=True, kw_only=True):
    """A request to describe all partitions, those of one topic, or a single partition."""

    topic: TopicRef | None = None
    partition_id: int | None = None


def partitions_described(view: View, request: DescribePartitions) -> tuple[PartitionFound, ...]:
    """Describe the partitions of all topics, of one topic, or a single partition, ordered by name.

    If a partition id but no topic is given, topics without that partition are left out. An error
    would reveal the name of such a topic.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID.
    """
    partition_id = request.partition_id
    topics: Iterable[Topic] = view.image.topics()
    if request.topic is not None:
        topics = [find_topic(view.image, request.topic)]
        if partition_id is not None:
            find_partition(view.image, topics[0], partition_id)
    found = []
    for name, topic in sorted((view.image.full_name(topic), topic) for topic in topics):
        partitions: Iterable[Partition] = view.image.partitions(topic.topic_id)
        if partition_id is not None:
            one = view.image.partition(topic.topic_id, partition_id)
            partitions = [] if one is None else [one]
        found += [
            PartitionFound(
                topic=name, topic_id=topic.topic_id, description=describe_partition(view, p)
            )
            for p in partitions
        ]
    return tuple(found)
